import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// What is forecast is what the next run does.
struct RetentionForecastTests {
    private static let day = RetentionFixture.day

    private func forecast(_ bench: RetentionFixture) throws -> [String: RetentionForecast.Entry] {
        let entries = try RetentionForecast.make(bench.times, now: bench.now, on: bench.connection).entries
        return Dictionary(entries.map { ("\($0.table) \($0.effect.rawValue)", $0) }) { a, b in a.rows > 0 ? a : b }
    }

    @Test func `nothing is to be deleted in a new database, and every table is named`() throws {
        let bench = try RetentionFixture(emptyCustomers: 90)
        let entries = try RetentionForecast.make(bench.times, now: bench.now, on: bench.connection).entries
        #expect(entries.allSatisfy { $0.rows == 0 && $0.bytes == 0 && $0.oldest == nil && $0.kept.isEmpty })
        #expect(
            Set(entries.map(\.table)) == [
                "notification", "attempt", "notification_key", "event", "delivery", "customer", "app_user_id", "job",
                "rebuild", "sender", "endpoint", "audit", "console_try", "console_session", "console_link",
            ])
    }

    @Test func `counts, bytes and the oldest are those of what the next run deletes`() throws {
        let bench = try RetentionFixture(emptyCustomers: 90)
        try bench.receiveAndApply(1, daysAgo: 410)
        try bench.receiveAndApply(2, daysAgo: 405)
        try bench.receiveAndApply(3, daysAgo: 10)
        try bench.receive(4, daysAgo: 406)
        _ = try DayPartitions.notifications.make(bench.today(406), on: bench.connection)
        let old = bench.now - 500 * Self.day
        // Of two old events one has a delivery that is held.
        for (number, state) in [(1, 1), (2, 3)] {
            let event = [UInt8](repeating: UInt8(number), count: 16)
            _ = try bench.owner.query(
                """
                INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body)
                VALUES (7, $1, 'RENEWAL', 'demo', 0, '1', $2, 'a body')
                """, [.uuid(event), .int8(old)])
            let id = DeliveryID(lane: Lane(number: 7), event: event, endpoint: "we_1")
            _ = try bench.owner.query(
                """
                INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
                VALUES (7, $1, 'we_1', $2, 'RENEWAL', $3, $4, $4)
                """, [.uuid(id.bytes), .uuid(event), .int2(Int16(state)), .int8(old)])
        }
        try bench.owner.execute(
            script: """
                    INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
                        VALUES ('we_1', 'https://example.com', '{}', '{}', '{}', 1);
                    INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ('ada', 'ada', 1);
                    INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ('ada', 1);
                    INSERT INTO entitled.rebuild (started_ms, settings) VALUES (5, 'old');
                    INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (6, 'ben', 'grant', '', 'done');
                """)
        let found = try forecast(bench)
        let days = try #require(found["notification dropped"])
        #expect(days.rows == 2 && days.bytes > 0 && days.oldest == bench.today(410).start)
        #expect(days.before == bench.today(400).start && days.kept == ["pending": 1])
        // The day that is kept keeps the keys since then.
        #expect(found["notification_key deleted"]?.rows == 1)
        let events = try #require(found["event emptied"])
        #expect(events.rows == 1 && events.bytes > 0 && events.oldest == old && events.kept == ["unfinished": 1])
        #expect(found["delivery deleted"]?.rows == 1)
        #expect(found["customer deleted"]?.rows == 1 && found["app_user_id deleted"]?.rows == 1)
        #expect(found["audit deleted"]?.rows == 1 && found["audit deleted"]?.oldest == 6)
        #expect(found["rebuild deleted"]?.rows == 1 && found["rebuild deleted"]?.oldest == 5)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification") == 4)

        try bench.runRetention()
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification") == 2)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification_key") == 3)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event WHERE body = ''") == 1)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery") == 1)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.customer") == 0)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.rebuild") == 0)
        let after = try forecast(bench)
        #expect(after.values.allSatisfy { $0.rows == 0 })
        #expect(after["notification dropped"]?.kept == ["pending": 1])
    }
}
