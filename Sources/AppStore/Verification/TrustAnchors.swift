import Base
import Crypto

/// The roots that signed data may come from.
package struct TrustAnchors: Sendable {
    /// Apple Root CA - G3, by the SHA-256 of its certificate (https://www.apple.com/certificateauthority/).
    package static let apple = TrustAnchors(
        fingerprints: [Hex.decode("63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179") ?? []])

    private let fingerprints: Set<[UInt8]>
    private let certificates: [Certificate]

    /// - Parameters:
    ///   - fingerprints: SHA-256 of whole root certificates; the certificate itself comes with the data.
    ///   - certificates: roots from files.
    package init(fingerprints: [[UInt8]] = [], certificates: [Certificate] = []) {
        self.fingerprints = Set(fingerprints.filter { $0.count == Digest.size })
        self.certificates = certificates
    }

    /// The anchor for the root that came with the data; nil if that root is not trusted.
    ///
    /// By fingerprint it is the very certificate that was sent. A configured certificate stands for every one with its
    /// name and key, and is used in their place: Apple's own test data carries another certificate of the same root.
    func anchor(for sent: Certificate) -> Certificate? {
        if fingerprints.contains(sent.fingerprint) {
            return sent
        }
        return certificates.first { $0.der == sent.der } ?? certificates.first { $0.hasSameNameAndKey(as: sent) }
    }
}
