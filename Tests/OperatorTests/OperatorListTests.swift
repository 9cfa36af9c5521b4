import Base
import Crypto
import Database
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Lists that are counted, and told as CSV.
struct OperatorListTests {
    private let fixture: OperatorFixture

    init() throws { fixture = try OperatorFixture(events: 120) }

    private func count(_ path: String) -> JSON? { fixture.get(path).json["count"] }

    @Test func `rows are counted by their filters, whichever page is asked for`() throws {
        #expect(count("/events") == nil)
        let all = JSON.object(["is_capped": .bool(false), "value": .int(120)])
        let first = fixture.get("/events?count=true&limit=7").json
        #expect(first["count"] == all && first["items"]?.arrayValue?.count == 7)
        let next = try #require(first["next"]?.stringValue)
        #expect(count("/events?count=true&limit=7&after=\(next)") == all)
        // The cursor is that of the list without the count.
        #expect(fixture.get("/events?limit=7&after=\(next)").status == 200)
        #expect(count("/events?count=true&type=TRANSFER")?["value"] == .int(0))
        #expect(count("/customers/anna/events?count=true")?["value"] == .int(120))
        #expect(count("/deliveries?count=true&state=delivered")?["value"] == .int(3))
        #expect(fixture.get("/events?count=yes").status == 400)
        #expect(fixture.get("/products?count=true").status == 400)
    }

    @Test func `counting ends at 10,000 and says so`() throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome)
            SELECT 1, 'operator', 'resend', n::text, 'done' FROM generate_series(1, 10001) n
            """)
        let counted = try #require(count("/audit?count=true"))
        #expect(counted["is_capped"] == .bool(true))
        #expect(counted["value"] == .int(10_000))
        try fixture.database.execute("DELETE FROM entitled.audit WHERE target = '1'")
        #expect(count("/audit?count=true") == .object(["is_capped": .bool(false), "value": .int(10_000)]))
    }

    @Test func `a list is told as CSV, by its parameter or by the header`() throws {
        let csv = fixture.get("/events?format=csv&limit=2")
        #expect(csv.status == 200 && csv.header("content-type")?.hasPrefix("text/csv") == true)
        let lines = csv.text.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.count == 4 && lines.last == "", "\(csv.text)")
        #expect(lines[0] == "id,type,app,environment,original_transaction_id,sequence,created_at")
        #expect(lines[1].contains(",RENEWAL,demo,Production,\(OperatorFixture.otid),120,"))
        let link = try #require(csv.header("link"))
        let address = try #require(link.split(separator: ">").first?.dropFirst())
        #expect(link.hasSuffix("rel=\"next\""))
        let rest = fixture.call(
            "GET", String(address).replacing("limit=2", with: "limit=1000"), key: fixture.keys["operator"])
        #expect(
            rest.text.split(separator: "\r\n").count == 119 && rest.header("link") == nil, "\(rest.text.prefix(200))")
        let whole = fixture.get("/events", headers: ["Accept": "text/csv"])
        #expect(whole.text.split(separator: "\r\n").count == 121)
        #expect(whole.header("content-disposition") == "attachment; filename=\"events.csv\"")
        #expect(fixture.get("/events?format=json", headers: ["Accept": "text/csv"]).json["items"] != nil)
        let tag = try #require(whole.header("etag"))
        #expect(fixture.get("/events", headers: ["Accept": "text/csv", "If-None-Match": tag]).status == 304)
        #expect(fixture.get("/events?format=xml").status == 400)
        #expect(fixture.get("/events?format=csv&limit=10001").status == 400)
        #expect(fixture.get("/customers/anna", headers: ["Accept": "text/csv"]).json["customer"] != nil)
    }

    @Test func `cells that a spreadsheet would take for formulas are none, and commas and quotes are kept`() throws {
        let targets = ["=1+1", "+1", "-1", "@x", "\tx", "a,\"b\"", "plain"]
        for target in targets {
            try fixture.database.execute(
                """
                INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome, reason)
                VALUES (1, 'operator', 'resend', $1, 'done', $2)
                """, [.text(target), .text("two\r\nlines")])
        }
        let text = fixture.get("/audit?format=csv").text
        for cell in [
            ",'=1+1,", ",'+1,", ",'-1,", ",'@x,", ",\"'\tx\",", ",\"a,\"\"b\"\"\",", ",plain,", "\"two\r\nlines\"",
        ] {
            #expect(text.contains(cell), "\(cell) in \(text)")
        }
    }

    @Test func `CSV has for each role what its JSON has`() throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome, reason)
            VALUES (1, 'read', 'grant', 'anna', 'refused', 'anna asked')
            """)
        let hidden = fixture.get("/audit?format=csv", as: .read)
        #expect(
            hidden.status == 200 && hidden.text.contains("grant") && !hidden.text.contains("anna"), "\(hidden.text)")
        #expect(fixture.get("/customers?format=csv", as: .read).status == 403)
        #expect(fixture.get("/deliveries?format=csv&customer=anna", as: .read).status == 403)
        #expect(fixture.get("/customers?format=csv", as: .support).text.contains("Anna@home"))
    }

    @Test func `at most two tables are made at a time, so that other questions have threads`() throws {
        let other = try fixture.database.connect()
        _ = try other.query("BEGIN")
        _ = try other.query("LOCK TABLE entitled.event IN ACCESS EXCLUSIVE MODE")
        let callers = (0..<2).map { _ in TestThread { [fixture] in fixture.get("/events?format=csv") } }
        try eventually("two wait") {
            try fixture.database.count(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE wait_event_type = 'Lock' AND datname = current_database()
                """) == 2
        }
        let third = fixture.get("/customers?format=csv")
        #expect(third.status == 503 && fixture.code(third) == "unavailable", "\(third.text)")
        #expect(third.header("retry-after") != nil)
        #expect(fixture.get("/customers").status == 200)
        _ = try other.query("ROLLBACK")
        for caller in callers { #expect(try caller.value().status == 200) }
        #expect(fixture.get("/customers?format=csv").status == 200)
    }

    @Test func `no purchase is left out of a count or a table, however much their facts are together`() throws {
        let worker = try fixture.database.connect(role: "entitled_worker")
        let (count, now) = (60, OperatorFixture.now)
        for number in 0..<count {
            let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "3\(number)")
            var known = KnownFacts()
            known.facts.insert(
                TransactionFact(
                    transactionID: key.originalTransactionID, originalTransactionID: key.originalTransactionID,
                    productID: Hex.encode(SecureRandom.bytes(80_000)), purchaseDate: now - 1000,
                    originalPurchaseDate: now - 1000, expiresDate: now + 1000, signedDate: now - 1000,
                    kind: "Auto-Renewable Subscription", tie: []))
            known.rows = 100
            #expect(try PurchaseFoldTable.write([key: known], on: worker) == [:])
            try fixture.database.execute(
                """
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                    will_renew, version, updated_ms) VALUES ($1, 'demo', 0, $2, 'ben', 'p', false, 1, 1000)
                """, [.int2(key.lane.number), .text(key.originalTransactionID)])
        }
        #expect(self.count("/purchases?count=true&limit=1")?["value"] == .int(Int64(count)))
        let table = fixture.get("/purchases?format=csv")
        #expect(table.text.split(separator: "\r\n").count == count + 1)
        #expect(fixture.get("/purchases?limit=100").json["items"]?.arrayValue?.count == count)
        #expect(fixture.get("/purchases?limit=100&customer=ben").json["items"]?.arrayValue?.count == count)
    }

    @Test func `the audit has every file that leaves, and whose rows it has`() throws {
        let fixture = try OperatorFixture()
        #expect(fixture.get("/deliveries?state=delivered&format=csv").status == 200)
        #expect(fixture.get("/customers/Anna@home/events?format=csv", as: .support).status == 200)
        #expect(
            fixture.get("/events?customer=ben&type=X", as: .integrator, headers: ["Accept": "text/csv"]).status == 200)
        #expect(fixture.get("/customers?format=csv", as: .read).status == 403)
        let entries = fixture.get("/audit").json["items"]?.arrayValue ?? []
        func texts(_ name: String) -> [String?] { entries.map { $0[name]?.stringValue } }
        #expect(texts("kind") == ["customer_export", "customer_export", "export"])
        #expect(texts("target") == ["ben", "Anna@home", "deliveries"])
        #expect(
            texts("message") == [
                "0 rows; of events; type=X", "3 rows; of customers/{id}/events", "3 rows; state=delivered",
            ])
        #expect(texts("outcome") == ["done", "done", "done"])
        #expect(fixture.get("/audit?kind=customer_export&target=Anna@home").json["items"]?.arrayValue?.count == 1)
        // A role that sees no customers is not told whose rows they were.
        let own = fixture.get("/audit", as: .integrator).json["items"]?.arrayValue?.first
        #expect(own?["target"] == .string("") && own?["message"] == .null)
        let console = try fixture.database.connect(role: "entitled_console")
        for kind in ["grant", "bulk_resend"] {
            #expect(throws: PostgresError.self) {
                _ = try console.query(
                    """
                    INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'operator', $1, 'x', 'done')
                    """, [.text(kind)])
            }
        }
    }
}
