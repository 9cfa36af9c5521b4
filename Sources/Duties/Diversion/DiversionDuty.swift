import Base
import Daemon
import Database
import Postgres

/// Puts into the log what ingest accepted while the log could not be written: its tables were locked, or a server hung.
///
/// A notification is removed after its commit to the log, which takes it once: so nothing is lost and nothing is there twice, whenever
/// a process is killed, and whichever worker is the leader.
package struct DiversionDuty: Duty {
    package static let name = "diversions"
    package static let failure: StaticString = "diverted notifications not appended"
    package static let firstAfter = Duration.seconds(3)
    package static let retryAfter = Duration.seconds(3)

    private static let rest = Duration.seconds(3)
    private static let page = 256

    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics
    private var appender: HistoryAppender
    /// The number of the last one that was tried: one that fails keeps no others waiting.
    private var last: Int64 = 0
    private var appended: Int64 = 0
    /// Whether the schema has the table, once it was seen.
    private var isThere = false
    private var rests = GroupRests(asksLittle: true)

    /// For a server of a cluster.
    private static let limit = PostgresStatement("SELECT set_config('statement_timeout', '5s', false)")

    package init(clock: any WallClock, logger: Logger, metrics: Metrics) {
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        appender = HistoryAppender(clock: clock)
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        let isMore = try run.session.withConnection { connection in
            if !isThere { isThere = try DivertedNotifications.isThere(on: connection) }
            guard isThere else { return false }
            let oldest = try DivertedNotifications.oldest(on: connection)
            metrics.gauge(.divertedOldestSeconds, Double(oldest.map { max(0, clock.now() - $0) } ?? 0) / 1000)
            guard try run.leadership.isLeader(on: connection) else { return false }
            return try append(on: connection)
        }
        return isMore ? .again : .after(DiversionDuty.rest)
    }

    /// The next ones; whether there may be more.
    private mutating func append(on connection: PostgresConnection) throws -> Bool {
        let page = try DivertedNotifications.next(after: last, limit: DiversionDuty.page, on: connection)
        guard let end = page.last else {
            tell()
            last = 0
            return false
        }
        last = end.number
        let groups = connection.laneGroups
        if !groups.isOne { _ = try connection.queryBatch([DiversionDuty.limit]) }
        var failure: (any Error)?
        var wasTried = false
        for part in rests.ordered(groups.split(page, by: \.notification.lane)) where !rests.isResting(part.group) {
            let begun = ContinuousClock.now
            wasTried = true
            do {
                try append(part.elements, on: connection)
                rests.succeeded(part.group)
            } catch let error as PostgresError where error.isOfData && part.elements.count > 1 {
                for element in part.elements {
                    do { try append([element], on: connection) } catch { failure = error }
                }
            } catch {
                // Of a server that hangs the connection is lost, too; the next run begins with the others.
                rests.failed(part.group, after: error, of: groups, since: begun)
                guard !error.isConnectionLost else {
                    last = 0
                    throw error
                }
                failure = error
            }
        }
        if let failure { throw failure }
        // The pages of a server that is away are not read all at once.
        return wasTried
    }

    private mutating func append(
        _ diverted: [DivertedNotifications.Diverted], on connection: PostgresConnection
    ) throws {
        // Within a statement none may be there twice.
        let unique = Dictionary(diverted.map { ($0.notification.identity, $0) }) { first, _ in first }
        do {
            _ = try appender.insert(
                unique.values.sorted { $0.number < $1.number }.map(\.notification), on: connection)
        } catch {
            appender.forget()
            throw error
        }
        try DivertedNotifications.remove(diverted.map(\.number), on: connection)
        appended += Int64(diverted.count)
    }

    private mutating func tell() {
        guard appended > 0 else { return }
        logger.notice("diverted notifications appended", ["count": .int(appended)])
        appended = 0
    }
}
