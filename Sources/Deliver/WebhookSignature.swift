import Base
import Crypto

/// The headers by which a consumer knows that a webhook is ours.
///
/// Standard Webhooks 1.0.0 (`webhook-signature`, symmetric `v1`) and the scheme of RevenueCat's signed webhooks
/// (`x-revenuecat-webhook-signature`), over the same secret bytes; every live secret signs, newest first.
package enum WebhookSignature {
    /// - Parameter timestamp: seconds since 1970 of this attempt.
    package static func headers(
        id: String, timestamp: Int64, body: [UInt8], secrets: [Redacted<[UInt8]>]
    ) -> [(String, String)] {
        let standard = secrets.map { secret in
            "v1," + Base64.encode(Digest.hmacSHA256(key: secret.exposed, Array("\(id).\(timestamp).".utf8) + body))
        }
        let revenueCat = secrets.map { secret in
            "v1=" + Hex.encode(Digest.hmacSHA256(key: secret.exposed, Array("\(timestamp).".utf8) + body))
        }
        return [
            ("webhook-id", id), ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", standard.joined(separator: " ")),
            ("x-revenuecat-webhook-signature", (["t=\(timestamp)"] + revenueCat).joined(separator: ",")),
        ]
    }
}
