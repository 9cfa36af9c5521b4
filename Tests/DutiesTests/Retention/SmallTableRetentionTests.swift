import Base
import Daemon
import Duties
import Postgres
import TestSupport
import Testing

/// Rows that people and processes make one at a time go, too, once nothing needs them.
struct SmallTableRetentionTests {
    private static let day = RetentionFixture.day

    private func job(_ words: String, _ state: String, daysAgo: Int64, in bench: RetentionFixture) throws {
        let ended = bench.now - daysAgo * Self.day
        _ = try bench.owner.query(
            """
            INSERT INTO entitled.job (kind, request, parameters, state, made_by, created_ms, updated_ms, finished_ms)
            VALUES ('webhooks', $1, '{}', $2, 'a test', $3, $3, CASE WHEN $2 <> 'running' THEN $3 END)
            """, [.text(words), .text(state), .int8(ended)])
    }

    @Test func `jobs that are over go after their time, and those that may go on stay`() throws {
        let bench = try RetentionFixture()
        for state in ["done", "cancelled", "failed", "running"] {
            try job("old \(state)", state, daysAgo: 91, in: bench)
            try job("young \(state)", state, daysAgo: 89, in: bench)
        }
        // Without the second the first would be the last of its request, and go on when it is asked for again.
        try job("twice", "failed", daysAgo: 120, in: bench)
        try job("twice", "done", daysAgo: 100, in: bench)
        try bench.runRetention()
        #expect(
            try bench.database.texts("SELECT request FROM entitled.job ORDER BY id") == [
                "young done", "young cancelled", "old failed", "young failed", "old running", "young running", "twice",
                "twice",
            ])
        #expect(bench.metrics.exposition().contains(#"entitled_retention_rows_cleaned_total{table="job"} 2"#))
    }

    @Test func `changes of operators go whether they failed or not, and the audit after its own time`() throws {
        let bench = try RetentionFixture(audit: 300)
        for (state, age) in [("done", 91), ("failed", 91), ("failed", 89), ("running", 91)] as [(String, Int64)] {
            try job("\(state) \(age)", state, daysAgo: age, in: bench)
        }
        _ = try bench.owner.query("UPDATE entitled.job SET kind = 'grant'")
        for age: Int64 in [299, 301] {
            _ = try bench.owner.query(
                """
                INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES ($1, 'ben', 'grant', $2, 'done')
                """, [.int8(bench.now - age * Self.day), .text("\(age)")])
        }
        try bench.runRetention()
        #expect(
            try bench.database.texts("SELECT request FROM entitled.job ORDER BY id") == ["failed 89", "running 91"])
        #expect(try bench.database.texts("SELECT target FROM entitled.audit") == ["299"])
    }

    @Test func `the audit forgets the number of an order with the job that says of whom it is`() throws {
        let bench = try RetentionFixture(audit: 300)
        for age: Int64 in [91, 89] { try job("looked up \(age)", "done", daysAgo: age, in: bench) }
        try bench.database.execute("UPDATE entitled.job SET kind = 'order_lookup', target = 'MK5TTTVWJH'")
        try bench.database.execute(
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, reason, outcome, job)
            SELECT finished_ms, 'ben', kind, target, 'about ' || target, 'done', id FROM entitled.job
            """)
        try bench.runRetention()
        #expect(try bench.database.texts("SELECT request FROM entitled.job") == ["looked up 89"])
        let audit = try bench.database.texts("SELECT target || ' ' || reason FROM entitled.audit ORDER BY at_ms")
        #expect(audit.count == 2 && audit.last == "MK5TTTVWJH about MK5TTTVWJH", "\(audit)")
        let parts = audit[0].split(separator: " ")
        #expect(parts.first == parts.last && parts[0].hasPrefix("$RCAnonymousID:"), "\(audit)")
    }

    @Test func `what the console leaves behind is looked for once a day`() throws {
        let bench = try RetentionFixture(audit: 300)
        try bench.runRetention()
        _ = try bench.owner.query(
            "INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'ben', 'grant', '', 'done')")
        while try bench.runOnce() {}
        #expect(try bench.database.count("SELECT count(*) FROM entitled.audit") == 1)
        try bench.runRetention()
        #expect(try bench.database.count("SELECT count(*) FROM entitled.audit") == 0)
    }

    /// The next table would be cancelled as well, and keep the process from its end.
    @Test(arguments: [true, false])
    func `a run that is cancelled at the end of the process ends`(isDraining: Bool) throws {
        let bench = try RetentionFixture()
        try bench.database.execute("INSERT INTO entitled.sender (worker, host) VALUES (gen_random_uuid(), 'a')")
        // The first of the small tables fails.
        try bench.database.execute("REVOKE SELECT ON entitled.job FROM entitled_worker")
        #expect(throws: PostgresError.self) { _ = try bench.runOnce(isDraining: { isDraining }) }
        let noted = try bench.database.count("SELECT count(*) FROM entitled.sender WHERE gone_ms IS NOT NULL")
        #expect(noted == (isDraining ? 0 : 1))
    }

    private static let tables = ["notification_key", "event", "customer", "job", "rebuild", "audit", "console_try"]

    @Test(arguments: tables)
    func `a table that cannot be cleaned keeps nothing from the others`(failing: String) throws {
        let bench = try RetentionFixture(emptyCustomers: 90, audit: 300)
        try job("old", "done", daysAgo: 500, in: bench)
        try bench.owner.execute(
            script: """
                INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms, last_seen_ms)
                    VALUES ('ada', 'ada', 1, 1);
                INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ('ada', 1);
                INSERT INTO entitled.rebuild (started_ms, finished_ms, settings) VALUES (1, 1, 'old');
                INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'ben', 'grant', '', 'done');
                INSERT INTO entitled.console_try (subject, at_ms, is_failure) VALUES ('', 1, true);
                REVOKE ALL ON entitled.\(failing) FROM entitled_worker;
                """)
        bench.hurry()
        #expect(throws: PostgresError.self) { _ = try bench.runOnce() }
        for table in Self.tables where !["notification_key", "event"].contains(table) {
            let count = try bench.database.count("SELECT count(*) FROM entitled.\(table)")
            #expect(count == (table == failing ? 1 : 0), "\(table)")
        }
    }

    @Test func `rebuilds go after their time, whether they came to an end or not`() throws {
        let bench = try RetentionFixture()
        func rebuild(_ name: String, startedDaysAgo started: Int64, finishedDaysAgo finished: Int64?) throws {
            _ = try bench.owner.query(
                "INSERT INTO entitled.rebuild (started_ms, finished_ms, settings) VALUES ($1, $2, $3)",
                [
                    .int8(bench.now - started * Self.day), .int8(finished.map { bench.now - $0 * Self.day }),
                    .text(name),
                ])
        }
        try rebuild("old", startedDaysAgo: 100, finishedDaysAgo: 91)
        try rebuild("stopped", startedDaysAgo: 91, finishedDaysAgo: nil)
        try rebuild("long", startedDaysAgo: 100, finishedDaysAgo: 89)
        try rebuild("going", startedDaysAgo: 0, finishedDaysAgo: nil)
        try bench.runRetention()
        #expect(try bench.database.texts("SELECT settings FROM entitled.rebuild ORDER BY 1") == ["going", "long"])
    }

    @Test func `a sender goes when no worker has its id for as long as attempts are kept`() throws {
        let bench = try RetentionFixture(attempts: 90)
        _ = try bench.owner.query(
            """
            INSERT INTO entitled.sender (worker, host, gone_ms)
            SELECT ('00000000-0000-4000-8000-00000000000' || i)::uuid, 'host ' || i, CASE i
                WHEN 1 THEN $1 - 93 * $2 WHEN 2 THEN $1 - 91 * $2 WHEN 3 THEN $1 - 93 * $2 END
            FROM generate_series(1, 5) i
            """, [.int8(bench.now), .int8(Self.day)])
        // The third worker came back after it stood still, the fourth never left.
        _ = try bench.owner.query(
            """
            INSERT INTO entitled.worker (id, host, seen_at)
            SELECT worker, host, clock_timestamp() FROM entitled.sender WHERE host IN ('host 3', 'host 4')
            """)
        try bench.runRetention()
        #expect(
            try bench.database.texts(
                """
                SELECT host || CASE WHEN gone_ms IS NULL THEN ' works' WHEN gone_ms >= \(bench.now) THEN ' gone now'
                    ELSE ' gone' END FROM entitled.sender ORDER BY host
                """) == ["host 2 gone", "host 3 works", "host 4 works", "host 5 gone now"])
    }

    @Test func `a host whose clock is behind notes no sender as gone before its attempts`() throws {
        let bench = try RetentionFixture(attempts: 90, behind: 200)
        try bench.database.execute("INSERT INTO entitled.sender (worker, host) VALUES (gen_random_uuid(), 'a')")
        try bench.runRetention()
        #expect(try bench.database.count("SELECT count(*) FROM entitled.sender WHERE gone_ms >= \(bench.now)") == 1)
    }

    @Test func `senders stay where the schema does not say since when they are gone`() throws {
        let bench = try RetentionFixture()
        try bench.database.execute("INSERT INTO entitled.sender (worker, host) VALUES (gen_random_uuid(), 'a')")
        try bench.database.execute("ALTER TABLE entitled.sender DROP COLUMN gone_ms")
        try bench.runRetention()
        #expect(try bench.database.count("SELECT count(*) FROM entitled.sender") == 1)
        let forecast = try RetentionForecast.make(bench.times, now: bench.now, on: bench.connection)
        #expect(forecast.entries.first { $0.table == "sender" }?.rows == 0)
    }

    @Test func `a removed endpoint goes when its last delivery is gone, and never the one for operators`() throws {
        let bench = try RetentionFixture(events: 400)
        func endpoint(_ id: String, removedDaysAgo: Int64?, createdDaysAgo: Int64 = 600) throws {
            _ = try bench.owner.query(
                """
                INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms, removed_ms)
                VALUES ($1, 'https://example.com', '{}', '{}', '{}', $3, $2)
                """,
                [
                    .text(id), .int8(removedDaysAgo.map { bench.now - $0 * Self.day }),
                    .int8(bench.now - createdDaysAgo * Self.day),
                ])
        }
        for (id, days) in [("old", 500), ("referred", 500), ("young", 401), ("there", nil), ("we_operations", 500)] {
            try endpoint(id, removedDaysAgo: days.map { Int64($0) })
        }
        // Removed on a host whose clock was behind.
        try endpoint("set back", removedDaysAgo: 500, createdDaysAgo: 30)
        _ = try bench.owner.query(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
            VALUES (7, gen_random_uuid(), 'referred', gen_random_uuid(), 'RENEWAL', 2, $1, $1)
            """, [.int8(bench.now - 501 * Self.day)])
        try bench.runRetention()
        let left = { try bench.database.texts("SELECT id FROM entitled.endpoint ORDER BY id") }
        #expect(try left() == ["referred", "set back", "there", "we_operations", "young"])
        try bench.database.execute("DELETE FROM entitled.delivery")
        try bench.runRetention()
        #expect(try left() == ["set back", "there", "we_operations", "young"])
    }
}
