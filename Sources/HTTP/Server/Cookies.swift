/// Cookies in requests (RFC 6265 §4.2).
extension HTTPRequestHead {
    /// The value of a cookie; nil where it is missing, and where it comes twice: of two, one may be another site's.
    package func cookie(_ name: String) -> String? {
        var found: String?
        for (field, value) in headers where field == "cookie" {
            for pair in value.split(separator: ";") {
                let text = pair.drop { $0 == " " }
                guard let equals = text.firstIndex(of: "="), text[..<equals] == name else { continue }
                guard found == nil else { return nil }
                found = String(text[text.index(after: equals)...])
            }
        }
        return found
    }
}

/// A cookie that this server sets: for itself only, kept from scripts and from requests that other sites cause.
package struct Cookie: Sendable, Equatable {
    package let name: String
    package let value: String
    /// Sent over TLS only.
    package let isSecure: Bool
    /// Seconds that a browser keeps it; nil: until it ends. 0 takes it away.
    package let maxAge: Int?

    /// - Parameters:
    ///   - name: token characters; with the prefix `__Host-` browsers insist on `Secure` and on this host.
    ///   - value: unreserved characters, such as base64url.
    package init(_ name: String, _ value: String, isSecure: Bool, maxAge: Int? = nil) {
        self.name = name
        self.value = value
        self.isSecure = isSecure
        self.maxAge = maxAge
    }

    /// The value of `Set-Cookie`.
    package var field: String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "") + (maxAge.map { "; Max-Age=\($0)" } ?? "")
    }
}
