import Base
import Crypto

/// What authorizes requests for some minutes
/// (https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests).
struct BearerToken: Sendable {
    /// Seconds between both claims; Apple takes up to an hour.
    static let lifetime: Int64 = 21 * 60
    /// Seconds by which `iat` lies back, because Apple's clock may be behind ours.
    static let backdating: Int64 = 60
    /// Seconds before its end in which it is not used any more: a request may wait and travel.
    private static let margin: Int64 = 5 * 60

    /// Three parts, as the header `authorization: Bearer …` has them.
    let text: String
    /// Seconds since 1970.
    private let issued: Int64
    private let expires: Int64

    /// - Parameter now: milliseconds since 1970.
    init(_ key: ServerAPIKey, bundleID: String, now: Int64) throws(IssuingError) {
        issued = now / 1000 - BearerToken.backdating
        expires = issued + BearerToken.lifetime
        let header = JSON.object([
            "alg": .string("ES256"), "kid": .string(key.keyID), "typ": .string("JWT"),
        ])
        let claims = JSON.object([
            "iss": .string(key.issuerID), "iat": .int(issued), "exp": .int(expires),
            "aud": .string("appstoreconnect-v1"), "bid": .string(bundleID),
        ])
        let signed = Base64.encodeURL(header.bytes) + "." + Base64.encodeURL(claims.bytes)
        text = signed + "." + Base64.encodeURL(try key.key.signES256(Array(signed.utf8)))
    }

    /// Whether it can be sent now; a clock that was set back makes it useless too.
    func isGood(at now: Int64) -> Bool {
        (issued + BearerToken.backdating..<expires - BearerToken.margin).contains(now / 1000)
    }
}
