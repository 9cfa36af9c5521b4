import Crypto

/// Data that was signed with a genuine key. Says nothing yet about the app and the environment it is for.
package struct VerifiedJWS: Sendable {
    /// The header as sent: a segment of base64url.
    package let header: [UInt8]
    /// A JSON object, UTF-8.
    package let payload: [UInt8]
    /// r ‖ s, 64 bytes.
    package let signature: [UInt8]
    /// Leaf, intermediate, and the root that was trusted.
    package let certificates: [CertificateSummary]
    /// `signedDate`, or an app transaction's `receiptCreationDate`: milliseconds since 1970.
    package let signedDate: Int64?
}
