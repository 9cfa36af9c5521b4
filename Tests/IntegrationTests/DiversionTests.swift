import Base
import Daemon
import Database
import Duties
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// The endpoint while the tables of the log are locked.
@Suite struct DiversionTests {
    @Test func `what comes while the log is locked is accepted, and the log has it once afterwards`() throws {
        let installation = try Installation(groups: .one)
        let database = installation.database
        let notifications = (UInt64(1)...4).map { seed in
            var life = SubscriberLife(app: Installation.app, seed: seed)
            return life.start(at: Installation.start)
        }
        let mover = try database.connect()
        try mover.query("BEGIN")
        try mover.query("LOCK TABLE entitled.notification, entitled.notification_key IN EXCLUSIVE MODE")
        try installation.postAll(notifications)
        #expect(try installation.post(notifications[0]).status == 200)
        #expect(try database.count("SELECT count(*) FROM entitled.diverted_notification") == 5)
        #expect(try database.count("SELECT count(*) FROM entitled.notification_key") == 0)
        try installation.log.wait(for: "notifications diverted")
        try mover.query("COMMIT")
        try eventually("the log is written again") {
            _ = try installation.post(notifications[0])
            return try database.count("SELECT count(*) FROM entitled.notification_key") == 1
        }
        let worker = [UInt8](repeating: 9, count: 16)
        try database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = clock_timestamp() + '1 minute'", [.uuid(worker)])
        let run = DutyRun(
            session: PostgresSession(database.target(role: "entitled_worker")),
            leadership: Leadership(worker: worker, lease: .seconds(60)))
        var duty = DiversionDuty(clock: SystemClock(), logger: installation.log.logger, metrics: Metrics())
        while case .again = try duty.run(run) {}
        #expect(try database.count("SELECT count(*) FROM entitled.diverted_notification") == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.notification") == 4)
    }
}
