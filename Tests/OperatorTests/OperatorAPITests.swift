import Base
import Database
import HTTP
import Postgres
import TestSupport
import Testing

@testable import Operator

/// The operator API over HTTP, with a real Postgres as its own role.
struct OperatorAPITests {
    /// One for all tests, which change nothing that another looks at.
    private static let shared = Result { try OperatorFixture() }
    private let fixture: OperatorFixture

    init() throws { fixture = try Self.shared.get() }

    private static let paths: [(path: String, section: DeskSection)] = [
        ("/me", .me), ("/overview", .overview), ("/search?q=anna", .search), ("/customers", .customers),
        ("/customers/anna", .customers), ("/customers/anna/timeline", .customers),
        ("/customers/anna/events", .customers), ("/customers/anna/notes", .customers),
        ("/purchases?id=\(OperatorFixture.otid)", .purchases),
        ("/purchases/demo/Production/\(OperatorFixture.otid)", .purchases),
        ("/events", .events), ("/events/1", .events), ("/endpoints", .endpoints), ("/endpoints/ep_1", .endpoints),
        ("/deliveries", .deliveries), ("/deliveries/dlv_1", .deliveries), ("/notifications", .notifications),
        ("/notifications/demo/Production/1", .notifications), ("/outages", .outages), ("/outages/1", .outages),
        ("/refunds", .refunds),
        ("/products", .products), ("/jobs", .jobs), ("/jobs/1", .audit), ("/actions", .actions), ("/audit", .audit),
        ("/charts", .charts), ("/charts/active", .charts), ("/report?from=2026-01-01", .charts),
        ("/catalog/check", .products), ("/workers", .workers), ("/doctor", .doctor),
    ]

    @Test(arguments: OperatorRole.allCases)
    func `a key sees exactly the sections of its role`(role: OperatorRole) {
        #expect(Set(OperatorRoute.all.map(\.section)) == Set(Self.paths.map(\.section)))
        #expect(OperatorRoute.all.count == Self.paths.count)
        for (path, section) in Self.paths {
            let answer = fixture.get(path, as: role)
            let isSeen = section.roles.contains(role)
            #expect((answer.status == 403) == !isSeen, "\(path): \(answer.status) \(answer.text)")
            #expect([200, 403, 404].contains(answer.status), "\(path): \(answer.status) \(answer.text)")
            if !isSeen {
                #expect(fixture.code(answer) == "forbidden")
                #expect(answer.json["error"]?["needs"]?.arrayValue?.isEmpty == false)
                // Not even which parameters there are.
                #expect(fixture.get("\(path.prefix { $0 != "?" })?nonsense=1", as: role).status == 403)
            }
        }
    }

    @Test func `without a key of an operator nothing is answered`() throws {
        #expect(fixture.get("/me", as: nil).status == 401)
        #expect(fixture.get("/me", as: nil).header("WWW-Authenticate") == "Bearer")
        for key in ["op_", "op_unknown", "sk_secret", "", "op_" + String(repeating: "a", count: 5000)] {
            #expect(fixture.call("GET", "/operator/v1/me", key: key).status == 401, "\(key)")
        }
        let page = fixture.get("/me", headers: ["Origin": "https://example.com"])
        #expect(page.status == 403)
        #expect(page.header("access-control-allow-origin") == nil)
        #expect(fixture.call("POST", "/operator/v1/me", key: fixture.keys["operator"]).status == 405)
        #expect(fixture.get("/nothing").status == 404)
        #expect(fixture.call("GET", "/operator", key: nil).status == 404)
        #expect(fixture.call("GET", "/console", key: nil).status == 404)
        #expect(fixture.call("GET", "/operator/v1/openapi.yaml", key: nil).text.hasPrefix("openapi"))
        #expect(fixture.call("GET", "/healthz", key: nil).status == 200)
        try eventually("the console is ready") { fixture.call("GET", "/readyz", key: nil).status == 200 }
    }

    @Test func `a key ends at its time, by hand, with its user and with the role`() throws {
        let worker = try fixture.database.connect(role: "entitled_worker")
        func key(_ role: OperatorRole, until: Int64? = nil) throws -> (id: String, key: String) {
            let made = try #require(
                try OperatorKeyTable.create(for: "carl", role, until: until, now: 1, on: worker))
            return (made.id, made.key.exposed)
        }
        func status(_ key: String) -> Int { fixture.call("GET", "/operator/v1/me", key: key).status }
        #expect(try ConsoleUserTable.add("carl", .operator, now: 1, on: worker) == .added)
        #expect(try ConsoleUserTable.add("carl", .read, now: 1, on: worker) == .exists(.operator))
        let (past, whole, lower) = (
            try key(.operator, until: OperatorFixture.now), try key(.operator), try key(.read)
        )
        #expect(status(past.key) == 401)
        #expect(status(whole.key) == 200)
        #expect(fixture.call("GET", "/operator/v1/me", key: lower.key).json["role"] == .string("read"))
        #expect(try OperatorKeyTable.list(of: "carl", on: worker).first { $0.id == whole.id }?.lastUsed != nil)
        #expect(try OperatorKeyTable.revoke(whole.id, now: 2, on: worker) == true)
        #expect(status(whole.key) == 401)
        try fixture.database.execute("UPDATE entitled.console_user SET role = 'support' WHERE name = 'carl'")
        #expect(status(lower.key) == 401)
        try fixture.database.execute("UPDATE entitled.console_user SET role = 'read' WHERE name = 'carl'")
        #expect(status(lower.key) == 200)
        #expect(try ConsoleUserTable.remove("carl", now: 3, on: worker))
        #expect(status(lower.key) == 401)
        #expect(try ConsoleUserTable.add("carl", .read, now: 4, on: worker) == .added)
        #expect(status(lower.key) == 401)
    }

    @Test func `the role of the database reads no secret and writes nothing but when a key was used`() throws {
        let console = try fixture.database.connect(role: "entitled_console")
        for sql in [
            "SELECT hash FROM entitled.api_key", "SELECT sealed FROM entitled.endpoint_secret",
            "SELECT authorization_sealed FROM entitled.endpoint", "SELECT headers_sealed FROM entitled.endpoint",
            "SELECT FROM entitled.owner_salt", "SELECT FROM entitled.deletion_salt",
            "SELECT fingerprint FROM entitled.sealing_key",
            "INSERT INTO entitled.console_user (name, role, created_ms) VALUES ('eve', 'operator', 1)",
            "UPDATE entitled.console_user SET role = 'operator'", "UPDATE entitled.operator_key SET role = 'operator'",
            "INSERT INTO entitled.operator_key (id, user_name, role, hint, hash, created_ms) VALUES ('a','b','c','d','',1)",
            "DELETE FROM entitled.event", "INSERT INTO entitled.action (kind) VALUES ('grant')",
            "INSERT INTO entitled.job (kind) VALUES ('x')", "UPDATE entitled.purchase SET owner = 'eve'",
        ] {
            #expect(throws: PostgresError.self, "\(sql)") { try console.query(sql) }
        }
        _ = try console.query("SELECT id, kind, hint FROM entitled.api_key")
        _ = try console.query("UPDATE entitled.operator_key SET last_used_ms = 1 WHERE id = 'none'")
        for (role, table) in [("entitled_api", "console_user"), ("entitled_ingest", "operator_key")] {
            let connection = try fixture.database.connect(role: role)
            #expect(throws: PostgresError.self) { try connection.query("SELECT FROM entitled.\(table)") }
        }
    }

    @Test func `answers are unchanged until something changes`() throws {
        let first = fixture.get("/customers/anna")
        let tag = try #require(first.header("ETag"))
        #expect(first.status == 200)
        let again = fixture.get("/customers/anna", headers: ["If-None-Match": "W/\"other\", \(tag)"])
        #expect(again.status == 304)
        #expect(again.body.isEmpty)
        #expect(fixture.get("/customers/anna", as: .support, headers: ["If-None-Match": tag]).status == 200)
    }

    @Test func `customers are found by every id, and persons are hidden by role`() throws {
        func email(_ role: OperatorRole) -> String? {
            fixture.get("/customers/anna", as: role).json["attributes"]?.arrayValue?.first?["value"]?.stringValue
        }
        #expect(email(.operator) == "annabel@example.com")
        #expect(email(.support) == "an••••@example.com")
        #expect(fixture.get("/customers/anna", as: .read).status == 403)
        for path in ["/events?customer=anna", "/deliveries?customer=anna", "/purchases?customer=anna"] {
            #expect(fixture.get(path, as: .read).status == 403, "\(path)")
        }
        let purchase = fixture.get("/purchases?id=\(OperatorFixture.otid)", as: .read)
        #expect(purchase.status == 200 && !purchase.text.contains("anna"))
        for (text, matched) in [
            ("anna", "user id"), ("ANNA@HOME", "user id, differs in case only"), (OperatorFixture.otid, "transaction"),
        ] {
            let hit = fixture.get("/search?q=\(text)").json["items"]?.arrayValue?.first
            #expect(hit?["id"] == .string("anna"), "\(text)")
            #expect(hit?["matched"] == .string(matched))
        }
        #expect(fixture.get("/search?q=nobody").json["items"] == .array([]))
        #expect(fixture.get("/search?q=anna", as: .integrator).json["items"] == .array([]))
        for path in ["/events?customer=ANNA@HOM", "/deliveries?customer=Anna"] {
            #expect(!fixture.get(path, as: .integrator).text.contains("anna"))
        }
        let missing = fixture.get("/customers/ghost")
        #expect(missing.status == 404)
        #expect(missing.json["error"]?["message"] == .string("No customer has the id ghost."))
        #expect(missing.json["error"]?["request_id"]?.stringValue == missing.header("X-Request-Id"))
    }

    @Test func `events lead to deliveries, and both are found by their ids`() throws {
        let event = try #require(
            fixture.get("/events?purchase=\(OperatorFixture.otid)").json["items"]?.arrayValue?.first)
        let id = try #require(event["id"]?.stringValue)
        let delivery = try #require(fixture.get("/events/\(id)").json["deliveries"]?.arrayValue?.first)
        let name = try #require(delivery["id"]?.stringValue)
        #expect(fixture.get("/deliveries/\(name)", as: .integrator).json["attempt_history"] == .array([]))
        #expect(fixture.get("/search?q=\(name)").json["items"]?.arrayValue?.first?["kind"] == .string("delivery"))
        #expect(fixture.get("/search?q=\(id)", as: .integrator).json["items"]?.arrayValue?.first?["id"] == .string(id))
        #expect(fixture.get("/deliveries?customer=anna&endpoint=ep_1").json["items"]?.arrayValue?.count == 3)
        #expect(fixture.get("/deliveries?state=delivered&status=5xx").json["items"] == .array([]))
    }

    @Test func `the URL of an endpoint is shown without what may be secret in it`() {
        for path in ["/endpoints", "/endpoints/ep_1"] {
            let text = fixture.get(path).text
            #expect(text.contains("https://consumer.example.com/hook"))
            #expect(!text.contains("hidden") && !text.contains("word@"))
        }
    }

    @Test func `pages follow one another without gaps, and cursors of others are refused`() throws {
        var seen: [String] = []
        var after = ""
        for _ in 0..<5 {
            let page = fixture.get("/events?limit=1&customer=anna\(after)").json
            seen += (page["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
            guard let next = page["next"]?.stringValue else { break }
            after = "&after=\(next)"
        }
        #expect(seen.count == 3)
        #expect(Set(seen).count == 3)
        for path in [
            "/events?limit=1&type=RENEWAL\(after)", "/deliveries?customer=anna\(after)", "/customers?\(after)",
        ] {
            let answer = fixture.get(path)
            #expect(answer.status == 400)
            #expect(fixture.code(answer) == "cursor_of_other_filters")
        }
    }

    /// Positions at the edges of what a cursor can hold.
    @Test func `no cursor and no parameter from outside ends in an internal error`() throws {
        let lists = [
            "customers", "customers/anna/timeline", "customers/anna/events", "purchases", "purchases?customer=anna",
            "events",
            "deliveries", "notifications", "refunds", "jobs", "actions",
        ]
        for list in lists {
            let path = list.prefix { $0 != "?" }
            let route = try #require(
                OperatorRoute.all.first { $0.path == "/operator/v1/\(path.replacing("anna", with: "{id}"))" })
            let name = route.path + (list.hasPrefix("customers/") ? " anna" : "")
            let filters = list.contains("?") ? "operator \(name) customer=4:anna" : "operator \(name)"
            for order in [Int64.min, -1, 0, OperatorFixture.now, 3_903_882_455_552, Int64.max - 1, Int64.max] {
                for lane in [Int16.min, 0, .max] {
                    let cursor = ListCursor(order: order, lane: lane, id: [UInt8](repeating: 0xff, count: 16))
                    let separator = list.contains("?") ? "&" : "?"
                    let answer = fixture.get("/\(list)\(separator)after=\(cursor.text(filters: filters))")
                    #expect(answer.status == 200, "\(list) \(order) \(lane): \(answer.text)")
                }
            }
            let separator = list.contains("?") ? "&" : "?"
            for query in ["after=%00", "limit=0", "limit=9999999999999999999", "nonsense=1", "after=\u{0}"] {
                #expect(fixture.get("/\(list)\(separator)\(query)").status == 400, "\(list) \(query)")
            }
        }
        for path in [
            "/events?since=0001-01-01&until=9999-12-31", "/notifications?since=9999-12-31",
            "/notifications?until=2093-09-06T15:47:35.552Z",
            "/deliveries?since=99999999d",
            "/customers/%ff", "/customers/%00", "/customers/a%2Fb", "/events/dlv_00", "/deliveries/dlv_zz", "/jobs/x",
            "/jobs/99999999999999999999", "/notifications/demo/Nowhere/1", "/search?q=%F0%9F%92%A9",
            "/customers/" + String(repeating: "a", count: 3000),
        ] {
            let answer = fixture.get(path)
            #expect((200..<500).contains(answer.status), "\(path): \(answer.status) \(answer.text)")
        }
        #expect(!fixture.log.text.contains("operator request failed"))
    }
}

/// Customers with more than most have.
struct OperatorScaleTests {
    @Test func `a customer with 100,000 events is answered quickly, page after page`() throws {
        let fixture = try OperatorFixture(events: 100_000)
        try fixture.database.execute("ANALYZE entitled.event")
        _ = fixture.get("/customers/anna/events")
        let clock = ContinuousClock()
        for path in [
            "/customers/anna", "/customers/anna/timeline", "/customers/anna/events?limit=100",
            "/events?customer=anna&type=EXPIRATION", "/events?type=EXPIRATION", "/deliveries?customer=anna",
        ] {
            var status = 0
            let time = clock.measure { status = fixture.get(path).status }
            #expect(status == 200, "\(path)")
            #expect(time < .seconds(2), "\(path) took \(time)")
        }
        let page = fixture.get("/customers/anna/events?limit=100").json
        let next = try #require(page["next"]?.stringValue)
        let second = fixture.get("/customers/anna/events?limit=100&after=\(next)").json
        #expect(second["items"]?.arrayValue?.count == 100)
        #expect(second["items"]?.arrayValue?.first != page["items"]?.arrayValue?.last)
    }

    @Test func `a database that went back is among the findings, with how far Apple's history is scanned`() throws {
        let fixture = try OperatorFixture()
        func findings() -> [String] {
            let items = fixture.get("/doctor", as: .operator).json["items"]?.arrayValue ?? []
            return items.filter { $0["name"]?.stringValue == "work.return" }.compactMap { $0["text"]?.stringValue }
        }
        #expect(findings() == [])
        try fixture.database.execute("DELETE FROM entitled.history_look")
        try fixture.database.execute(
            "UPDATE entitled.database_position SET returned_ms = 1793491200000, reason = 'number', lost = 3")
        let start =
            "The database went back to an earlier state; noticed at 2026-11-01T00:00:00Z, and Apple's history is "
        #expect(findings() == [start + "being scanned."])
        try fixture.database.execute(
            """
            INSERT INTO entitled.history_look (app, environment, whole_ms, error, cursor, found, missed) VALUES
                ('a', 0, 1793491200000, NULL, '{}', 0, 0), ('b', 0, 1793491199999, NULL, '{returned,everything,0}', 7, 2),
                ('c', 0, NULL, 'Apple did not answer', '{}', 0, 0), ('d', 0, NULL, NULL, '{}', 0, 0)
            """)
        #expect(
            findings() == [
                start
                    + "being scanned (a Production: done; b Production: 7 notifications read, 2 of them missing here; "
                    + "c Production: failed, and is tried again: Apple did not answer; d Production: waits)."
            ])
        let overview = fixture.get("/overview", as: .operator).json["findings"]?.arrayValue ?? []
        #expect(overview.contains { $0["name"]?.stringValue == "work.return" })
    }

    /// As `doctor` warns: two hours before, and not about apps that answer nothing.
    @Test(
        arguments: [
            (["demo"], 119, 1), (["demo"], 121, 0), (["other"], 119, 0), ([], 119, 0),
        ] as [(Set<String>, Int64, Int)])
    func `an answer that Apple waits for is among the findings when its time is nearly over`(
        apps: Set<String>, minutes: Int64, found: Int
    ) throws {
        let fixture = try OperatorFixture(refundApps: apps)
        try fixture.database.execute(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id,
                product_id, reasons, repeats, asked_ms, deadline_ms)
            VALUES (1, 'demo', 0, '7', '7', 'monthly', '{}', 0, 1, $1)
            """, [.int8(OperatorFixture.now + minutes * 60_000)])
        let items = fixture.get("/doctor", as: .operator).json["items"]?.arrayValue ?? []
        let levels = items.filter { $0["name"]?.stringValue == "work.refunds" }.map { $0["level"]?.stringValue }
        #expect(levels == Array(repeating: "warning", count: found))
    }

    @Test func `hosts whose configurations differ are shown with the workers, and among the findings`() throws {
        let fixture = try OperatorFixture()
        func differing() -> [Bool?] {
            let processes = fixture.get("/workers", as: .operator).json["processes"]?.arrayValue ?? []
            return processes.map { $0["differs"]?.boolValue }
        }
        func findings() -> [String] {
            let items = fixture.get("/doctor", as: .operator).json["items"]?.arrayValue ?? []
            return items.filter { $0["name"]?.stringValue == "work.configuration" }.map {
                $0["text"]?.stringValue ?? ""
            }
        }
        func add(_ host: String, _ version: String, _ configuration: Int64) throws {
            try fixture.database.execute(
                """
                INSERT INTO entitled.process (id, role, host, version, started_ms, configuration)
                VALUES (gen_random_uuid(), 'api', $1, $2, 0, $3)
                """, [.text(host), .text(version), .int8(configuration)])
        }
        try fixture.database.execute("DELETE FROM entitled.worker")
        try add("a", "1", 7)
        try add("b", "1", 7)
        try add("c", "2", 9)
        #expect(differing() == [false, false, false])
        #expect(findings() == [])
        try fixture.database.execute(
            "INSERT INTO entitled.worker (id, host, seen_at) VALUES (gen_random_uuid(), 'e', clock_timestamp())")
        try add("d", "1", 8)
        #expect(differing() == [true, true, false, true, nil])
        #expect(
            findings() == [
                "Processes use different configurations: 000000000007 on a, b; 000000000008 on d."
            ])
    }
}
