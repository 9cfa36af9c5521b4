import Base
import Crypto
import HTTPServer

/// The keys that are known.
package final class KeyTable: Sendable {
    private let keys: [(digest: [UInt8], key: APIKey)]

    package init(publicKeys: [Redacted<String>], secretKeys: [Redacted<String>]) {
        func entries(_ texts: [Redacted<String>], _ kind: APIKey.Kind) -> [(digest: [UInt8], key: APIKey)] {
            texts.map { (Digest.sha256(Array($0.exposed.utf8)), APIKey(kind: kind, app: nil)) }
        }
        keys = entries(publicKeys, .public) + entries(secretKeys, .secret)
    }

    package enum Finding: Sendable, Equatable {
        case known(APIKey)
        case unknown
    }

    /// Every key is compared, whole, so that the time tells nothing.
    package func find(_ text: String) -> Finding {
        let digest = Digest.sha256(Array(text.utf8))
        var found: APIKey?
        for entry in keys where ConstantTime.equal(entry.digest, digest) { found = entry.key }
        return found.map { .known($0) } ?? .unknown
    }

    /// Whose call this is, if they may make it; nil for an open route.
    ///
    /// - Throws: `APIError`: 401 without a known key, 403 where it is not for this.
    package func admit(_ head: HTTPRequestHead, to access: APIAccess) throws -> APIKey? {
        if access == .open { return nil }
        guard let text = KeyTable.key(of: head), case .known(let key) = find(text) else {
            throw APIError(401, code: APIError.invalidKeyCode, "Invalid API Key.")
        }
        if key.kind == .secret, access == .publicKey || KeyTable.isApp(head) {
            throw APIError(403, code: 7243, "Secret API keys should not be used in your app.")
        }
        if case .secretKey(let scope) = access {
            guard key.kind == .secret else {
                throw APIError(403, code: APIError.invalidKeyCode, "This needs a secret API key.")
            }
            guard key.scope == .write || key.scope == scope else {
                throw APIError(403, code: APIError.invalidKeyCode, "This API key may only read.")
            }
        }
        return key
    }

    private static func key(of head: HTTPRequestHead) -> String? {
        guard let value = head.header("authorization") else { return nil }
        let parts = value.split(separator: " ")
        if parts.count == 2, parts.first?.lowercased() == "bearer" { return parts.last.map(String.init) }
        return parts.count == 1 ? parts.first.map(String.init) : nil
    }

    /// RevenueCat's SDKs name the bundle that they run in; a backend has none.
    private static func isApp(_ head: HTTPRequestHead) -> Bool { head.header("x-client-bundle-id") != nil }
}
