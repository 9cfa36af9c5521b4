import Crypto

/// A chain of certificates that was found valid at some instant; its signatures hold at every other one too.
struct VerifiedChain: Sendable {
    let path: CertificatePath
    /// The root as it was sent, which need not be the anchor byte for byte.
    let sentRoot: [UInt8]
    let key: VerificationKey
    let summaries: [CertificateSummary]
    /// Milliseconds since 1970: all three certificates are valid from here …
    let validFrom: Int64
    /// … until before here.
    let validUntil: Int64

    init(path: CertificatePath, sentRoot: [UInt8], key: VerificationKey) {
        let certificates = [path.leaf, path.intermediate, path.anchor]
        self.path = path
        self.sentRoot = sentRoot
        self.key = key
        summaries = certificates.map(CertificateSummary.init)
        validFrom = certificates.reduce(.min) { max($0, $1.notBefore) }
        validUntil = certificates.reduce(.max) { min($0, $1.notAfter) }
    }

    func requireValidity(at date: Int64) throws(VerificationFailure) {
        guard validFrom <= date && date < validUntil else { throw .notValid(at: date, within: validFrom..<validUntil) }
    }
}
