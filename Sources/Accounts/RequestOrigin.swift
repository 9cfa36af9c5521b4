import Base
import Crypto
import HTTP

/// Whether a request that changes something was made by a page of the console itself (OWASP, "Cross-Site Request Forgery").
package enum RequestOrigin {
    package enum Refusal: Error, Sendable, Equatable {
        /// The browser says that another site caused it, or nothing says that this one did.
        case otherSite
        /// The form is not one of this session.
        case otherForm
    }

    /// Browsers write `Origin: null` for forms of pages that tell no referrer, as the console's do (Fetch, "append a request
    /// `Origin` header"); `Sec-Fetch-Site`, which no page can write, says then whose form it was.
    ///
    /// - Parameter origin: of the console.
    package static func check(_ head: HTTPRequestHead, origin: String) throws(Refusal) {
        let site = head.header("sec-fetch-site")
        let from = head.header("origin")
        let isOwn = from == origin || from == nil && site != nil || from == "null" && site == "same-origin"
        guard isOwn, site ?? "same-origin" == "same-origin" else { throw .otherSite }
    }

    /// Whether a browser was sent here by another site: it keeps `SameSite=Strict` cookies back then.
    package static func isFollowed(_ head: HTTPRequestHead) -> Bool {
        head.header("sec-fetch-site") == "cross-site" && (head.header("sec-fetch-mode") ?? "navigate") == "navigate"
    }
}

/// The secret of a form, which only pages of the same session have: HMAC of the form's path, keyed by the cookie.
package enum FormToken {
    /// The field's name.
    package static let field = "token"

    package static func make(_ path: LocalPath, cookie: String) -> String {
        let subject = Array("entitled form \(path.segments.joined(separator: "/"))".utf8)
        return Base64.encodeURL(Digest.hmacSHA256(key: Array(cookie.utf8), subject))
    }

    package static func isRight(_ token: String?, for path: LocalPath, cookie: String?) -> Bool {
        guard let token, let cookie else { return false }
        return ConstantTime.equal(Array(token.utf8), Array(make(path, cookie: cookie).utf8))
    }
}

/// The cookie that a browser is known by. Before the log-in it is a random value that is kept nowhere, and forms are tied to it.
package enum SessionCookie {
    package static func name(_ address: ConsoleAddress) -> String {
        address.isSecure ? "__Host-entitled" : "entitled-local"
    }

    /// A value of 32 random bytes.
    package static func fresh() -> String { Base64.encodeURL(SecureRandom.bytes(32)) }

    /// Nil where there is none, or one that no server made.
    package static func value(_ head: HTTPRequestHead, _ address: ConsoleAddress) -> String? {
        head.cookie(name(address)).flatMap { Base64.decodeURL($0.utf8)?.count == 32 ? $0 : nil }
    }

    package static func setting(_ value: String, _ address: ConsoleAddress) -> Cookie {
        Cookie(name(address), value, isSecure: address.isSecure)
    }

    package static func removing(_ address: ConsoleAddress) -> Cookie {
        Cookie(name(address), "", isSecure: address.isSecure, maxAge: 0)
    }
}
