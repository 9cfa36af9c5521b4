import AppStoreAPI
import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// A duty whose runs a test decides and counts.
private struct TestDuty: Duty {
    static let name = "test"
    static let failure: StaticString = "test run failed"
    static let firstAfter = Duration.zero
    static let retryAfter = Duration.milliseconds(1)

    struct Counts {
        var runs = 0
        var finishes = 0
    }

    let counts = Monitor(Counts())
    let cancellation: Cancellation? = Cancellation()
    let work: @Sendable (DutyRun) throws -> Next

    init(_ work: @escaping @Sendable (DutyRun) throws -> Next) {
        self.work = work
    }

    func run(_ run: DutyRun) throws -> Next {
        counts.change { $0.runs += 1 }
        return try work(run)
    }

    func finish(_ run: DutyRun) { counts.change { $0.finishes += 1 } }

    func untilRuns(_ count: Int) throws {
        let reached = counts.wait(timeout: .seconds(20)) { $0.runs >= count ? true : nil } ?? false
        guard reached else { throw TestFailure("less than \(count) runs") }
    }
}

@Suite struct DutyServiceTests {
    private let log = LogTape()
    private let metrics = Metrics()
    private let leadership = Leadership(worker: [UInt8](repeating: 1, count: 16), lease: .seconds(10))

    private func service(_ duty: TestDuty, _ target: PostgresTarget) -> DutyService<TestDuty> {
        DutyService(
            duty, session: PostgresSession(target, logger: log.logger), leadership: leadership, logger: log.logger,
            metrics: metrics)
    }

    private func count(_ event: String) -> Int {
        log.text.split(separator: "\n").filter { $0.contains("\"\(event)\"") }.count
    }

    @Test func `it runs until it drains, then releases what it holds and closes its connection`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let duty = TestDuty { run in
            _ = try run.session.withConnection { connection in try connection.query("SELECT 1") }
            return .again
        }
        let service = service(duty, database.target(role: "entitled_worker"))
        service.start()
        try duty.untilRuns(3)
        service.drain(until: .now + .seconds(20))
        #expect(duty.counts.read { $0.finishes } == 1)
        #expect(duty.cancellation?.isCancelled == true)
        let runs = duty.counts.read { $0.runs }
        try eventually("the connection is closed") {
            try database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND usename = 'entitled_worker'",
                [.text(database.name)]) == 0
        }
        #expect(duty.counts.read { $0.runs } == runs)
        #expect(count("test run failed") == 0)
    }

    @Test func `a drain cancels the statement that is running, and does not log that as a failure`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let duty = TestDuty { run in
            _ = try run.session.withConnection { connection in try connection.query("SELECT pg_sleep(60)") }
            return .again
        }
        let service = service(duty, database.target(role: "entitled_worker"))
        service.start()
        try eventually("the statement is running") {
            try database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'SELECT pg_sleep%'",
                [.text(database.name)]) == 1
        }
        let deadline = ContinuousClock.now + .seconds(20)
        service.drain(until: deadline)
        #expect(ContinuousClock.now < deadline)
        #expect(duty.counts.read { ($0.runs, $0.finishes) } == (1, 1))
        #expect(count("test run failed") == 0)
    }

    @Test func `a failure is tried again, and many of the same kind are one line`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let duty = TestDuty { run in
            _ = try run.session.withConnection { connection in try connection.query("SELECT 1 / 0") }
            return .again
        }
        let service = service(duty, database.target(role: "entitled_worker"))
        service.start()
        defer { service.drain(until: .now + .seconds(20)) }
        try duty.untilRuns(20)
        #expect(count("test run failed") == 1)
    }

    @Test func `a database that is away is reported once, by the session, and the work goes on when it is back`() throws
    {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let duty = TestDuty { run in
            _ = try run.session.withConnection { connection in try connection.query("SELECT 1") }
            return .again
        }
        let (isAway, target) = (Monitor(true), database.target(role: "entitled_worker"))
        let session = PostgresSession(
            target, logger: log.logger, backOff: .milliseconds(5)...Duration.milliseconds(20)
        ) { _ in
            if isAway.read({ $0 }) { throw PostgresError(.connection, "no server") }
        }
        let service = DutyService(
            duty, session: session, leadership: leadership, logger: log.logger, metrics: metrics)
        service.start()
        defer { service.drain(until: .now + .seconds(20)) }
        try duty.untilRuns(20)
        #expect(count("test run failed") == 0)
        #expect(count("database connection failed") == 1)
        isAway.change { $0 = false }
        try log.wait(for: "database connection restored")
    }

    @Test func `a worker that is not the leader any more has nothing to report, and tries again`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let duty = TestDuty { run in
            try run.session.withConnection { connection -> Void in
                try run.leadership.transaction(on: connection) { _ in _ = Issue.record("it holds no lane") }
            }
            return .again
        }
        let service = service(duty, database.target(role: "entitled_worker"))
        service.start()
        defer { service.drain(until: .now + .seconds(20)) }
        try duty.untilRuns(3)
        #expect(count("test run failed") == 0)
        #expect(runs("lost") >= 2 && runs("failed") == 0 && runs("done") == 0)
    }

    @Test func `runs are counted by how they end, and what ends the process is no failure`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let runs = Monitor(0)
        let duty = TestDuty { run in
            let number = runs.change { number in
                number += 1
                return number
            }
            if number == 2 { throw TestFailure("the second fails") }
            guard number == 4 else { return .again }
            // The fourth is cancelled by the end of the process.
            _ = try run.session.withConnection { connection in try connection.query("SELECT pg_sleep(20)") }
            return .again
        }
        let service = service(duty, database.target(role: "entitled_worker"))
        service.start()
        try duty.untilRuns(4)
        try eventually("the statement is running") {
            try database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'SELECT pg_sleep%'",
                [.text(database.name)]) == 1
        }
        service.drain(until: .now + .seconds(20))
        #expect(self.runs("done") == 2 && self.runs("failed") == 1)
    }

    private func runs(_ outcome: String) -> Int {
        let start = "entitled_duty_runs_total{duty=\"test\",outcome=\"\(outcome)\"} "
        let line = metrics.exposition().split(separator: "\n").first { $0.hasPrefix(start) }
        return line.flatMap { Int($0.dropFirst(start.count)) } ?? 0
    }
}
