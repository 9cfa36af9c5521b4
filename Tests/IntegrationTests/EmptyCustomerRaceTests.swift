import Base
import Daemon
import Database
import Duties
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@testable import Customers

/// Customers who were read once, long ago, and come back while they are removed.
@Suite struct EmptyCustomerRaceTests {
    private static let count = 40

    @Test func `whoever posts or says something while empty customers go is there with it`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let receipts = try (0..<Self.count).map { number in
            var life = SubscriberLife(app: Installation.app, seed: UInt64(7400 + number), withToken: false)
            return try PostingFixture.jws(life.start(at: SystemClock().now() - StoreProduct.day))
        }
        let buyers = (0..<Self.count).map { "buyer-\($0)" }
        let talkers = (0..<10 * Self.count).map { "talker-\($0)" }
        let isOver = Monitor(false)
        let cleaner = TestThread { [id = worker.id] in try Self.clean(installation, as: id, until: isOver) }
        let posts = (0..<4).map { part in
            TestThread {
                let owner = try installation.database.connect()
                return try stride(from: part, to: Self.count, by: 4).map { number in
                    try Self.makeGuest(buyers[number], on: owner)
                    return bench.post(receipts[number], by: buyers[number]).status
                }
            }
        }
        let words = TestThread {
            let connection = try installation.database.connect(role: "entitled_api")
            let actions = CustomerActions(origin: ActionTable.Origin(actor: "test"), foldSettings: FoldSettings())
            let owner = try installation.database.connect()
            for talker in talkers {
                try Self.makeGuest(talker, on: owner)
                _ = try actions.setAttributes(
                    .object(["team": .object(["value": .string("red")])]), of: talker, on: connection)
            }
        }
        #expect(try posts.flatMap { try $0.value(timeout: .seconds(60)) } == Array(repeating: 200, count: Self.count))
        try words.value(timeout: .seconds(60))
        isOver.change { $0 = true }
        #expect(try cleaner.value(timeout: .seconds(60)) > 0)
        let database = installation.database
        #expect(try Set(database.texts("SELECT DISTINCT owner FROM entitled.purchase")) == Set(buyers))
        #expect(try database.count("SELECT count(*) FROM entitled.customer_attribute") == Int64(talkers.count))
        let names = try Set(
            database.texts(
                "SELECT a.id FROM entitled.app_user_id a JOIN entitled.customer c USING (original_app_user_id)"))
        #expect(names.isSuperset(of: buyers + talkers))
        try installation.expectNoDifferences()
    }

    /// Somebody who was read once, in 1970.
    private static func makeGuest(_ name: String, on connection: PostgresConnection) throws {
        _ = try connection.query(
            """
            WITH named AS (
                INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms, last_seen_ms)
                VALUES ($1, $1, 1, 1) RETURNING id
            )
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) SELECT id, 1 FROM named
            """, [.text(name)])
    }

    /// Removes them as the worker does, again and again; how many went.
    private static func clean(
        _ installation: Installation, as worker: [UInt8], until isOver: Monitor<Bool>
    ) throws -> Double {
        let metrics = Metrics()
        let day = Duration.seconds(86_400)
        var round = RetentionRun(
            times: RetentionTimes(
                notifications: day * 400, attempts: day * 90, events: day * 400, emptyCustomers: day * 90),
            clock: SystemClock(), logger: .silent, metrics: metrics)
        let session = try installation.database.connect(role: "entitled_worker")
        while !isOver.read({ $0 }) {
            round.hurry()
            _ = try round.take(Leadership(worker: worker, lease: .seconds(10)), on: session)
        }
        let line = metrics.exposition().split(separator: "\n").first {
            $0.hasPrefix(#"entitled_retention_rows_cleaned_total{table="customer"}"#)
        }
        return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
    }
}
