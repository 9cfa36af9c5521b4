import Base

/// From when on an end is confirmed that Apple has not told of.
///
/// Such an end is silence, and silence has to mean something. News comes within seconds as a rule; an outage of ours
/// turns it into a repetition, each up to 72 hours after the one before (Apple: Responding to App Store Server
/// Notifications; the sandbox sends once), and in no order.
package struct ExpiryConfirmation: Sendable, Equatable {
    /// ms to wait for the news of a renewal.
    package let patience: Int64
    /// When Apple's news may not have reached us, in ms since 1970, by their beginnings.
    package let outages: [Range<Int64>]
    /// Until when Apple's history was looked through, in ms since 1970: whatever was signed by then is known, outage or
    /// not. Nil where it is not looked at.
    package let covered: Int64?

    /// The longest wait between two of Apple's attempts, and an hour for Apple's own delay.
    static let repetition: Int64 = 73 * .hour
    /// From Apple's first attempt to its last, and an hour for Apple's own delay.
    static let lastAttempt: Int64 = 158 * .hour
    /// Apple charges up to a day before a period ends, so its news may have come that early.
    static let earliestRenewal: Int64 = 24 * .hour
    /// News that is later than this was sent before, in vain; in ms.
    package static let lateAfter: Int64 = 30 * 60 * .second
    /// How much later than an end Apple's history must have been looked through, in ms: Apple's own news was seen to be an
    /// hour late.
    static let coverMargin: Int64 = 6 * .hour

    package init(patience: Int64 = 24 * .hour, outages: [Range<Int64>] = [], covered: Int64? = nil) {
        self.patience = patience
        self.covered = covered
        self.outages = outages.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// The same for a purchase of which news came late: other news of it may still be on the way.
    ///
    /// - Parameter late: from the signing of such news to its arrival, in ms.
    package func knowing(late: [Range<Int64>]) -> ExpiryConfirmation {
        late.isEmpty ? self : ExpiryConfirmation(patience: patience, outages: outages + late, covered: covered)
    }

    /// The same for an app and environment whose history was looked through until then.
    package func knowing(covered: Int64?) -> ExpiryConfirmation {
        ExpiryConfirmation(patience: patience, outages: outages, covered: covered)
    }

    /// The time in which news was under way, if it was sent in vain before.
    ///
    /// - Parameters:
    ///   - signed: when it was signed, in ms.
    ///   - arrived: when it came, in ms.
    ///   - environment: the sandbox sends once; what is late there was slow.
    package static func lateness(
        signed: Int64, arrived: Int64, in environment: StoreEnvironment
    ) -> Range<Int64>? {
        guard environment == .production, signed.later(by: lateAfter) < arrived else { return nil }
        return signed..<arrived
    }

    /// When this end is confirmed, in ms. Apple's history ends the waiting for news that it does not hold.
    func confirmed(_ end: Int64, _ certainty: AccessEnd.Certainty, in environment: StoreEnvironment) -> Int64 {
        let waited = waited(end, certainty, in: environment)
        let enough = coveredEnough(end)
        guard let covered, covered >= enough else { return waited }
        return min(waited, enough)
    }

    /// Until when history must have been looked through for this end to be confirmed, in ms.
    private func coveredEnough(_ end: Int64) -> Int64 { end.later(by: min(patience, ExpiryConfirmation.coverMargin)) }

    /// When to look again whether this end is confirmed, in ms: each hour, because history may be looked through soon.
    func nextLook(
        _ end: Int64, _ certainty: AccessEnd.Certainty, in environment: StoreEnvironment, after now: Int64
    ) -> Int64 {
        let confirmed = confirmed(end, certainty, in: environment)
        let (past, isFar) = now.subtractingReportingOverflow(end)
        guard covered != nil, confirmed > now, !isFar, past < 1000 * .day else { return confirmed }
        return min(confirmed, past < 0 ? end : end.later(by: (past / .hour + 1) * .hour))
    }

    /// The same by waiting alone.
    private func waited(_ end: Int64, _ certainty: AccessEnd.Certainty, in environment: StoreEnvironment) -> Int64 {
        let isRepeated = environment == .production
        switch certainty {
        case .told: return end
        case .foretold(let since):
            // What was foretold may have been taken back since; the sandbox would not say it twice.
            return isRepeated ? confirmed(end, since: since, isRepeated: true) : end
        case .silent:
            return confirmed(
                end.later(by: patience), since: end.later(by: -ExpiryConfirmation.earliestRenewal),
                isRepeated: isRepeated)
        }
    }

    /// - Parameter since: when the news could have come that denies the end, in ms; before that no outage matters.
    private func confirmed(_ end: Int64, since: Int64, isRepeated: Bool) -> Int64 {
        let repetition = isRepeated ? ExpiryConfirmation.repetition : patience
        // One that began later found the end confirmed, or nothing left that was under way.
        let latest = isRepeated ? end.later(by: ExpiryConfirmation.lastAttempt) : end
        return outages.reduce(end) { confirmed, outage in
            guard outage.lowerBound <= min(confirmed, latest), outage.upperBound > since else { return confirmed }
            return max(confirmed, outage.upperBound.later(by: repetition))
        }
    }
}
