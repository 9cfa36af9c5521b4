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
    private let metrics = Metrics()

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        run = DutyRun(
            session: PostgresSession(database.target(role: "entitled_worker")),
            leadership: Leadership(worker: worker, lease: .seconds(10)))
    }

    private func lead() throws {
        try database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
            [.uuid(worker)])
    }

    private func duty(_ log: LogTape = LogTape()) -> ReportDuty {
        let terms = ReportTerms(
            catalogue: EntitlementCatalogue(), rates: DollarRates(), seller: SellerTerms(), foldSettings: FoldSettings()
        )
        return ReportDuty(ReportRefresh(terms), interval: .seconds(77), logger: log.logger, metrics: metrics)
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
        #expect(!metrics.exposition().contains("entitled_subscriptions"))
        #expect(try duty.run(run) == .after(.seconds(77)))
        #expect(try isFinished)
        for line in [
            "entitled_subscriptions{state=\"paid\"} 0\n", "entitled_subscriptions{state=\"trial\"} 0\n",
            "entitled_monthly_recurring_revenue_usd 0\n",
        ] { #expect(metrics.exposition().contains(line)) }
        // A worker that leads no more says nothing of what it counted once.
        try database.execute(
            "UPDATE entitled.lane SET owner = $1 WHERE lane = 0", [.uuid(SecureRandom.bytes(16))])
        _ = try duty.run(run)
        #expect(!metrics.exposition().contains("entitled_subscriptions"))
        #expect(!metrics.exposition().contains("entitled_monthly_recurring_revenue_usd"))
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

    @Test func `a page that is overtaken is read again after a pause, and its failures are told once`() throws {
        try lead()
        // The first one is written, and changes the second one meanwhile; the third one fails.
        let ids = Array(
            (1_000_001...).lazy.map { String($0) }
                .filter { Lane(app: "demo", environment: .production, subject: $0).number == 0 }.prefix(3))
        for id in ids {
            try database.execute(
                """
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
                    version, updated_ms) VALUES (0, 'demo', 0, $1, 'anna', 'monthly', true, 1, 1000)
                """, [.text(id)])
        }
        try database.execute(
            """
            CREATE FUNCTION public.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.original_transaction_id = '\(ids[0])' THEN
                    UPDATE entitled.purchase SET version = version + 1 WHERE original_transaction_id = '\(ids[1])';
                ELSIF NEW.original_transaction_id = '\(ids[2])' THEN
                    RAISE EXCEPTION 'a value that does not fit' USING ERRCODE = 'numeric_value_out_of_range';
                END IF;
                RETURN NEW;
            END $$
            """)
        try database.execute(
            """
            CREATE TRIGGER meddle BEFORE INSERT ON entitled.report_purchase FOR EACH ROW EXECUTE FUNCTION public.meddle()
            """)
        let log = LogTape()
        var duty = duty(log)
        #expect(try duty.run(run) == .after(.seconds(1)))
        for _ in 1..<Lane.count { #expect(try duty.run(run) == .again) }
        #expect(try duty.run(run) == .after(.seconds(77)))
        let lines = log.text.split(separator: "\n")
        #expect(lines.filter { $0.contains("report rows not made") }.count == 1, "\(log.text)")
        #expect(lines.contains { $0.contains("reports incomplete") && $0.contains("\"failed\":1") }, "\(log.text)")
        #expect(try database.count("SELECT count(*) FROM entitled.report_purchase") == 2)
        #expect(try database.count("SELECT failed FROM entitled.report_refresh") == 1)
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
