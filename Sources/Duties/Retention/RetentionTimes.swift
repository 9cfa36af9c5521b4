import Base

/// Retention of everything that is not kept without end.
package struct RetentionTimes: Sendable {
    package var notifications: Duration
    package var attempts: Duration
    package var events: Duration
    /// Nil: without end.
    package var emptyCustomers: Duration?
    /// Of what operators did.
    package var audit: Duration

    /// As far back as Apple's history reaches: what is in it may come again, and must be recognised.
    package static let history = Duration.seconds(180 * 86400)

    package init(
        notifications: Duration, attempts: Duration, events: Duration, emptyCustomers: Duration? = nil,
        audit: Duration = .seconds(400 * 86_400)
    ) {
        self.notifications = notifications
        self.attempts = attempts
        self.events = events
        self.emptyCustomers = emptyCustomers
        self.audit = audit
    }

    /// How long jobs and rebuilds are kept that are over.
    static let finishedWork = Duration.seconds(90 * 86_400)
    /// How long attempts to log in to the console count, and how long its sessions and log-in links are kept.
    private static let attemptsToLogIn = Duration.seconds(86_400)
    private static let sessions = Duration.seconds(30 * 86_400)
    /// How much longer that is kept which names what else is deleted: hosts' clocks may differ, and a pass takes a while.
    private static let margin = Duration.seconds(2 * 86_400)

    /// Ms; events of which nothing happened since then are old.
    func eventLimit(_ now: Int64) -> Int64 { now - max(events, RetentionTimes.history).milliseconds }

    func finishedWorkLimit(_ now: Int64) -> Int64 { now - RetentionTimes.finishedWork.milliseconds }

    /// Ms; of a sender that is gone since before, no attempt is left.
    ///
    /// - Parameter first: the first day of which attempts are there.
    func senderLimit(_ first: Day) -> Int64 { first.start - RetentionTimes.margin.milliseconds }

    /// What the console left behind and is older goes; ms, by table.
    func consoleLimits(_ now: Int64) -> [ConsoleCleaner.Table: Int64] {
        [
            .audit: now - audit.milliseconds, .attempts: now - RetentionTimes.attemptsToLogIn.milliseconds,
            .sessions: now - RetentionTimes.sessions.milliseconds, .links: now - RetentionTimes.sessions.milliseconds,
        ]
    }

    /// When the deliveries to an endpoint that was removed then have gone; ms.
    func endpointLimit(_ now: Int64) -> Int64 { eventLimit(now) - RetentionTimes.margin.milliseconds }

    /// The first day of which something is to be kept. No attempt outlives the delivery that it belongs to, because the
    /// deletion of a customer finds attempts by their deliveries.
    func firstDay(of table: DayPartitions, now: Int64) -> Day {
        switch table {
        case .notifications: Day(of: now - max(notifications, RetentionTimes.history).milliseconds)
        case .attempts: max(Day(of: now - attempts.milliseconds), Day(of: eventLimit(now)))
        }
    }
}
