import Base
import Daemon

/// Knows whether a process can work with the database: whether it is there, and whether commits return. A database whose
/// commits hang still answers what reads.
package final class DatabaseProbe: Service {
    package let name: String

    private static let interval = Duration.seconds(2)
    /// An answer that takes longer is an obstacle before the connection is cut.
    private static let slow = Duration.seconds(3)
    /// How long its statement may stay unanswered.
    package static let patience = Duration.seconds(8)

    /// A commit that writes to the log, so that it waits for what commits wait for, and leaves no row. Executable by all
    /// roles. (Postgres: "pg_logical_emit_message".)
    private static let commit = """
        WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
        SELECT pg_logical_emit_message(true, 'entitled', '') FROM durable
        """

    private let session: PostgresSession
    private let check: @Sendable (PostgresConnection) throws -> String?
    private let loop: Loop
    /// None before the first look: what works with the database says by itself whether it was reached at the start.
    private let reason = Monitor<String?>(nil)

    /// - Parameters:
    ///   - name: of the service and its thread.
    ///   - session: its own; cut after `patience`.
    ///   - check: what else has to be so: the reason why the process cannot work, or nil.
    package init(
        name: String, session: PostgresSession,
        check: @escaping @Sendable (PostgresConnection) throws -> String? = { _ in nil }
    ) {
        self.name = name
        self.session = session
        self.check = check
        loop = Loop(name)
    }

    /// Why the process cannot work; nil: it can.
    package var obstacle: String? {
        if let reason = reason.read({ $0 }) { return reason }
        return session.isBusy(longerThan: DatabaseProbe.slow) ? "the database does not answer" : nil
    }

    package func start() {
        loop.start { [self] loop in
            loop.run {
                let found = look()
                reason.change { $0 = found }
                return .after(DatabaseProbe.interval)
            }
        }
    }

    private func look() -> String? {
        do {
            return try session.withConnection { connection in
                if let obstacle = try check(connection) { return obstacle }
                _ = try connection.query(DatabaseProbe.commit)
                return nil
            }
        } catch {
            return "the database is unavailable"
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        loop.drain(until: deadline) ? session.close() : session.cut()
    }
}
