import Base
import Database
import Postgres
import TestSupport
import Testing

@testable import Operator

/// Customers by attributes, latencies, lanes that wait, and looks that end.
struct OperatorFindingTests {
    private let fixture: OperatorFixture

    init() throws { fixture = try OperatorFixture() }

    private func hits(_ text: String, as role: OperatorRole = .operator) -> [JSON] {
        fixture.get("/search?q=\(PercentEncoding.encode(text))", as: role).json["items"]?.arrayValue ?? []
    }

    @Test func `customers are found by the whole value of an attribute, by those who see customers`() throws {
        for text in ["annabel@example.com", " ANNABEL@Example.com", "$email=annabel@example.com"] {
            for role in [OperatorRole.operator, .support] {
                let found = hits(text, as: role)
                #expect(found.map { $0["id"] } == [.string("anna")], "\(text) \(role)")
                #expect(found.first?["matched"] == .string("attribute, as the app says: $email"))
                // What was searched is known; nothing else is told.
                #expect(!fixture.get("/search?q=annabel%40example.com", as: role).text.contains("annabel"))
            }
            for role in [OperatorRole.integrator, .read] { #expect(hits(text, as: role).isEmpty, "\(text) \(role)") }
        }
        #expect(fixture.get("/search?q=annabel%40example.com", as: .finance).status == 403)
        for text in ["annabel", "annabel@example.co", "$displayName=annabel@example.com", "%", "annabel@example.com%"] {
            #expect(hits(text).isEmpty, "\(text)")
        }
        try fixture.database.execute(
            """
            INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
            VALUES ('Anna@home', '$phoneNumber', '+43 1 23', 1), ('ben', '$email', 'Annabel@example.com', 1), ('ben', 'x', NULL, 1)
            """)
        #expect(hits("annabel@example.com").map { $0["id"] } == [.string("anna"), .string("ben")])
        #expect(hits("+43 1 23").map { $0["id"] } == [.string("anna")])
        // A role that sees values masked does not learn them by guesses.
        try fixture.database.execute(
            """
            INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms) VALUES ('ben', 'pin', '4711', 1)
            """)
        for text in ["4711", "pin=4711"] {
            #expect(hits(text).map { $0["id"] } == [.string("ben")])
            #expect(hits(text, as: .support).isEmpty)
        }
        // What another id of the customer had before is not what the customer has.
        try fixture.database.execute(
            """
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ('ben2', 'ben', 1)
            """)
        try fixture.database.execute(
            """
            INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms) VALUES ('ben2', 'pin', '4712', 2)
            """)
        #expect(hits("4711").isEmpty)
        #expect(hits("4712").map { $0["id"] } == [.string("ben")])
        // Without the index, as in a schema whose step is not done.
        try fixture.database.execute("DROP INDEX entitled.customer_attribute_value")
        #expect(hits("annabel@example.com").isEmpty)
        #expect(hits("anna").count == 1)
    }

    @Test func `an endpoint's page has how long its newest deliveries took`() throws {
        #expect(fixture.get("/endpoints/ep_1").json["latency"] == .null)
        try fixture.database.execute(
            """
            INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, outcome)
            SELECT lane, id, 1, created_ms + 1000, (ARRAY[20, 10, 300])[row_number() OVER (ORDER BY created_ms)], 'delivered'
            FROM entitled.delivery
            """)
        // One that failed before counts for the time until arrival alone.
        try fixture.database.execute(
            """
            INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, outcome)
            SELECT lane, id, 0, created_ms + 1, 9000, 'timeout' FROM entitled.delivery
            """)
        let latency = try #require(fixture.get("/endpoints/ep_1").json["latency"])
        #expect(latency["deliveries"] == .int(3))
        #expect(latency["answered"] == .object(["p50_ms": .int(20), "p95_ms": .int(300)]))
        #expect(latency["delivered"] == .object(["p50_ms": .int(1020), "p95_ms": .int(1300)]))
        // The list has the same of each endpoint: what another one got counts for that one alone.
        try fixture.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            SELECT id, 'https://example.com/' || id, '{}', '{}', '{}', $1 FROM unnest(ARRAY['ep_slow', 'ep_new']) id
            """, [.int8(OperatorFixture.now)])
        try fixture.database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
            SELECT 7, md5(n::text)::uuid, 'ep_slow', md5(n::text)::uuid, 'RENEWAL', 1, $1, $1 - n FROM generate_series(1, 40) n
            """, [.int8(OperatorFixture.now)])
        try fixture.database.execute(
            """
            INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, outcome)
            SELECT lane, id, 1, created_ms, 5000, 'delivered' FROM entitled.delivery WHERE endpoint = 'ep_slow'
            """)
        let listed = fixture.get("/endpoints").json["items"]?.arrayValue ?? []
        let latencies = Dictionary(
            uniqueKeysWithValues: listed.map { ($0["id"]?.stringValue ?? "", $0["latency"] ?? .null) })
        #expect(latencies["ep_1"] == latency)
        #expect(latencies["ep_slow"] == fixture.get("/endpoints/ep_slow").json["latency"])
        #expect(latencies["ep_slow"]?["answered"] == .object(["p50_ms": .int(5000), "p95_ms": .int(5000)]))
        #expect(latencies["ep_new"] == .null)
        try fixture.database.execute("UPDATE entitled.delivery SET state = 2")
        #expect(fixture.get("/endpoints/ep_1").json["latency"] == .null)
        #expect(fixture.get("/endpoints").json["items"]?.arrayValue?.allSatisfy { $0["latency"] == .null } == true)
        try fixture.database.execute("UPDATE entitled.delivery SET state = 1")
        fixture.clock.advance(by: .seconds(86_401))
        #expect(fixture.get("/endpoints/ep_1").json["latency"] == .null)
    }

    @Test func `the overview has the lanes in which notifications wait, those with the most first`() throws {
        let seq = SequenceGenerator.least(at: OperatorFixture.now - 5000)
        try fixture.database.execute(
            """
            INSERT INTO entitled.pending (lane, seq)
            SELECT 3, $1 + n FROM generate_series(1, 500) n UNION ALL SELECT 9, $1 - n FROM generate_series(1, 2) n
            """, [.int8(seq)])
        let notifications = try #require(fixture.get("/overview").json["notifications"])
        #expect(notifications["pending"] == .object(["is_capped": .bool(true), "value": .int(402)]))
        let lanes = notifications["lanes"]?.arrayValue ?? []
        #expect(lanes.map { $0["lane"] } == [.int(3), .int(9)])
        #expect(lanes.last?["pending"] == .object(["is_capped": .bool(false), "value": .int(2)]))
        #expect(lanes.last?["oldest_at"] == notifications["oldest_pending_at"])
        try fixture.database.execute("DELETE FROM entitled.pending")
        let none = try #require(fixture.get("/overview").json["notifications"])
        #expect(none["lanes"] == .array([]) && none["oldest_pending_at"] == .null)
    }

    @Test(arguments: ["audit?actor=ben", "jobs?state=failed"])
    func `a list that no index has looks at so many rows, says how far, and goes on there`(list: String) throws {
        try fixture.database.execute(
            list.hasPrefix("audit")
                ? """
                INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome)
                SELECT n, CASE n WHEN 1 THEN 'ben' ELSE 'anna' END, 'resend', n::text, 'done'
                FROM generate_series(1, 200500) n
                """
                : """
                INSERT INTO entitled.job (kind, request, parameters, state, made_by, created_ms, updated_ms)
                SELECT 'replay', n::text, '{}', CASE n WHEN 1 THEN 'failed' ELSE 'done' END, 'anna', n, n
                FROM generate_series(1, 200500) n
                """)
        let first = fixture.get("/\(list)").json
        #expect(first["items"] == .array([]))
        #expect(first["looked_back_to"] == .date(500))
        let next = try #require(first["next"]?.stringValue)
        let second = fixture.get("/\(list)&after=\(next)").json
        #expect(second["items"]?.arrayValue?.count == 1)
        #expect(second["next"] == .null && second["looked_back_to"] == .null)
    }

    @Test func `of the newest notifications only those are looked for that may be new`() {
        let memory = DeskMemory()
        let (one, two) = (
            AppScope(app: "one", environment: .production), AppScope(app: "two", environment: .sandbox)
        )
        var asked: [Int64] = []
        func newest(_ now: Int64, _ found: [AppScope: Int64]) -> [AppScope: Int64] {
            memory.newest(since: now - 100_000_000, now: now) { since in
                asked.append(since)
                return found
            }
        }
        let start = OperatorFixture.now
        #expect(newest(start, [one: start - 50]) == [one: start - 50])
        #expect(newest(start + 10, [two: start + 5]) == [one: start - 50, two: start + 5])
        // An older answer takes nothing back.
        #expect(newest(start + 20, [two: start - 500]) == [one: start - 50, two: start + 5])
        #expect(asked == [start - 100_000_000, start - 600_000, start + 10 - 600_000])
        #expect(newest(start + 100_000_000, [:]) == [two: start + 5])
        // A clock that was set back.
        #expect(newest(start - 1000, [:]) == [one: start - 50, two: start + 5])
        #expect(asked.last == start - 1000 - 100_000_000)
    }
}
