import Base

/// From when on the end of a subscription that should have renewed is believed, though Apple has not said so.
///
/// Such an end is silence, and silence has to mean something: news of a renewal comes within seconds, while an outage of
/// ours turns it into a repetition, up to 72 hours later (Apple: Responding to App Store Server Notifications; the
/// sandbox sends once).
package struct EndBelief: Sendable, Equatable {
    /// ms to wait for the news of a renewal.
    package let patience: Int64
    /// Our outages of late, in ms since 1970, the oldest first.
    package let outages: [Range<Int64>]

    /// The longest wait between two of Apple's attempts, and an hour for Apple's own delay.
    static let repetition: Int64 = 73 * .hour
    /// Apple charges up to a day before a period ends, so its news may have come that early.
    static let earliestRenewal: Int64 = 24 * .hour

    package init(patience: Int64 = 24 * .hour, outages: [Range<Int64>] = []) {
        self.patience = patience
        self.outages = outages
    }

    /// - Parameter end: when access ended by the dates, in ms.
    func believed(_ end: Int64, in environment: StoreEnvironment) -> Int64 {
        var believed = end.later(by: patience)
        // One that began later found the end believed.
        for outage in outages
        where outage.lowerBound <= believed && outage.upperBound > end.later(by: -EndBelief.earliestRenewal) {
            let repetition = environment == .production ? EndBelief.repetition : patience
            believed = max(believed, outage.upperBound.later(by: repetition))
        }
        return believed
    }
}
