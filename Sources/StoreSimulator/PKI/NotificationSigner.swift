import Base
import Crypto

/// A notification as Apple sends it.
package struct SignedNotification: Sendable {
    package let notification: StoreNotification
    /// `{"signedPayload":"…"}`
    package let body: [UInt8]
}

/// Signs payloads as Apple does: compact JWS (RFC 7515), ES256, with exactly `alg` and `x5c` in the header.
package struct NotificationSigner: Sendable {
    private let key: SigningKey
    /// The header in base64url, and the dot after it: the same for all.
    private let start: [UInt8]

    package init(_ pki: StorePKI) {
        self.init(key: pki.leafKey, chain: pki.chain)
    }

    /// With any chain and key, fitting or not: for tests of a verifier.
    package init(key: SigningKey, chain: [CertificateIssuer.Certificate], algorithm: String = "ES256") {
        var header = PayloadMembers()
        header.text("alg", algorithm)
        header.add("x5c", .strings(chain.map { Base64.encode($0.der) }))
        self.key = key
        start = Array(Base64.encodeURL(header.json.bytes).utf8) + [UInt8(ascii: ".")]
    }

    /// The compact JWS of these payload bytes, whatever they are.
    package func sign(bytes payload: [UInt8]) throws -> [UInt8] {
        var jws = start
        jws += Base64.encodeURL(payload).utf8
        let signature = try key.signES256(jws)
        jws.append(UInt8(ascii: "."))
        jws += Base64.encodeURL(signature).utf8
        return jws
    }

    package func sign(_ payload: JSON) throws -> String {
        String(decoding: try sign(bytes: payload.bytes), as: UTF8.self)
    }

    /// Signs the transaction, the renewal info and then the whole.
    package func sign(_ notification: StoreNotification) throws -> SignedNotification {
        let payload = try notification.payload { try sign($0) }
        return SignedNotification(
            notification: notification, body: NotificationSigner.body(try sign(bytes: payload.bytes)))
    }

    /// The body of the request that carries this JWS.
    package static func body(_ jws: [UInt8]) -> [UInt8] {
        Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8)
    }
}
