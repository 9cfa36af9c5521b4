import Base
import Daemon
import Postgres

/// Knows whether the console can ask the database.
final class DatabaseProbe: Service {
    let name = "console-probe"

    private static let interval = Duration.seconds(2)

    private let session: PostgresSession
    private let loop = Loop("console-probe")
    private let reason = Monitor<String?>("the database is unavailable")

    /// Why it cannot; nil: it can.
    var obstacle: String? { reason.read { $0 } }

    init(session: PostgresSession) {
        self.session = session
    }

    func start() {
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
            _ = try session.withConnection { try $0.query("SELECT FROM entitled.console_user LIMIT 1") }
            return nil
        } catch let error as PostgresError where error.sqlstate == "42P01" {
            return "the database has no users yet: run `entitled migrate`"
        } catch {
            return "the database is unavailable"
        }
    }

    func drain(until deadline: ContinuousClock.Instant) {
        loop.drain(until: deadline) ? session.close() : session.cut()
    }
}
