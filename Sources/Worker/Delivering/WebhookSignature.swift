import Base
import Crypto
import Database

/// The headers by which a consumer knows that a webhook is ours.
///
/// Standard Webhooks 1.0.0 (`webhook-signature`, symmetric `v1` and asymmetric `v1a`) and the scheme of RevenueCat's
/// signed webhooks (`x-revenuecat-webhook-signature`), which is Stripe's. Every live secret and key pair signs, newest
/// first; the newest secret's signature comes first of all, because some receivers look at no other.
package enum WebhookSignature {
    /// - Parameters:
    ///   - timestamp: seconds since 1970 of this attempt.
    ///   - signingKeys: private halves of ed25519 key pairs.
    package static func headers(
        id: String, timestamp: Int64, body: [UInt8], secrets: [WebhookSecret],
        signingKeys: [Redacted<[UInt8]>] = []
    ) -> [(String, String)] {
        let content = Array("\(id).\(timestamp).".utf8) + body
        let symmetric = secrets.map { "v1," + Base64.encode(Digest.hmacSHA256(key: $0.bytes.exposed, content)) }
        let asymmetric = signingKeys.compactMap { seed in
            Ed25519Key(seed: seed.exposed)?.sign(content).map { "v1a," + Base64.encode($0) }
        }
        let revenueCat = secrets.map { secret in
            "v1=" + Hex.encode(Digest.hmacSHA256(key: secret.revenueCatKey, Array("\(timestamp).".utf8) + body))
        }
        return [
            ("webhook-id", id), ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", (symmetric + asymmetric).joined(separator: " ")),
            ("x-revenuecat-webhook-signature", (["t=\(timestamp)"] + revenueCat).joined(separator: ",")),
        ]
    }
}
