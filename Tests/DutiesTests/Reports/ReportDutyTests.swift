import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// When the tables of reports are refreshed, and by which worker.
@Suite struct ReportDutyTests {
    private let database: TestDatabase
    private let run: DutyRun
    private let worker = SecureRandom.bytes(16)

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        run = DutyRun(
            session: PostgresSession(database.target(role: "entitled_worker")),
            leadership: Leadership(worker: worker, lease: .seconds(10)))
    }

    private func lead() throws {
        try database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = clock_timestamp() + interval '1 hour' WHERE lane = 0",
            [.uuid(worker)])
    }

    private func duty() -> ReportDuty {
        let terms = ReportTerms(
            catalogue: EntitlementCatalogue(), rates: DollarRates(), seller: SellerTerms(), foldSettings: FoldSettings()
        )
        return ReportDuty(ReportRefresh(terms), interval: .seconds(77), logger: LogTape().logger)
    }

    private var isFinished: Bool {
        get throws {
            try database.count("SELECT count(*) FROM entitled.report_refresh WHERE started_ms IS NOT NULL") == 1
        }
    }

    @Test func `the leader refreshes all lanes, then rests`() throws {
        try lead()
        var duty = duty()
        for _ in 1..<Lane.count { #expect(try duty.run(run) == .again) }
        #expect(try !isFinished)
        #expect(try duty.run(run) == .after(.seconds(77)))
        #expect(try isFinished)
        let connection = try database.connect(role: "entitled_analyst")
        let age = "SELECT now() - refreshed_at BETWEEN '0 s' AND '5 min' FROM entitled_reports.freshness"
        #expect(try connection.query(age).one().bool(0))
    }

    @Test func `another worker does nothing, and a new leader begins anew`() throws {
        var duty = duty()
        #expect(try duty.run(run) == .after(ReportDuty.retryAfter))
        try lead()
        for _ in 0..<200 { _ = try duty.run(run) }
        try database.execute("UPDATE entitled.lane SET lease_until = '-infinity' WHERE lane = 0")
        #expect(try duty.run(run) == .after(ReportDuty.retryAfter))
        try lead()
        for _ in 1..<Lane.count { _ = try duty.run(run) }
        #expect(try !isFinished)
        _ = try duty.run(run)
        #expect(try isFinished)
    }

    @Test func `a schema without the tables disturbs nothing`() throws {
        try lead()
        var duty = duty()
        try database.execute("ALTER TABLE entitled.report_refresh RENAME TO not_yet")
        #expect(try duty.run(run) == .after(ReportDuty.retryAfter))
        try database.execute("ALTER TABLE entitled.not_yet RENAME TO report_refresh")
        #expect(try duty.run(run) == .again)
    }
}
