import AppStoreAPI
import Base
import Daemon
import Database
import Postgres

/// Raises the number of the database's position, and notices that the database went back to an earlier state: restored,
/// or failed over to a standby that had lost transactions.
///
/// It notes that, once, in the transaction that starts the scans of Apple's history anew and tells operators. The note
/// stays until the scans are done, so that the next leader goes on.
package struct DatabaseReturnDuty: Duty {
    package static let name = "position"
    package static let failure: StaticString = "database position not raised"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(2)

    /// What happens within it may be lost unnoticed where the server does not tell its timeline.
    static let interval = Duration.seconds(5)

    /// After a return the number grows by so much, beyond what others have seen and not reported yet.
    static let margin: Int64 = 1000
    /// Nothing further ahead was ever seen: more than the leader raises in ten years.
    static let farthest: Int64 = 100_000_000

    private let watch: PositionWatch
    /// Of which Apple's history is scanned.
    private let places: Set<AppScope>
    /// Whether there is an operations endpoint.
    private let tells: Bool
    /// Whether the database is that of `state_dir`, wherever it is.
    private let isPrivate: Bool
    private let logger: Logger
    private let metrics: Metrics

    /// - Parameters:
    ///   - places: the apps and environments whose history reconciliation scans; empty where it is off.
    ///   - tells: whether there is an operations endpoint; the log has it in any case.
    ///   - isPrivate: of the private Postgres, which `upgrade-postgres` moves to another cluster, numbers alone count.
    package init(
        watch: PositionWatch, places: Set<AppScope>, tells: Bool, isPrivate: Bool = false, logger: Logger,
        metrics: Metrics
    ) {
        self.watch = watch
        self.places = places
        self.tells = tells
        self.isPrivate = isPrivate
        self.logger = logger
        self.metrics = metrics
        for reason in DatabaseReturn.Reason.allCases {
            metrics.count(.databaseReturns, ["reason": reason.rawValue], by: 0)
        }
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        watch.readFile()
        try run.session.withConnection { connection in
            guard try PositionTable.isThere(on: connection) else { return }
            let position = isPrivate ? nil : try DatabasePosition.read(on: connection)
            guard try run.leadership.isLeader(on: connection) else {
                let table = try PositionTable.read(on: connection)
                metrics.gauge(.databaseReturnPending, 0)
                return try watch.look(at: table, position, canReport: true, on: connection)
            }
            try lead(run.leadership, at: position, on: connection)
        }
        return .after(DatabaseReturnDuty.interval)
    }

    /// What one turn of the leader found.
    private struct Turn {
        let before: PositionTable
        var number: Int64
        var returned: DatabaseReturn?
        var pending: DatabaseReturn?
    }

    private func lead(
        _ leadership: Leadership, at position: DatabasePosition?, on connection: PostgresConnection
    ) throws {
        let turn = try leadership.transaction(on: connection) { now in
            let table = try PositionTable.lock(on: connection)
            let last = PositionTable.numbers.upperBound
            let reported = try PositionTable.takeReports(
                upTo: min(table.number, last - DatabaseReturnDuty.farthest) + DatabaseReturnDuty.farthest,
                on: connection)
            let own = watch.number(of: table.installation)
            // Of a return that is being mended others may report late.
            let seen = table.pending == nil ? max(own, reported ?? 0) : own
            var turn = Turn(before: table, number: table.number + 1)
            turn.returned = DatabaseReturn(
                of: table, seen: seen, position: position, isRestored: watch.isRestored, now: now)
            let highest = max(table.number, own, reported ?? 0)
            if turn.returned != nil || highest > table.number {
                turn.number = min(highest, last - DatabaseReturnDuty.margin) + DatabaseReturnDuty.margin
            }
            turn.number = min(turn.number, last)
            if let returned = turn.returned {
                try HistoryCoverage.restart(at: returned.at, on: connection)
                if tells {
                    let event = returned.event(
                        from: table.position, to: position, scanning: named, number: turn.number)
                    _ = try EventTable.insert([event.event], now: now, on: connection)
                }
            }
            turn.pending = try turn.returned ?? left(of: table, on: connection)
            FailPoint.returnBeforeCommit.pass()
            try PositionTable.write(turn.number, at: position, turn.pending, on: connection)
            return turn
        }
        FailPoint.returnAfterCommit.pass()
        watch.saw(turn.number, of: turn.before.installation, at: position, adoption: turn.before.adoption)
        report(turn, position)
    }

    private var named: [AppScope] {
        places.sorted { ($0.app, $0.environment.rawValue) < ($1.app, $1.environment.rawValue) }
    }

    /// A return whose scans are not done yet.
    private func left(of table: PositionTable, on connection: PostgresConnection) throws -> DatabaseReturn? {
        guard let pending = table.pending else { return nil }
        let coverage = try HistoryCoverage.read(on: connection)
        return places.contains { (coverage[$0]?.whole ?? .min) < pending.at } ? pending : nil
    }

    private func report(_ turn: Turn, _ position: DatabasePosition?) {
        metrics.gauge(.databaseReturnPending, turn.pending == nil ? 0 : 1)
        if let returned = turn.returned {
            metrics.count(.databaseReturns, ["reason": returned.reason.rawValue])
            logger.warning(
                "database returned to an earlier state",
                [
                    "reason": .string(returned.reason.rawValue), "positions_lost": .int(returned.lost),
                    "database": .text(position?.description),
                    "former_database": .text(turn.before.position?.description),
                    "scanning_history_of": .strings(named.map { "\($0.app) \($0.environment.rawValue)" }),
                ])
        } else if let done = turn.before.pending, turn.pending == nil {
            logger.notice(
                "database return resolved",
                ["reason": .string(done.reason.rawValue), "noticed_at": .date(done.at)])
        }
    }
}
