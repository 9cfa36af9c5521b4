import Base
import Crypto

/// A secret that signs an endpoint's webhooks, as its consumer has it: `whsec_` and base64 (Standard Webhooks 1.0.0).
///
/// `webhook-signature` is keyed with the bytes behind the base64, as Standard Webhooks says. RevenueCat's header is
/// keyed with the text, as in Stripe's scheme, which it is. Secrets from before 0.2.0 keyed both with the bytes, and go
/// on as their consumers check them; a rotated one is keyed with the text.
package struct WebhookSecret: Sendable, Equatable {
    /// Bytes of a new secret: 24 need no padding in base64.
    package static let length = 24
    /// Bytes of a secret that a consumer brings, as Standard Webhooks limits them.
    package static let lengths = 24...64
    private static let prefix = "whsec_"

    /// What keys `webhook-signature`.
    package let bytes: Redacted<[UInt8]>
    /// Whether it is from before 0.2.0.
    private let isFormer: Bool

    private init(_ bytes: [UInt8], isFormer: Bool) {
        self.bytes = Redacted(bytes)
        self.isFormer = isFormer
    }

    package static func generate() -> WebhookSecret {
        WebhookSecret(SecureRandom.bytes(length), isFormer: false)
    }

    /// Reads `whsec_…`; nil for what is not spelled so, or has less or more bytes than a secret may have.
    package init?(_ text: String) {
        guard text.hasPrefix(WebhookSecret.prefix),
            let bytes = Base64.decode(text.utf8.dropFirst(WebhookSecret.prefix.utf8.count)),
            WebhookSecret.lengths.contains(bytes.count)
        else { return nil }
        self.init(bytes, isFormer: false)
        // A text that is not what these bytes are written as would sign otherwise after it was stored.
        guard self.text == text else { return nil }
    }

    /// As consumers have it.
    package var text: String { WebhookSecret.prefix + Base64.encode(bytes.exposed) }

    /// What keys `x-revenuecat-webhook-signature`.
    package var revenueCatKey: [UInt8] { isFormer ? bytes.exposed : Array(text.utf8) }

    // MARK: - In the database

    /// What is sealed: the text, of a former one the bytes.
    package var plaintext: [UInt8] { revenueCatKey }

    package init(plaintext: [UInt8]) {
        guard let text = String(validating: plaintext, as: UTF8.self), let secret = WebhookSecret(text) else {
            self.init(plaintext, isFormer: true)
            return
        }
        self = secret
    }
}

/// `whpk_` and the base64 of the public half of an ed25519 key pair, as Standard Webhooks 1.0.0 spells it.
package enum WebhookPublicKey {
    package static func text(_ bytes: [UInt8]) -> String { "whpk_" + Base64.encode(bytes) }
}
