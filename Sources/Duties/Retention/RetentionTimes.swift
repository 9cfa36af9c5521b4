import Base

/// Retention of everything that is not kept without end.
package struct RetentionTimes: Sendable {
    package var notifications: Duration
    package var attempts: Duration
    package var events: Duration
    /// Nil: without end.
    package var emptyCustomers: Duration?

    /// As far back as Apple's history reaches: what is in it may come again, and must be recognised.
    package static let history = Duration.seconds(180 * 86400)

    package init(notifications: Duration, attempts: Duration, events: Duration, emptyCustomers: Duration? = nil) {
        self.notifications = notifications
        self.attempts = attempts
        self.events = events
        self.emptyCustomers = emptyCustomers
    }

    /// The first day of which something is to be kept.
    func firstDay(of table: DayPartitions, now: Int64) -> Day {
        switch table {
        case .notifications: Day(of: now - max(notifications, RetentionTimes.history).milliseconds)
        case .attempts: Day(of: now - attempts.milliseconds)
        }
    }
}
