import Base
import Crypto

/// The signature with which an app may give a promotional offer (Apple: Generating a signature for promotional offers,
/// https://developer.apple.com/documentation/storekit/generating-a-signature-for-promotional-offers).
package struct PromotionalOfferSignature: Sendable, Equatable {
    /// A UUID in lower case, new for each signature.
    package let nonce: String
    /// ms since 1970; the offer is good for 24 hours from then.
    package let timestamp: Int64
    /// ECDSA with SHA-256, DER in base64.
    package let signature: String

    /// What is signed.
    package struct Offer: Sendable, Equatable {
        package let bundleID: String
        package let productID: String
        package let offerID: String
        /// StoreKit 2: the app account token, in lower case; StoreKit 1: the `applicationUsername` of the payment; empty
        /// where the app gives none.
        package let account: String

        package init(bundleID: String, productID: String, offerID: String, account: String) {
            self.bundleID = bundleID
            self.productID = productID
            self.offerID = offerID
            self.account = account
        }
    }

    /// A key that signs offers: an In-App Purchase key of App Store Connect, as Apple's Server API has them
    /// (https://developer.apple.com/help/app-store-connect/configure-in-app-purchase-settings/generate-keys-for-in-app-purchases:
    /// for "App Store server APIs and promotional offers").
    package struct Key: Sendable {
        package let id: String
        private let key: SigningKey

        package init(id: String, key: SigningKey) {
            self.id = id
            self.key = key
        }

        /// - Parameter now: ms since 1970.
        package func sign(_ offer: Offer, now: Int64) throws(IssuingError) -> PromotionalOfferSignature {
            let nonce = PromotionalOfferSignature.uuid(SecureRandom.bytes(16))
            let message = PromotionalOfferSignature.message(offer, keyID: id, nonce: nonce, timestamp: now)
            return PromotionalOfferSignature(
                nonce: nonce, timestamp: now, signature: Base64.encode(try key.signDER(Array(message.utf8))))
        }
    }

    /// The fields with an invisible separator between them.
    package static func message(_ offer: Offer, keyID: String, nonce: String, timestamp: Int64) -> String {
        [offer.bundleID, keyID, offer.productID, offer.offerID, offer.account, nonce, String(timestamp)]
            .joined(separator: "\u{2063}")
    }

    /// Version 4 (RFC 9562 §5.4) of 16 random bytes, in lower case.
    private static func uuid(_ random: [UInt8]) -> String {
        var bytes = random
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = Array(Hex.encode(bytes))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}
