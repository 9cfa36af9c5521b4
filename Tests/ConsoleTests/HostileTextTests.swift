import Base
import Database
import HTTP
import Operator
import Postgres
import TestSupport
import Testing

@testable import Console

/// Texts that outsiders choose, in every field that they can fill, on every page.
@Suite("Hostile texts") struct HostileTextTests {
    static let corpus = [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>",
        "' onmouseover='alert(1)",
        "{{7*7}}${7*7}<%= 7*7 %>#{7*7}", "javascript:alert(1)//", "data:text/html,<script>alert(1)</script>",
        "a\u{202E}gpj.exe\u{2066}b\u{200B}c\u{FEFF}", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
        "<svg><a href=\"javascript:alert(1)\"><text>x</text></a></svg>", "--><!--",
        "</title></bdi></pre><script>alert(1)</script>",
        "&lt;script&gt;&#60;img&#62;&amp;", "\r\nSet-Cookie: a=b", "//example.com/x",
        "https://example.com/?a=1&b=<i>", "../../me?q=<i>#x", "<!DOCTYPE html><html>", "]]>",
        "<style>*{color:red}</style>",
        "\u{1F468}\u{200D}\u{1F469}\u{0301}<b>",
    ]

    private let records: Records
    private let now = RunningConsole.start

    init() throws {
        records = Records(
            console: try RunningConsole(
                settings: HostileTextTests.corpus.map { text in
                    ShownSetting(key: text, value: text, origin: text, isStandard: false)
                }))
    }

    /// Pages that show a text, and those that lead from them.
    private func fill(_ text: String, _ number: Int) throws -> [String] {
        let id = "\(text)\(number)"
        let place = PercentEncoding.encode(id)
        try records.buy(id, id, product: text, offer: text)
        try records.sql(
            "INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms) VALUES ($1, $2, $3, 1)",
            [.text(id), .text(text), .text(text + (number == 0 ? String(repeating: text, count: 4_000) : ""))])
        try records.ask(id, product: text, reason: text, left: 3_600_000, state: "failed")
        let uuid = "00000000-0000-4000-8000-\(String(repeating: "0", count: 10))\(number + 10)"
        try records.notify(
            uuid, about: id, type: text, signed: now, seq: SequenceGenerator.least(at: now) + Int64(number), held: text)
        try event(text, id: uuid, about: id)
        let (endpoint, delivery) = (id, try self.delivery(of: uuid, to: id, text))
        let change = try records.change(.grant, of: id, reason: text, by: text, message: text)
        let job = try records.job(
            text, request: id, parameters: .object([text: .string(text)]), madeBy: text, state: "running",
            fraction: 0.5,
            error: text)
        try account(text, id)
        let search = "/search?q=\(place)"
        return [
            "/customers/\(place)", "/customers/\(place)?order=heard", "/purchases/demo/Production/\(place)",
            "/purchases?customer=\(place)", "/purchases?id=\(place)", "/purchases?product=\(place)", "/events/\(uuid)",
            "/events?customer=\(place)", "/events?type=\(place)", "/endpoints/\(PercentEncoding.encode(endpoint))",
            "/deliveries/\(delivery)", "/deliveries?customer=\(place)", "/deliveries?endpoint=\(place)",
            "/notifications/demo/Production/\(uuid)", "/notifications?purchase=\(place)", "/refunds?app=\(place)",
            "/jobs/\(job)", "/jobs/\(change)", "/changes/\(change)", "/audit?target=\(place)", "/audit?actor=\(place)",
            search, "/changes/new/grant?id=\(place)", "/changes/new/endpoint_pause?id=\(place)",
            "/changes/new/endpoint_change?id=\(place)", "/changes/new/endpoint_remove?id=\(place)",
            "/changes/new/endpoint_test?id=\(place)", "/changes/new/customer_delete?id=\(place)",
            "/changes/new/reprocess?app=\(place)&environment=Sandbox&uuid=\(place)",
            // What is refused is told, too.
            "/customers/none\(place)", "/events?\(place)=1", "/purchases/\(place)/\(place)/\(place)", "/jobs/\(place)",
            "/outages/\(place)", "/endpoints/none\(place)", "/deliveries?state=\(place)", "/events?env=\(place)",
            "/\(place)",
        ]
    }

    private func event(_ text: String, id: String, about purchase: String) throws {
        let event = NewEvent(
            lane: Lane(app: "demo", environment: .production, subject: purchase),
            id: try #require(UUIDText.bytes(id)), type: text, app: "demo", environment: .production,
            originalTransactionID: purchase,
            body: JSON.object([text: .array([.string(text), .object([text: .null])])]).bytes)
        try records.console.onHost { connection in
            _ = try connection.transaction { try EventTable.insert([event], now: now - 1000, on: connection) }
        }
    }

    /// One to an endpoint of this id, whose consumer answered.
    private func delivery(of event: String, to endpoint: String, _ text: String) throws -> String {
        try records.sql(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms, disabled_reason, header_names)
            VALUES ($1, $2, '{}', ARRAY[$2], ARRAY[$2], 1000, $2, ARRAY[$2])
            """, [.text(endpoint), .text(text)])
        let rows = try records.console.database.connect(role: "entitled_worker").query(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, attempts, next_ms, created_ms, reason,
                last_status)
            SELECT lane, encode(substring(sha256(uuid_send(id) || convert_to($1, 'UTF8')) FOR 16), 'hex')::uuid, $1, id, type,
                2, 1, 0, created_ms, $2, 500
            FROM entitled.event WHERE id = $3::text::uuid RETURNING lane, id::text
            """, [.text(endpoint), .text(text), .text(event)])
        let row = try rows.one()
        let (lane, id) = (Int16(clamping: try row.int("lane")), try row.text("id"))
        // Bytes that no text of Postgres has: NUL, and what is no UTF-8.
        let answer = Array(text.utf8) + [0, 0xff, 0xfe] + Array(text.utf8)
        try records.sql(
            """
            INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, status, outcome, detail, response,
                head) VALUES ($1, $2::text::uuid, 1, $3, 5, 500, $4, $4, $5, $5)
            """, [.int2(lane), .text(id), .int8(now - 500), .text(text), .bytea(answer)])
        let found = try DeliveryQuery.list(
            DeliveryQuery.Filter(endpoint: endpoint), ListRange(limit: 1),
            on: try records.console.database.connect(role: "entitled_console"))
        return try #require(found.rows.first).id.text
    }

    private func account(_ text: String, _ id: String) throws {
        try records.sql(
            "INSERT INTO entitled.console_user (name, role, created_ms) VALUES ($1, 'read', 1)", [.text(id)])
        try records.sql(
            """
            INSERT INTO entitled.console_session (hash, id, user_name, address, browser, by_link, started_ms, seen_ms)
            VALUES (convert_to($1, 'UTF8'), $1, $1, $2, $2, true, $3, $3)
            """, [.text(id), .text(text), .int8(now)])
        try records.sql(
            """
            INSERT INTO entitled.operator_key (id, user_name, role, hint, hash, created_ms)
            VALUES ($1, $1, 'read', $2, convert_to($1, 'UTF8'), 1)
            """, [.text(id), .text(text)])
        try records.sql(
            """
            INSERT INTO entitled.api_key (id, kind, app, scope, name, hint, hash, created_ms)
            VALUES ($1, 'secret', $2, 'read', $2, $2, convert_to($1, 'UTF8'), 1)
            """, [.text(id), .text(text)])
        try records.sql(
            "INSERT INTO entitled.worker (id, host, seen_at) VALUES (gen_random_uuid(), $1, clock_timestamp())",
            [.text(text)])
    }

    @Test("no page makes an element, an attribute or a link of a text from outside, or hides a part of it")
    func showsTextsAsTexts() throws {
        var paths: [String] = []
        for (number, text) in HostileTextTests.corpus.enumerated() { paths += try fill(text, number) }
        paths += [
            "", "/customers", "/purchases", "/events", "/deliveries", "/endpoints", "/notifications", "/outages",
            "/refunds",
            "/products", "/jobs", "/audit", "/settings", "/settings?defaults=true", "/me", "/search",
        ]
        var shown = 0
        for role in [OperatorRole.operator, .support] {
            let browser = try records.browser(role)
            for path in paths {
                let page = browser.send("GET", "/console\(path)")
                if page.header("content-type")?.hasPrefix("text/html") != true {
                    // The one hit of a search, and addresses that are none.
                    #expect([303, 404, 421].contains(page.status), "\(path): \(page.status)")
                    let to = page.header("location") ?? "/console"
                    #expect(to.hasPrefix("/console"), "\(path) leads to \(to)")
                    continue
                }
                let check = HTMLCheck(page.body)
                #expect(check.faults.isEmpty, "\(path): \(check.faults.prefix(3))")
                #expect([200, 400, 403, 404].contains(page.status), "\(path): \(page.status)")
                if page.status == 200 { shown += 1 }
            }
        }
        // Most of what was asked for is there, so that there is something to find.
        #expect(shown > HostileTextTests.corpus.count * 25)
        #expect(!records.console.log.text.contains("console page failed"))
    }

    @Test("what reads pages for it sees what a text would do if it were not escaped")
    func findsFaults() {
        for text in ["<script>", "<b onclick=1>", "<a href=\"javascript:x\">", "<p style=\"a\">", "a > b", "\u{202E}"] {
            #expect(!HTMLCheck(Array("<!DOCTYPE html><p>\(text)</p>".utf8)).faults.isEmpty, "\(text)")
        }
        #expect(HTMLCheck(Array("<!DOCTYPE html><p class=\"a\"><a href=\"/x\">&lt;</a></p>".utf8)).faults.isEmpty)
    }
}
