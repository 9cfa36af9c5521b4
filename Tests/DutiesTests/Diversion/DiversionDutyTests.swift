import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// What ingest accepted beside the log comes into it.
@Suite struct DiversionDutyTests {
    private let log = LogTape()
    private let metrics = Metrics()
    private let worker = [UInt8](repeating: 9, count: 16)

    private func divert(_ numbers: [Int], at instant: Int64, in database: TestDatabase) throws {
        let clock = ManualClock(instant)
        let inserter = NotificationInserter(sequence: SequenceGenerator(clock: clock, node: 1), clock: clock)
        try inserter.divert(
            try numbers.map(RetentionFixture.notification), on: database.connect(role: "entitled_ingest"))
    }

    private func run(_ duty: inout DiversionDuty, in database: TestDatabase) throws {
        let run = DutyRun(
            session: PostgresSession(database.target(role: "entitled_worker")),
            leadership: Leadership(worker: worker, lease: .seconds(60)))
        while case .again = try duty.run(run) {}
    }

    private func lead(in database: TestDatabase) throws {
        try database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + '1 minute'", [.uuid(worker)])
    }

    @Test func `each is appended once with the time at which it came, and what the log has already is removed`() throws
    {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try lead(in: database)
        let now = SystemClock().now()
        try divert([1, 2, 3], at: now - 5000, in: database)
        // Apple sends again what it got no answer for; and a process was killed after the commit, before it removed the row.
        try divert([2], at: now - 4000, in: database)
        var inserter = NotificationInserter(
            sequence: SequenceGenerator(clock: SystemClock(), node: 2), clock: SystemClock())
        _ = try inserter.insert([try RetentionFixture.notification(3)], on: database.connect(role: "entitled_ingest"))
        var duty = DiversionDuty(clock: SystemClock(), logger: log.logger, metrics: metrics)
        try run(&duty, in: database)
        #expect(try database.count("SELECT count(*) FROM entitled.diverted_notification") == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.pending") == 3)
        let times = try database.texts(
            "SELECT uuid || ' ' || received_ms FROM entitled.notification WHERE received_ms < $1 ORDER BY seq",
            [.int8(now - 3000)])
        #expect(times == [1, 2].map { "\(RetentionFixture.uuid($0)) \(now - 5000)" })
        try log.wait(for: "diverted notifications appended")
    }

    @Test func `nothing fails where the schema is older`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try lead(in: database)
        try database.execute("DROP TABLE entitled.diverted_notification")
        var duty = DiversionDuty(clock: SystemClock(), logger: log.logger, metrics: metrics)
        try run(&duty, in: database)
    }

    @Test func `only the leader appends`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try divert([1], at: SystemClock().now() - 300_000, in: database)
        var duty = DiversionDuty(clock: SystemClock(), logger: log.logger, metrics: metrics)
        try run(&duty, in: database)
        #expect(try database.count("SELECT count(*) FROM entitled.diverted_notification") == 1)
        // Every worker says how long they have waited.
        #expect(metrics.exposition().contains("entitled_diverted_oldest_seconds 30"))
    }
}
