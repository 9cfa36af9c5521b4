/// When a notification that could not be applied is tried again: soon at first, daily for a month at last. Pure.
package enum HeldRetrySchedule {
    private static let minute: Int64 = 60_000
    private static let day = 24 * 60 * minute
    /// After the first failure, the second, and so on; then daily.
    private static let waits = [minute, 10 * minute, 60 * minute, 360 * minute]
    /// After its first failure; later only a person has it tried.
    private static let end = 30 * day
    /// Jitter adds at most this share, so that what failed together does not stay together.
    private static let spread = 0.1

    /// - Parameters:
    ///   - held: after the failure that it is about.
    ///   - now: ms since 1970.
    ///   - jitter: 0…1.
    /// - Returns: ms since 1970; nil when it is given up.
    package static func next(_ held: HeldState, now: Int64, jitter: Double) -> Int64? {
        guard now - held.since < end else { return nil }
        let number = max(1, held.attempts) - 1
        let wait = number < waits.count ? waits[number] : day
        return now + wait + Int64(Double(wait) * spread * min(1, max(0, jitter)))
    }
}
