import Base
import Compression
import Crypto

/// A compact JWS as the database keeps it: byte for byte restorable, at a tenth of its size.
///
/// The header (with its three certificates, 4.4 KB) is kept once; the payload is compressed with that header as the
/// dictionary, because a notification's payload repeats it for each JWS inside; the signature stays as it is.
package struct StoredJWS: Sendable, Equatable {
    /// The header's id: the first 16 bytes of its SHA-256.
    package let headerID: [UInt8]
    /// zstd of the decoded payload.
    package let payload: [UInt8]
    /// 64 bytes, r ‖ s.
    package let signature: [UInt8]

    /// The most that a payload may grow to when it is restored.
    package static let payloadLimit = 64 << 20

    package init(headerID: [UInt8], payload: [UInt8], signature: [UInt8]) {
        self.headerID = headerID
        self.payload = payload
        self.signature = signature
    }

    package static func headerID(_ header: [UInt8]) -> [UInt8] {
        Array(Digest.sha256(header).prefix(16))
    }
}
