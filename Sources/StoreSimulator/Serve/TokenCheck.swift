import Base
import Crypto

/// Checks the bearer tokens of requests, as strictly as Apple
/// (https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests).
package struct TokenCheck: Sendable {
    /// Seconds by which a token may be of the future.
    private static let leniency: Int64 = 60
    private static let longestLife: Int64 = 3600

    package let issuerID: String
    package let keyID: String
    package let key: SigningKey
    let bundleID: String

    package init(issuerID: String, keyID: String, key: SigningKey, bundleID: String) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
        self.bundleID = bundleID
    }

    /// What is wrong with the header `authorization`; nil if nothing is. `now` in milliseconds.
    func fault(_ header: String?, now: Int64) -> String? {
        guard let header, header.hasPrefix("Bearer ") else { return "no bearer token" }
        let parts = header.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = TokenCheck.json(parts[0]), let claims = TokenCheck.json(parts[1]),
            let signature = Base64.decodeURL(parts[2].utf8)
        else { return "the token cannot be read" }
        guard head["alg"]?.stringValue == "ES256" else { return "alg is not ES256" }
        guard head["kid"]?.stringValue == keyID else { return "kid is not \(keyID)" }
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        guard let key = key.verificationKey, key.verifies(signature, of: message[...]) else {
            return "the signature does not fit"
        }
        return fault(claims, now / 1000)
    }

    private func fault(_ claims: JSON, _ now: Int64) -> String? {
        let wanted = [("iss", issuerID), ("aud", "appstoreconnect-v1"), ("bid", bundleID)]
        for (name, value) in wanted where claims[name]?.stringValue != value {
            return "\(name) is not \(value)"
        }
        guard let expires = claims["exp"]?.intValue else { return "exp is missing" }
        // Apple's own libraries leave it out in part.
        let issued = claims["iat"]?.intValue ?? now
        guard issued <= now + TokenCheck.leniency else { return "iat is in the future" }
        guard expires > now else { return "exp is over" }
        return expires - issued > TokenCheck.longestLife ? "exp is more than an hour after iat" : nil
    }

    private static func json(_ part: Substring) -> JSON? {
        Base64.decodeURL(part.utf8).flatMap { try? JSON(parsing: $0) }
    }
}
