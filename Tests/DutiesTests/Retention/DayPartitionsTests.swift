import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

@Suite struct DayPartitionsTests {
    @Test func `a day takes what the default partition has of it, and what waits is read as before`() throws {
        let bench = try RetentionFixture()
        try bench.receive(1, daysAgo: 10)
        try bench.receive(2, daysAgo: 3)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification_default") == 2)
        #expect(try bench.pending().map(\.identity.uuid) == [RetentionFixture.uuid(1), RetentionFixture.uuid(2)])
        #expect(try DayPartitions.notifications.make(bench.today(10), on: bench.connection) == .made)
        #expect(try DayPartitions.notifications.make(bench.today(10), on: bench.connection) == .there)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification_default") == 1)
        #expect(try bench.pending().map(\.identity.uuid) == [RetentionFixture.uuid(1), RetentionFixture.uuid(2)])
        #expect(try bench.pending().allSatisfy { $0.gap == nil })
        #expect(try bench.list() == [RetentionFixture.uuid(2), RetentionFixture.uuid(1)])
    }

    @Test func `the endpoint takes what no day is made for, and copies of it are duplicates`() throws {
        let bench = try RetentionFixture()
        for day in try bench.days("notification") {
            try bench.owner.query(
                "DROP TABLE entitled.notification_\(bench.today(day).text.replacing("-", with: ""))")
        }
        #expect(try bench.receive(1, daysAgo: 0) == .accepted)
        #expect(try bench.receive(1, daysAgo: 0) == .duplicate)
        #expect(try bench.pending().map(\.identity.uuid) == [RetentionFixture.uuid(1)])
    }

    @Test func `much of a day that is not over stays in the default partition until it is`() throws {
        let bench = try RetentionFixture()
        let name = "entitled.notification_\(bench.today().text.replacing("-", with: ""))"
        try bench.owner.query("DROP TABLE \(name)")
        let least = SequenceGenerator.least(at: bench.today().start)
        func fill(_ count: Int, from first: Int64) throws {
            try bench.owner.query(
                """
                INSERT INTO entitled.notification SELECT $1 + i, 1, 1, 1, 0, 0, gen_random_uuid(), 'demo', i::text, 'TEST',
                    NULL, NULL, '', '' FROM generate_series(1, \(count)) i
                """, [.int8(first)])
        }
        try fill(20_001, from: least)
        #expect(try DayPartitions.notifications.make(bench.today(), on: bench.connection) == .crowded)
        try bench.owner.query("DELETE FROM entitled.notification WHERE seq = $1", [.int8(least + 1)])
        #expect(try DayPartitions.notifications.make(bench.today(), on: bench.connection) == .made)
        #expect(try bench.database.count("SELECT count(*) FROM \(name)") == 20_000)
        // Over, it is moved whatever there is.
        try fill(20_001, from: SequenceGenerator.least(at: bench.today(5).start))
        #expect(try DayPartitions.notifications.make(bench.today(5), on: bench.connection) == .made)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.notification_default") == 0)
    }

    @Test func `a day to come is made beside open transactions of the endpoint and of workers`() throws {
        let bench = try RetentionFixture()
        try bench.receive(1, daysAgo: 0)
        let (ingest, worker) = (try bench.database.connect(), try bench.database.connect(role: "entitled_worker"))
        try ingest.query("BEGIN")
        try ingest.query(
            """
            INSERT INTO entitled.notification VALUES ($1, 1, 1, 1, 0, 0, gen_random_uuid(), 'demo', 'x', 'TEST', NULL, NULL,
                '', '')
            """, [.int8(SequenceGenerator.least(at: bench.now))])
        try worker.query("BEGIN")
        #expect(try PendingNotification.read(from: Lane.all, eachAtMost: 1, atMost: 1, on: worker).count == 1)
        #expect(try DayPartitions.notifications.make(bench.today(-8), on: bench.connection) == .made)
        #expect(try DayPartitions.attempts.make(bench.today(-8), on: bench.connection) == .made)
    }

    @Test func `a day is not dropped under a long reader, and the endpoint goes on meanwhile`() throws {
        let bench = try RetentionFixture()
        let old = bench.today(500)
        try bench.receiveAndApply(1, daysAgo: 500)
        let reader = try bench.database.connect(role: "entitled_api")
        try reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        #expect(try reader.query("SELECT count(*) FROM entitled.notification").one().int(0) == 1)

        let taken = Monitor((count: 0, isEnd: false))
        let database = bench.database
        let ingest = TestThread {
            let connection = try database.connect(role: "entitled_ingest")
            // Far below the time that the reader stays: whoever queued behind it would fail.
            try connection.query("SET lock_timeout = '2s'")
            var inserter = NotificationInserter(
                sequence: SequenceGenerator(clock: SystemClock(), node: 2), clock: SystemClock())
            while !taken.read({ $0.isEnd }) {
                let number = taken.read { $0.count } + 100
                guard try inserter.insert([try RetentionFixture.notification(number)], on: connection) == [.accepted]
                else {
                    throw TestFailure("not accepted")
                }
                taken.change { $0.count += 1 }
            }
        }
        var attempts = 0
        try eventually("the endpoint took 100 beside 20 attempts to drop") {
            let outcome = try DayPartitions.notifications.drop(old, on: bench.connection)
            #expect(outcome == nil)
            attempts += 1
            return attempts >= 20 && taken.read { $0.count } >= 100
        }
        #expect(try reader.query("SELECT count(*) FROM entitled.notification").one().int(0) == 1)
        try reader.query("COMMIT")
        try eventually("the day goes beside the endpoint") {
            try DayPartitions.notifications.drop(old, on: bench.connection) == .dropped
        }
        let before = taken.read { $0.count }
        try eventually("the endpoint goes on") { taken.read { $0.count } > before }
        taken.change { $0.isEnd = true }
        try ingest.value()
        #expect(try DayPartitions.notifications.drop(old, on: bench.connection) == .absent)
    }

    @Test func `what is pending or held keeps its day`() throws {
        let bench = try RetentionFixture()
        try bench.receive(1, daysAgo: 500)
        _ = try DayPartitions.notifications.make(bench.today(500), on: bench.connection)
        #expect(try DayPartitions.notifications.drop(bench.today(500), on: bench.connection) == .pending)
        let pending = try bench.pending()
        try bench.connection.transaction {
            try HeldNotifications.hold(pending.map { ($0, "forged") }, now: bench.now, on: bench.connection)
            try PendingNotification.remove(pending, on: bench.connection)
        }
        #expect(try DayPartitions.notifications.drop(bench.today(500), on: bench.connection) == .held)
        try bench.connection.query("DELETE FROM entitled.held_notification")
        #expect(try DayPartitions.notifications.drop(bench.today(500), on: bench.connection) == .dropped)
    }

    @Test func `a notification put back in line while its day is dropped keeps it`() throws {
        let bench = try RetentionFixture()
        try bench.receiveAndApply(1, daysAgo: 500)
        let command = try bench.database.connect(role: "entitled_worker")
        try command.query("BEGIN")
        // As the command does it, before it commits.
        let seq = try command.query("SELECT lane, seq FROM entitled.notification").one()
        try command.query(
            "INSERT INTO entitled.pending (lane, seq) VALUES ($1, $2)",
            [.int2(Int16(clamping: try seq.int(0))), .int8(try seq.int(1))])
        #expect(try DayPartitions.notifications.drop(bench.today(500), on: bench.connection) == nil)
        try command.query("COMMIT")
        #expect(try DayPartitions.notifications.drop(bench.today(500), on: bench.connection) == .pending)
    }

    @Test func `what comes in line while the drop waits for its lock keeps the day, too`() throws {
        let bench = try RetentionFixture()
        try bench.receiveAndApply(1, daysAgo: 500)
        let (command, database) = (try bench.database.connect(role: "entitled_worker"), bench.database)
        let place = try bench.connection.query("SELECT lane, seq FROM entitled.notification").one()
        let parameters: [PostgresValue] = [.int2(Int16(clamping: try place.int(0))), .int8(try place.int(1))]
        let old = bench.today(500)
        try eventually("the drop gets its lock and finds what came meanwhile") {
            try command.query("BEGIN")
            try command.query("SELECT 1 FROM entitled.notification")
            try command.query("INSERT INTO entitled.pending (lane, seq) VALUES ($1, $2)", parameters)
            let drop = TestThread {
                try DayPartitions.notifications.drop(old, on: try database.connect(role: "entitled_worker"))
            }
            try eventually("it waits or has given up") {
                try drop.hasEnded
                    || database.count(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'
                        """) > 0
            }
            try command.query("COMMIT")
            let outcome = try drop.value()
            try command.query("DELETE FROM entitled.pending")
            if outcome == .dropped { throw TestFailure("dropped with a notification in line") }
            return outcome == .pending
        }
    }

    @Test func `days that are over are made beside the endpoint, and nothing that waits is missed`() throws {
        let bench = try RetentionFixture()
        for day in 1...30 as ClosedRange<Int64> { try bench.receive(Int(day), daysAgo: day) }
        let ingest = try bench.database.connect()
        try ingest.query("BEGIN")
        try ingest.query(
            """
            INSERT INTO entitled.notification VALUES ($1, 1, 1, 1, 0, 0, gen_random_uuid(), 'demo', 'x', 'TEST', NULL, NULL,
                '', '')
            """, [.int8(SequenceGenerator.least(at: bench.now))])
        let (database, isEnd) = (bench.database, Monitor(false))
        let reader = TestThread {
            let connection = try database.connect(role: "entitled_worker")
            var gaps = 0
            while !isEnd.read({ $0 }) {
                let found = try PendingNotification.read(from: Lane.all, eachAtMost: 99, atMost: 99, on: connection)
                gaps += found.filter { $0.gap != nil }.count
            }
            return gaps
        }
        for day in 1...30 as ClosedRange<Int64> {
            try eventually("the day is made") {
                try DayPartitions.notifications.make(bench.today(day), on: bench.connection) == .made
            }
        }
        isEnd.change { $0 = true }
        #expect(try reader.value() == 0)
        #expect(try bench.pending().count == 30)
    }

    // MARK: - Rights

    @Test(arguments: [
        "drop_day('notification', current_date - 179)", "drop_day('notification', current_date)",
        "drop_day('attempt', current_date - 6)", "drop_day('attempt', NULL)", "make_day('notification', NULL)",
        "make_day('notification', current_date + 33)", "make_day('attempt', '1999-01-01')",
        "make_day('event', current_date)", "drop_day('event', '2024-05-05')", "drop_day('fact', '2024-05-05')",
        "drop_day('notification; DROP TABLE entitled.fact', '2024-05-05')", "drop_day(NULL, '2024-05-05')",
    ])
    func `the functions refuse what is too young, too far and not theirs`(call: String) throws {
        let bench = try RetentionFixture()
        #expect(bench.state("SELECT entitled.\(call)", on: bench.connection) == "22023", "\(call)")
    }

    @Test func `nobody but the worker may call them, and the worker may do nothing else to a table`() throws {
        let bench = try RetentionFixture()
        let calls = [
            "SELECT entitled.make_day('notification', current_date + 8)",
            "SELECT entitled.drop_day('notification', '2024-05-05')",
            "SELECT entitled.day_start('notification', '2024-05-05')", "SELECT entitled.day_need(1, 2)",
        ]
        for role in ["entitled_ingest", "entitled_api"] {
            let connection = try bench.database.connect(role: role)
            for call in calls { #expect(bench.state(call, on: connection) == "42501", "\(role): \(call)") }
        }
        let partition = "entitled.notification_\(bench.today().text.replacing("-", with: ""))"
        for sql in calls.dropFirst(2) + [
            "DROP TABLE \(partition)", "ALTER TABLE entitled.notification DETACH PARTITION \(partition)",
            "TRUNCATE \(partition)", "SELECT * FROM \(partition)", "DROP FUNCTION entitled.drop_day",
            "CREATE TABLE entitled.mine (x int)",
        ] {
            #expect(bench.state(sql, on: bench.connection) == "42501", "\(sql)")
        }
    }

    @Test func `functions with the owner's rights look for names in one place, and belong to the owner`() throws {
        let bench = try RetentionFixture()
        let functions = try bench.database.texts(
            """
            SELECT proname || ' ' || pg_get_userbyid(proowner) || ' ' || array_to_string(proconfig, ' ')
            FROM pg_proc WHERE pronamespace = 'entitled'::regnamespace AND prosecdef ORDER BY 1
            """)
        #expect(
            functions
                == ["advance_actions", "drop_day", "hold_accounts", "hold_owners", "make_day"].map { name in
                    "\(name) entitled search_path=pg_catalog, pg_temp"
                        + (["drop_day", "make_day"].contains(name) ? " lock_timeout=50ms" : "")
                })
    }
}
