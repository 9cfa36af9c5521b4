import Base

/// When a person hears of what holds up a migration: not of each pause, as locks are seldom free at once.
struct MigrationWait {
    static let patience: Duration = .seconds(2)
    static let interval: Duration = .seconds(10)
    /// Nil: nothing was waited for yet.
    private var due: ContinuousClock.Instant?

    /// - Parameter holders: the connections that hold the locks.
    /// - Returns: nil where there is nothing to say, or not yet.
    mutating func line(_ holders: [String], now: ContinuousClock.Instant) -> String? {
        guard let due else {
            due = now + MigrationWait.patience
            return nil
        }
        guard now >= due, !holders.isEmpty else { return nil }
        self.due = now + MigrationWait.interval
        return "waiting for locks that others hold: \(holders.joined(separator: ", "))"
    }
}
