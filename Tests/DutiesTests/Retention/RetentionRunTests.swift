import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

@Suite struct RetentionRunTests {
    @Test func `notifications go by the day after their time, and a week is made ahead`() throws {
        let bench = try RetentionFixture()
        for (number, daysAgo) in [500, 401, 400, 399, 10].enumerated() {
            try bench.receiveAndApply(number, daysAgo: Int64(daysAgo))
        }
        try bench.owner.query("DROP TABLE entitled.notification_\(bench.today(-7).text.replacing("-", with: ""))")
        try bench.runRetention()
        #expect(try bench.days("notification") == [-7, -6, -5, -4, -3, -2, -1, 0, 10, 399, 400])
        #expect(try bench.list() == [4, 3, 2].map(RetentionFixture.uuid))
        #expect(bench.log.text.contains("day partition dropped"))
        let metrics = bench.metrics.exposition()
        #expect(metrics.contains(#"entitled_retention_days_dropped_total{table="notification"} 2"#))
        #expect(metrics.contains(#"entitled_retention_days_ahead{table="notification"} 7"#))
        #expect(metrics.contains(#"entitled_retention_stray_rows{table="notification"} 0"#))
        let oldest = bench.today(400).start / 1000
        #expect(metrics.contains(#"entitled_retention_oldest_day_seconds{table="notification"} \#(oldest)"#))
        // Nothing is left to do.
        try bench.runRetention()
        #expect(try bench.days("notification").count == 11)
        #expect(!bench.log.text.contains("\"error\""))
    }

    @Test func `attempts go after a time of their own`() throws {
        let bench = try RetentionFixture(attempts: 7)
        for daysAgo in [0, 6, 7, 8, 100] as [Int64] {
            try bench.connection.query(
                "INSERT INTO entitled.attempt VALUES (1, gen_random_uuid(), 1, $1, 1, 200, 'status', NULL, NULL)",
                [.int8(bench.now - daysAgo * RetentionFixture.day)])
            _ = try DayPartitions.attempts.make(bench.today(daysAgo), on: bench.connection)
        }
        try bench.runRetention()
        #expect(try bench.days("attempt").filter { $0 >= 0 } == [0, 6, 7])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.attempt") == 3)
    }

    @Test func `attempts go with the events at the latest, since a deletion finds them by their deliveries`() throws {
        let bench = try RetentionFixture(attempts: 3650)
        for daysAgo in [1, 400, 401, 500] as [Int64] {
            _ = try DayPartitions.attempts.make(bench.today(daysAgo), on: bench.connection)
        }
        try bench.runRetention()
        #expect(try bench.days("attempt").filter { $0 > 0 } == [1, 400])
    }

    @Test func `what is pending or held keeps its day, and it is told`() throws {
        let bench = try RetentionFixture()
        try bench.receiveAndApply(1, daysAgo: 502)
        try bench.receive(2, daysAgo: 501)
        try bench.receive(3, daysAgo: 500)
        for day in [500, 501] as [Int64] {
            _ = try DayPartitions.notifications.make(bench.today(day), on: bench.connection)
        }
        let pending = try bench.pending()
        try HeldNotifications.hold([(pending[0], "forged")], now: bench.now, on: bench.connection)
        try PendingNotification.remove([pending[0]], on: bench.connection)
        try bench.runRetention()
        #expect(try bench.days("notification").filter { $0 > 0 } == [500, 501])
        let metrics = bench.metrics.exposition()
        #expect(metrics.contains(#"entitled_retention_kept{reason="pending",table="notification"} 1"#))
        #expect(metrics.contains(#"entitled_retention_kept{reason="held",table="notification"} 1"#))
        #expect(bench.log.text.contains("day partitions kept too long"))
        // Deduplication and repair go on for them.
        #expect(try bench.receive(2, daysAgo: 0) == .duplicate)
        let outcome = try NotificationRepair.reprocess(
            uuid: RetentionFixture.uuid(2), app: nil, environment: nil, on: bench.connection)
        #expect(outcome == .queued)
        // Applied, they go.
        try bench.connection.query("DELETE FROM entitled.pending")
        try bench.runRetention()
        #expect(try bench.days("notification").filter { $0 > 0 } == [])
        #expect(bench.metrics.exposition().contains(#"entitled_retention_kept{reason="held",table="notification"} 0"#))
    }

    @Test func `who does not own the first lane changes nothing and tells all the same`() throws {
        let bench = try RetentionFixture()
        try bench.receiveAndApply(1, daysAgo: 500)
        try bench.own([UInt8](repeating: 9, count: 16))
        try bench.runRetention()
        #expect(try bench.days("notification").contains(500))
        #expect(bench.metrics.exposition().contains(#"entitled_retention_days{table="notification"} 9"#))
        try bench.own([UInt8](repeating: 1, count: 16))
        try bench.runRetention()
        #expect(try !bench.days("notification").contains(500))
    }

    @Test func `what came without a day is moved into it, and a missing tomorrow is an error until it is there`() throws
    {
        let bench = try RetentionFixture()
        let tomorrow = "entitled.notification_\(bench.today(-1).text.replacing("-", with: ""))"
        try bench.owner.query("DROP TABLE \(tomorrow)")
        try bench.receive(1, daysAgo: -1)
        try bench.receive(2, daysAgo: 20)
        let blocker = try bench.database.connect()
        try blocker.query("BEGIN")
        try blocker.query("LOCK TABLE ONLY entitled.notification IN SHARE UPDATE EXCLUSIVE MODE")
        try bench.runRetention()
        #expect(bench.log.text.contains("day partition of tomorrow missing"))
        #expect(bench.log.text.contains("default partition rows found"))
        #expect(bench.metrics.exposition().contains(#"entitled_retention_stray_rows{table="notification"} 2"#))
        try blocker.query("COMMIT")
        try bench.runRetention()
        #expect(try bench.days("notification") == [-7, -6, -5, -4, -3, -2, -1, 0, 20])
        #expect(bench.metrics.exposition().contains(#"entitled_retention_stray_rows{table="notification"} 0"#))
        #expect(try bench.list() == [1, 2].map(RetentionFixture.uuid))
        #expect(try bench.pending().allSatisfy { $0.gap == nil })
    }

    @Test func `what somebody with a wrong clock took stays, and it is told`() throws {
        let bench = try RetentionFixture()
        try bench.receive(1, daysAgo: 600)
        try bench.receive(2, daysAgo: -300)
        try bench.connection.query("DELETE FROM entitled.pending")
        try bench.runRetention()
        #expect(try bench.days("notification").count == 8)
        #expect(bench.log.text.contains("default partition rows found"))
        #expect(try bench.receive(1, daysAgo: 0) == .duplicate)
        #expect(try bench.list() == [RetentionFixture.uuid(2), RetentionFixture.uuid(1)])
    }

    // MARK: - Deduplication

    @Test func `copies are known for as long as the notification is kept, and for 180 days at least`() throws {
        let bench = try RetentionFixture(notifications: 180)
        for (number, daysAgo) in [500, 181, 180, 179, 1].enumerated() {
            try bench.receiveAndApply(number, daysAgo: Int64(daysAgo))
        }
        try bench.runRetention()
        let outcomes = try (0...4).map { try bench.receive($0, daysAgo: 0) }
        #expect(outcomes == [.accepted, .accepted, .duplicate, .duplicate, .duplicate])
        #expect(bench.metrics.exposition().contains(#"rows_cleaned_total{table="notification_key"} 2"#))
    }

    @Test func `keys go step by step, all of the old ones and none of the others`() throws {
        let bench = try RetentionFixture()
        try bench.owner.query(
            """
            INSERT INTO entitled.notification_key SELECT gen_random_uuid(), 'demo', 0, 1,
                CASE WHEN i % 3 = 0 THEN $1::int8 ELSE $2::int8 END FROM generate_series(1, 30000) i
            """,
            [
                .int8(SequenceGenerator.least(at: bench.now - 500 * RetentionFixture.day)),
                .int8(SequenceGenerator.least(at: bench.now)),
            ])
        try bench.runRetention()
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification_key") == 20_000)
        #expect(bench.metrics.exposition().contains(#"rows_cleaned_total{table="notification_key"} 10000"#))
    }

    // MARK: - Looking and repairing

    @Test func `the newest come first, whatever their day and however far back`() throws {
        let bench = try RetentionFixture()
        let ages: [Int64] = [0, 1, 2, 3, 5, 9, 40, 200, 399]
        for (number, age) in ages.enumerated().reversed() {
            try bench.receive(number, daysAgo: age)
            if age.isMultiple(of: 2) {
                _ = try DayPartitions.notifications.make(bench.today(age), on: bench.connection)
            }
        }
        let all = ages.indices.map(RetentionFixture.uuid)
        #expect(try bench.list() == all)
        #expect(try bench.list(.pending) == all)
        #expect(try bench.list(.applied) == [])
        for limit in 1...ages.count {
            let some = try NotificationQuery.list(
                .init(app: "demo", environment: .production), .init(limit: limit), on: bench.connection
            ).rows
            #expect(some.map(\.identity.uuid) == Array(all.prefix(limit)))
        }
        try bench.connection.query("DELETE FROM entitled.pending")
        #expect(try bench.list(.applied) == all)
    }

    @Test func `what was dropped is said to have been there while its key is`() throws {
        let bench = try RetentionFixture()
        try bench.receiveAndApply(1, daysAgo: 405)
        let received = bench.now - 405 * RetentionFixture.day
        #expect(try DayPartitions.notifications.drop(bench.today(405), on: bench.connection) == .dropped)
        let found = try NotificationQuery.find(
            uuid: RetentionFixture.uuid(1), app: nil, environment: nil, on: bench.connection)
        #expect(found.whole.isEmpty)
        #expect(found.dropped == [received])
        let outcome = try NotificationRepair.reprocess(
            uuid: RetentionFixture.uuid(1), app: nil, environment: nil, on: bench.connection)
        #expect(outcome == .dropped(received: received))
        #expect(try bench.database.count("SELECT count(*) FROM entitled.pending") == 0)
    }
}
