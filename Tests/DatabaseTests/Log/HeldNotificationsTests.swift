import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct HeldNotificationsTests {
    /// A database with notifications of one purchase, and a worker's connection to it.
    private struct Bench {
        let database: TestDatabase
        let connection: PostgresConnection

        init(_ count: Int) throws {
            database = try TestCluster.shared.makeMigratedDatabase()
            connection = try database.connect(role: "entitled_worker")
            var inserter = Sample.inserter()
            let admission = try database.connect(role: "entitled_ingest")
            for number in 0..<count {
                _ = try inserter.insert([try Sample.notification(Sample.uuid(number), purchase: "a")], on: admission)
            }
        }

        func pending() throws -> [PendingNotification] {
            try PendingNotification.read(from: Lane.all, eachAtMost: 100, atMost: 100, on: connection)
        }

        func due(_ now: Int64) throws -> [PendingNotification] {
            try HeldNotifications.dueInGroups(at: now, atMost: 100, on: connection)
        }

        func hold(_ notifications: [PendingNotification], now: Int64) throws {
            try connection.transaction {
                try HeldNotifications.hold(notifications.map { ($0, "forged") }, now: now, on: connection)
                try PendingNotification.remove(notifications, on: connection)
            }
        }

        func rows() throws -> [String] {
            try database.texts(
                "SELECT reason || ' ' || attempts || ' ' || held_ms FROM entitled.held_notification ORDER BY seq")
        }
    }

    private static let day: Int64 = 86_400_000

    @Test func `what is held is due once its time has come, with what is known of it`() throws {
        let bench = try Bench(2)
        let first = try #require(try bench.pending().first)
        try bench.hold([first], now: 1000)
        #expect(try bench.due(60_999).isEmpty)
        let due = try bench.due(1000 + 67_000)
        #expect(due.map(\.seq) == [first.seq])
        #expect(due.first?.identity == first.identity)
        #expect(due.first?.stored == first.stored)
        #expect(due.first?.held == HeldState(attempts: 1, since: 1000))
        #expect(try bench.pending().count == 1)
    }

    @Test func `a failed retry raises the attempts, tells the new reason and keeps when it failed first`() throws {
        let bench = try Bench(1)
        try bench.hold(try bench.pending(), now: 1000)
        let due = try bench.due(Self.day)
        try HeldNotifications.postpone(due.map { ($0, "still forged") }, now: Self.day, on: bench.connection)
        #expect(try bench.rows() == ["still forged 2 1000"])
        #expect(try bench.due(Self.day + 599_000).isEmpty)
        #expect(try bench.due(Self.day + 661_000).first?.held == HeldState(attempts: 2, since: 1000))
    }

    @Test func `what was put back in its line meanwhile is not held by a retry that fails`() throws {
        let bench = try Bench(1)
        try bench.hold(try bench.pending(), now: 1000)
        let due = try bench.due(Self.day)
        let outcome = try NotificationRepair.reprocess(
            uuid: Sample.uuid(0), app: nil, environment: nil, on: bench.connection)
        #expect(outcome == .queued)
        try HeldNotifications.postpone(due.map { ($0, "forged") }, now: Self.day, on: bench.connection)
        #expect(try bench.rows().isEmpty)
        #expect(try bench.pending().count == 1)
    }

    @Test func `what is applied is held no more`() throws {
        let bench = try Bench(2)
        try bench.hold(try bench.pending(), now: 1000)
        try HeldNotifications.release(Array(try bench.due(Self.day).prefix(1)), on: bench.connection)
        #expect(try bench.rows() == ["forged 1 1000"])
    }

    @Test func `what is tried no more stays visible`() throws {
        let bench = try Bench(1)
        try bench.hold(try bench.pending(), now: 1000)
        let now = 31 * Self.day
        let due = try bench.due(now)
        try HeldNotifications.postpone(due.map { ($0, "forged") }, now: now, on: bench.connection)
        #expect(try bench.due(.max).isEmpty)
        let listed = try NotificationQuery.list(.init(state: .held), .init(limit: 10), on: bench.connection).rows
        let hold = try #require(listed.first?.hold)
        #expect(hold.reason == "forged")
        #expect(hold.attempts == 2)
        #expect(hold.nextAttempt == nil)
    }

    @Test func `what lost its JWS header is shown all the same, with what is missing`() throws {
        let bench = try Bench(1)
        try bench.database.execute("DELETE FROM entitled.jws_header")
        let found = try NotificationQuery.find(
            uuid: Sample.uuid(0), app: nil, environment: nil, on: bench.connection)
        #expect(found.whole.map(\.gap) == ["its JWS header is missing"])
    }

    @Test func `thousands that are held cost nothing where notifications are read and finished`() throws {
        let bench = try Bench(3)
        try bench.database.execute(
            """
            INSERT INTO entitled.held_notification (lane, seq, reason, held_ms, attempts, next_ms)
            SELECT g % 256, g, 'forged', 1, 1, 1000000 + g FROM generate_series(1, 20000) AS g
            """)
        try bench.database.execute("ANALYZE entitled.held_notification")
        let work = """
            SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
            FROM pg_stat_xact_all_tables WHERE relid = 'entitled.held_notification'::regclass
            """
        let scans = """
            SELECT seq_scan + coalesce(idx_scan, 0)
            FROM pg_stat_xact_all_tables WHERE relid = 'entitled.held_notification'::regclass
            """
        // Views of statistics are the owner's; this one may take the worker's role.
        let connection = try bench.database.connect()
        try connection.transaction {
            let pending = try PendingNotification.read(
                from: Lane.all, eachAtMost: 16, atMost: 256, on: connection)
            #expect(pending.count == 3)
            _ = try PendingNotification.waiting(in: Lane.all, beside: pending, on: connection)
            try PendingNotification.remove(pending, on: connection)
            let scanned = try connection.query(scans).one().int(0)
            #expect(scanned == 0)
        }
        try connection.transaction {
            let due = try HeldNotifications.due(in: Lane.all, at: 1000, atMost: 64, on: connection)
            #expect(due.isEmpty)
            let read = try connection.query(work).one().int(0)
            #expect(read == 0)
        }
        #expect(try HeldNotifications.count(in: Lane.all, eachAtMost: 10, on: connection) == 2560)
        #expect(try HeldNotifications.due(in: Lane.all, at: .max, atMost: 64, on: connection).count == 64)
    }
}

@Suite struct HeldRetryScheduleTests {
    private static let minute: Int64 = 60_000

    @Test(arguments: [(1, 1), (2, 10), (3, 60), (4, 360), (5, 1440), (20, 1440), (0, 1)] as [(Int, Int64)])
    func `waits grow from a minute to a day`(attempts: Int, minutes: Int64) {
        let state = HeldState(attempts: attempts, since: 0)
        #expect(HeldRetrySchedule.next(state, now: 5, jitter: 0) == 5 + minutes * Self.minute)
    }

    @Test func `jitter only adds, a tenth at most`() {
        let state = HeldState(attempts: 3, since: 0)
        for step in -5...15 {
            let next = HeldRetrySchedule.next(state, now: 0, jitter: Double(step) / 10) ?? 0
            #expect((60 * Self.minute...66 * Self.minute).contains(next))
        }
    }

    @Test func `after a month from the first failure nobody tries any more`() {
        let month = 30 * 1440 * Self.minute
        #expect(HeldRetrySchedule.next(HeldState(attempts: 30, since: 7), now: 6 + month, jitter: 1) != nil)
        #expect(HeldRetrySchedule.next(HeldState(attempts: 30, since: 7), now: 7 + month, jitter: 1) == nil)
    }
}
