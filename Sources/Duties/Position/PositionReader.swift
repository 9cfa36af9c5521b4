import Base
import Daemon
import Database
import Postgres

/// Looks every few seconds how far the database is, in a process without a worker, and reports to the leader when it went
/// back.
package final class PositionReader: Service {
    package let name = "position"

    private let session: PostgresSession
    private let watch: PositionWatch
    private let canReport: Bool
    private let logger: Logger
    private let failures = RepeatedFailure()
    private let loop = Loop("position")

    /// - Parameters:
    ///   - session: for this alone; closed at the end.
    ///   - canReport: false for a role that reads only.
    package init(session: PostgresSession, watch: PositionWatch, canReport: Bool, logger: Logger) {
        self.session = session
        self.watch = watch
        self.canReport = canReport
        self.logger = logger
    }

    package func start() {
        loop.start { [self] loop in loop.run { look() } }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        if loop.drain(until: min(deadline, .now + .seconds(1))) { session.close() } else { session.cut() }
    }

    private func look() -> Next {
        watch.readFile()
        do {
            try session.withConnection { connection in
                guard try PositionTable.isThere(on: connection) else { return }
                let position = try DatabasePosition.read(on: connection)
                try watch.look(
                    at: PositionTable.read(on: connection), position, canReport: canReport, on: connection)
            }
        } catch {
            if error.fault != .away, !loop.isDraining {
                failures.warning("database position not read", error, count: 1, logger)
            }
        }
        return .after(DatabaseReturnDuty.interval)
    }
}

extension PositionWatch {
    /// What a process does that is not the leader: remembers how far the database is, or reports that it was further.
    ///
    /// - Parameter position: where the database is; nil: the server does not tell.
    func look(
        at table: PositionTable, _ position: DatabasePosition?, canReport: Bool, on connection: PostgresConnection
    ) throws {
        // The leader has to see that first.
        guard !isRestored else { return }
        let seen = number(of: table.installation)
        if seen <= table.number {
            saw(table.number, of: table.installation, at: position, adoption: table.adoption)
        } else if canReport {
            try PositionTable.report(seen, on: connection)
        }
    }
}
