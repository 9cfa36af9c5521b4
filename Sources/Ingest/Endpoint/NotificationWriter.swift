import Base
import Daemon
import Database
import Postgres

/// Stores notifications for the thread that commits them: in the log, or beside it while the log's tables are locked, as they are
/// when they are moved onto a cluster, or while the server of a group of lanes hangs. Both are committed, so that both may be
/// answered 200.
struct NotificationWriter {
    /// How long after a lock was waited for in vain it is not waited for again, and the longest time where a server
    /// hangs on.
    private static let rest = Duration.seconds(5)
    private static let longestRest = Duration.seconds(30)

    private let session: PostgresSession
    private let sequence: @Sendable () -> SequenceGenerator
    private let clock: any WallClock
    private let logger: Logger
    private let failures = RepeatedFailure()
    private var inserter: NotificationInserter
    /// By the groups of their lanes.
    private var divertedUntil: [Int: ContinuousClock.Instant] = [:]
    /// How often in a row a group was waited for in vain.
    private var waits: [Int: Int] = [:]
    /// Of those that were not logged yet.
    private var diverted = 0

    init(
        session: PostgresSession, sequence: @escaping @Sendable () -> SequenceGenerator, clock: any WallClock,
        logger: Logger
    ) {
        self.session = session
        self.sequence = sequence
        self.clock = clock
        self.logger = logger
        inserter = NotificationInserter(sequence: sequence(), clock: clock)
    }

    /// A group of lanes, of all that there are.
    typealias Place = (group: Int, groups: LaneGroups)

    /// How long a statement waits for a lock, and on a cluster for a server, so that there is time to store the notification otherwise.
    ///
    /// - Parameter timeout: how long a notification may wait to be stored.
    static func bound(_ connection: PostgresConnection, within timeout: Duration) throws {
        try limit("lock_timeout", min(.seconds(2), timeout / 4), on: connection)
        if connection.isCluster { try limit("statement_timeout", longestStatement(within: timeout), on: connection) }
    }

    /// What a statement of a cluster may take.
    static func longestStatement(within timeout: Duration) -> Duration { min(.seconds(3), timeout * 3 / 8) }

    private static func limit(_ setting: String, _ limit: Duration, on connection: PostgresConnection) throws {
        try connection.query(
            "SELECT set_config($1, $2, false)", [.text(setting), .text("\(limit.milliseconds)ms")])
    }

    /// One outcome for each notification, in their order; none of them may have the identity of another.
    ///
    /// - Parameter place: the group of all their lanes.
    /// - Throws: when nothing is stored, or when it is unknown whether anything is. Sending them again is safe.
    mutating func store(
        _ notifications: [NewNotification], of place: Place
    ) throws -> [NotificationInserter.InsertResult] {
        if let end = divertedUntil[place.group], .now < end { return try divert(notifications) }
        do {
            let results = try numbered { inserter, connection in
                try inserter.insert(notifications, on: connection)
            }
            divertedUntil[place.group] = nil
            waits[place.group] = nil
            return results
        } catch let locked as PostgresError where locked.cause == .locked || locked.isCancelled {
            let results: [NotificationInserter.InsertResult]
            do { results = try divert(notifications) } catch { throw error.isConnectionLost ? error : locked }
            // A server that hangs does so for all its groups, each of which would take as long.
            let hangs = locked.isCancelled && !place.groups.isOne
            let count = (waits[place.group] ?? 0) + 1
            let rest = NotificationWriter.rest * (hangs ? count : 1)
            for group in hangs ? place.groups.neighbours(of: place.group) : [place.group] {
                waits[group] = count
                divertedUntil[group] = .now + min(rest, NotificationWriter.longestRest)
            }
            failures.warning("notifications diverted", locked, count: diverted, logger)
            diverted = 0
            return results
        }
    }

    private mutating func divert(
        _ notifications: [NewNotification]
    ) throws -> [NotificationInserter.InsertResult] {
        try numbered { inserter, connection in try inserter.divert(notifications, on: connection) }
        diverted += notifications.count
        return notifications.map { _ in .accepted }
    }

    private mutating func numbered<Result>(
        _ body: (inout NotificationInserter, PostgresConnection) throws -> Result
    ) throws -> Result {
        do {
            return try session.withConnection { connection in try body(&inserter, connection) }
        } catch let error as PostgresError where ["23505", "23514"].contains(error.sqlstate) {
            // Another process drew the same node and instant: number anew. Or the partition of a day was made just now,
            // and the default one, which was chosen, takes nothing of it any more.
            inserter = NotificationInserter(sequence: sequence(), clock: clock)
            return try session.withConnection { connection in try body(&inserter, connection) }
        }
    }
}
