import Base
import CLI
import Postgres

/// This host's clock against the database's and against what Apple signed last.
enum ClockChecks {
    static let all = [
        Check("clock.database") { context, connection in try database(context, connection) },
        Check("clock.notifications") { context, connection in try notifications(context, connection) },
    ]

    /// Of tokens for Apple, and of notifications that seem to come from the future; in ms.
    static let tolerance: Int64 = 2_000
    static let limit: Int64 = 60_000

    private static func database(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let before = context.clock.now()
        let theirs = try connection.query("SELECT clock_timestamp()").one().timestamp("clock_timestamp")
        let after = context.clock.now()
        return [compared(before + (after - before) / 2 - theirs, with: "the database's")]
    }

    /// - Parameter difference: by how much ours is ahead, in ms.
    static func compared(_ difference: Int64, with theirs: String) -> Finding {
        guard abs(difference) > tolerance else { return .ok("this host's clock and \(theirs) agree") }
        let side = difference > 0 ? "ahead of" : "behind"
        let message = "this host's clock is \(RelativeTime.text(abs(difference))) \(side) \(theirs)"
        let action = "let both hosts set their clocks by NTP"
        return abs(difference) > limit ? .error(message, action) : .warning(message, action)
    }

    private static let newest = """
        SELECT max(n.signed_ms) FROM entitled.lane l CROSS JOIN LATERAL (
            SELECT signed_ms FROM entitled.notification WHERE lane = l.lane AND seq >= $1 ORDER BY seq DESC LIMIT 4
        ) n
        """

    /// What was signed in our future tells that we are behind; the past tells nothing.
    private static func notifications(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let now = context.clock.now()
        let since = NewestNotifications.least(daysAgo: 30, now)
        guard let signed = try connection.query(newest, [.int8(since)]).one().optionalInt("max") else {
            return [.ok("no notification in the last 30 days to compare with")]
        }
        guard signed > now + tolerance else { return [.ok("nothing that Apple signed is of the future")] }
        return [compared(now - signed, with: "that of Apple's newest notification")]
    }
}
