import Base
import Daemon
import Database
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// What a worker tells of itself and of its lanes.
@Suite struct WorkerMetricsTests {
    private static func value(_ name: String, _ worker: RunningWorker) -> Double? {
        worker.metrics.exposition().split(separator: "\n").first { $0.hasPrefix("\(name) ") }
            .flatMap { Double($0.split(separator: " ").last ?? "") }
    }

    @Test func `what is behind in its lanes is counted at the first look`() throws {
        let installation = try Installation()
        let database = installation.database
        let old = SystemClock().now() - 100_000
        // What nobody can finish within this look: rows without anything behind them.
        try database.execute("INSERT INTO entitled.pending VALUES (3, $1)", [.int8(SequenceGenerator.least(at: old))])
        try database.execute(
            """
            INSERT INTO entitled.held_notification (lane, seq, reason, held_ms, attempts, next_ms)
            SELECT 5, g, 'forged', 1, 1, NULL FROM generate_series(1, 130) AS g
            """)
        try database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                will_renew, version, updated_ms, wake_ms)
            SELECT 7, 'demo', 0, g, 'x', 'pro_monthly', true, 1, 1, CASE g WHEN 3 THEN $1 ELSE 1 END
            FROM generate_series(1, 3) AS g
            """, [.int8(SystemClock().now())])
        try database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, disabled_reason, paused_until_ms, created_ms)
            VALUES ('live', 'http://127.0.0.1:9/', '{}', '{}', '{}', NULL, 0, 1),
                ('off', 'http://127.0.0.1:9/', '{}', '{}', '{}', 'by hand', 0, 1),
                ('resting', 'http://127.0.0.1:9/', '{}', '{}', '{}', NULL, 9223372036854775807, 1)
            """)
        try database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
            SELECT g, gen_random_uuid(), e.id, gen_random_uuid(), 'TEST', 0, 1, 1
            FROM generate_series(1, 4) AS g, entitled.endpoint e
            """)
        try database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, ordering, paused_until_ms, created_ms)
            VALUES ('ordered', 'http://127.0.0.1:9/', '{}', '{}', '{}', 'purchase', 9223372036854775807, 1)
            """)
        try database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
            SELECT g, gen_random_uuid(), 'ordered', gen_random_uuid(), 'TEST', 4, $1 + g * 1000, 1
            FROM generate_series(1, 4) AS g
            """, [.int8(SystemClock().now() - 50_000)])
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually("the first look is done") { Self.value("entitled_timers_overdue", worker) != nil }
        #expect(Self.value("entitled_lanes_owned", worker) == 256)
        #expect(Self.value("entitled_held_notifications", worker) == 100)
        #expect(Self.value("entitled_timers_overdue", worker) == 2)
        #expect(Self.value("entitled_deliveries_past_due", worker) == 4)
        #expect(Self.value("entitled_outages", worker) == 0)
        let blocked = try #require(Self.value("entitled_deliveries_blocked_oldest_seconds", worker))
        #expect(blocked >= 49 && blocked < 109)
        let oldest = try #require(Self.value("entitled_pending_oldest_seconds", worker))
        #expect(oldest >= 100 && oldest < 160)
    }

    @Test func `batches are counted with their sizes`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var lives = (0..<12).map { SubscriberLife(app: Installation.app, seed: 51, number: $0) }
        try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
        try eventually("twelve are applied") {
            worker.metrics.exposition().contains("entitled_notifications_total{state=\"applied\"} 12\n")
        }
        #expect(Self.value("entitled_apply_batch_size_sum", worker) == 12)
        #expect(
            Self.value("entitled_apply_batch_size_count", worker) == Self.value("entitled_apply_seconds_count", worker))
    }

    @Test func `lanes that somebody else has taken are counted where they are missed`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation, lease: .seconds(60))
        defer { worker.stop() }
        try worker.log.wait(for: "lanes gained")
        #expect(Self.value("entitled_lane_takeovers_total", worker) == 0)
        try installation.database.execute(
            """
            UPDATE entitled.lane SET epoch = epoch + 1, owner = gen_random_uuid(),
                lease_until = now() + interval '1 hour'
            """)
        var life = SubscriberLife(app: Installation.app, seed: 52)
        #expect(try installation.post(life.start(at: Installation.start)).status == 200)
        try eventually("the fence stops it") { Self.value("entitled_fences_lost_total", worker) == 1 }
        #expect(try installation.purchaseRows() == [])
    }

    @Test func `lanes of a worker that died are taken over, those that were given back are not`() throws {
        let installation = try Installation()
        try installation.database.execute(
            """
            UPDATE entitled.lane SET owner = gen_random_uuid(), lease_until = now() - interval '1 second'
            WHERE lane < 40
            """)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually("it took them") { Self.value("entitled_lane_takeovers_total", worker) == 40 }
        #expect(Self.value("entitled_lanes_owned", worker) == 256)
    }
}
