import Base

/// The app and environments that signed data must be for. What is nil may be anything.
package struct Identity: Sendable, Equatable {
    package let bundleID: String?
    /// Checked where the data is of production, or nothing but production is allowed: the sandbox leaves it out at
    /// times. A verifier of Apple's has one environment and checks the id if that is production, before it looks at
    /// the environment of the data; one with several environments goes by the data.
    package let appleAppID: Int64?
    package let environments: Set<StoreEnvironment>

    package init(
        bundleID: String? = nil, appleAppID: Int64? = nil,
        environments: Set<StoreEnvironment> = Set(StoreEnvironment.allCases)
    ) {
        self.bundleID = bundleID
        self.appleAppID = appleAppID
        self.environments = environments
    }

    /// Whether a notification is for this app: bundle id, then app id, then environment.
    package func mismatch(with subject: NotificationSubject?) -> VerificationFailure? {
        bundleMismatch(subject?.bundleId) ?? appMismatch(subject) ?? environmentMismatch(subject?.environment)
    }

    /// A transaction has no app id.
    package func mismatch(with transaction: TransactionPayload) -> VerificationFailure? {
        bundleMismatch(transaction.bundleId) ?? environmentMismatch(transaction.environment)
    }

    /// A renewal info has neither bundle id nor app id.
    package func mismatch(with renewal: RenewalInfoPayload) -> VerificationFailure? {
        environmentMismatch(renewal.environment)
    }

    package func mismatch(with appTransaction: AppTransactionPayload) -> VerificationFailure? {
        mismatch(with: appTransaction.subject)
    }

    private func bundleMismatch(_ found: String?) -> VerificationFailure? {
        guard let bundleID, found != bundleID else { return nil }
        return VerificationFailure(.wrongBundleID, "the bundle id is \(found ?? "missing"), not \(bundleID)")
    }

    private func appMismatch(_ subject: NotificationSubject?) -> VerificationFailure? {
        let isProduction = subject?.environment == StoreEnvironment.production.rawValue || environments == [.production]
        guard let appleAppID, isProduction, subject?.appAppleId != appleAppID else { return nil }
        let found = subject?.appAppleId.map(String.init) ?? "missing"
        return VerificationFailure(.wrongAppleAppID, "the app id is \(found), not \(appleAppID)")
    }

    private func environmentMismatch(_ found: String?) -> VerificationFailure? {
        if let environment = found.flatMap(StoreEnvironment.init), environments.contains(environment) {
            return nil
        }
        let allowed = environments.map(\.rawValue).sorted().joined(separator: " or ")
        return VerificationFailure(.wrongEnvironment, "the environment is \(found ?? "missing"), not \(allowed)")
    }
}
