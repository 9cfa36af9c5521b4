import Base
import Crypto

/// Which statuses of a chain's certificates let data pass.
package struct RevocationPolicy: Sendable {
    private let cache: RevocationCache
    private let requiresAnswer: Bool

    /// - Parameters:
    ///   - cache: what is known of certificates; verified chains are entered there.
    ///   - requiresAnswer: whether a certificate passes only with a fresh "good".
    package init(cache: RevocationCache, requiresAnswer: Bool) {
        self.cache = cache
        self.requiresAnswer = requiresAnswer
    }

    /// Why data with this chain, which must be a genuine one, is refused; nil if it passes. Reads what is known and never
    /// waits.
    ///
    /// - Parameter date: of signing, milliseconds since 1970; nil where the data has none.
    func refusal(of path: CertificatePath, signedAt date: Int64?) -> VerificationFailure? {
        switch cache.verdict(on: path, signedAt: date, requiresAnswer: requiresAnswer) {
        case .passes: nil
        case .revoked(let name, let revocation): .revoked(name, revocation)
        case .unanswered(let name):
            VerificationFailure(.revocationUnknown, "whether the \(name) is revoked is unknown at the moment")
        }
    }
}

extension VerificationFailure {
    fileprivate static func revoked(_ name: String, _ revocation: OCSPAnswer.Revocation) -> VerificationFailure {
        let reason = revocation.reason.map { ", reason \($0)" } ?? ""
        return VerificationFailure(
            .certificateRevoked, "the \(name) is revoked since \(Timestamp.text(revocation.date))\(reason)")
    }
}
