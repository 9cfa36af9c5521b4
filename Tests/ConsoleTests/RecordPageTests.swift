import Base
import Database
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

@testable import Console

/// Pages of jobs, outages, refunds, purchases, products and settings.
@Suite("Pages of records") struct RecordPageTests {
    private let records: Records
    private let console: RunningConsole

    init() throws {
        console = try RunningConsole(settings: [
            ShownSetting(key: "console.listen", value: "\"127.0.0.1:8082\"", origin: "default", isStandard: true),
            ShownSetting(
                key: "database.url", value: "\"[redacted]\"", origin: "ENTITLED_DATABASE_URL", isStandard: false),
        ])
        records = Records(console: console)
    }

    // MARK: - Jobs

    @Test("a job that runs is loaded again without script until one says stop, and is found from all that speaks of it")
    func showsJobs() throws {
        let number = try records.job(
            "webhooks", request: "replay webhooks --since 24h", state: "running", fraction: 0.71)
        let browser = try records.browser()
        #expect(browser.open("/console/").text.contains("href=\"/console/jobs?state=running\">1 job runs"))
        let list = browser.open("/console/jobs?state=running").text
        #expect(list.contains("href=\"/console/jobs/\(number)\"") && list.contains("71 %") && list.contains("12,345"))
        #expect(browser.open("/console/jobs?state=done").text.contains("Nothing fits these filters"))
        let page = browser.open("/console/jobs/\(number)").text
        #expect(page.contains("<meta http-equiv=\"refresh\" content=\"5\">"))
        #expect(page.contains("<progress value=\"71\" max=\"100\"") && page.contains("7,004"))
        #expect(page.contains("entitled replay show \(number)") && page.contains("/operator/v1/jobs/\(number)"))
        let still = browser.open("/console/jobs/\(number)?refresh=off").text
        #expect(!still.contains("http-equiv=\"refresh\""))
        try records.sql("UPDATE entitled.job SET state = 'done', finished_ms = 1 WHERE id = \(number)")
        #expect(!browser.open("/console/jobs/\(number)").text.contains("http-equiv=\"refresh\""))
        for path in ["/console/jobs/x", "/console/jobs/99999", "/console/jobs/99999999999999999999"] {
            #expect(browser.open(path).status == 404, "\(path)")
        }
        #expect(browser.open("/console/jobs/\(number)?nonsense=1").status == 400)
    }

    @Test("a change is a job: who asked for it sees it, nobody else but operators does, and the audit leads there")
    func showsChanges() throws {
        let support = try records.browser(.support)
        let name = try #require(support.open("/console/me").text.firstMatch(of: #/<h1><bdi>(support[^<]*)</#)?.output.1)
        let number = try records.change(
            .grant, of: "anna", reason: "ticket 7", by: String(name), message: "no such thing")
        try records.sql("UPDATE entitled.console_user SET created_ms = 1")
        let page = support.open("/console/jobs/\(number)").text
        #expect(page.contains("ticket 7") && page.contains("no such thing"))
        #expect(page.contains("href=\"/console/changes/\(number)\""))
        #expect(!page.contains("href=\"/console/jobs\""))
        #expect(support.open("/console/audit").text.contains("href=\"/console/jobs/\(number)\""))
        #expect(support.open("/console/changes/\(number)").text.contains("href=\"/console/jobs/\(number)\""))
        #expect(try records.browser(.integrator).open("/console/jobs/\(number)").status == 404)
        #expect(try records.browser().open("/console/jobs/\(number)").text.contains("ticket 7"))
    }

    // MARK: - Outages

    @Test("an outage says how long, how far Apple's history was scanned, and what was found of it")
    func showsOutages() throws {
        let browser = try records.browser()
        #expect(browser.open("/console/outages").text.contains("No ingest process has used this database yet"))
        let minute = try records.minute()
        try records.listen(minute)
        #expect(browser.open("/console/outages").text.contains("Within 45 days there was none"))
        try records.listen(minute - 120)
        for before in 1...65 { try records.listen(minute - Int64(before)) }
        let start = (minute - 120) * 60_000
        try records.sql(
            """
            INSERT INTO entitled.history_look (app, environment, covered_ms) VALUES ('demo', 0, $1), ('demo', 1, $2)
            """, [.int8(minute * 60_000), .int8(start)])
        func seq(_ instant: Int64) -> Int64 { (instant - 1_704_067_200_000) << 22 }
        try records.notify(
            "11111111-1111-4111-8111-111111111111", about: "2000", type: "DID_RENEW", signed: start + 600_000,
            seq: seq(minute * 60_000 - 60_000), source: .history)
        try records.notify(
            "22222222-2222-4222-8222-222222222222", about: "2001", type: "REFUND", signed: start - 86_400_000,
            seq: seq(minute * 60_000 - 59_000), source: .history)
        let list = browser.open("/console/outages").text
        #expect(
            list.contains("href=\"/console/outages/\(minute - 120)\"") && list.contains("1 of 2 not scanned"))
        #expect(browser.open("/console/outages?env=Production").text.contains(">scanned<"))
        let page = browser.open("/console/outages/\(minute - 120)").text
        #expect(page.contains("DID_RENEW") && !page.contains("REFUND"))
        #expect(page.contains("to the end") && page.contains("not to the end"))
        #expect(page.contains("1 notification: 1 applied") && page.contains("entitled replay history --app demo"))
        #expect(browser.open("/console/outages/1").status == 404)
        #expect(try records.browser(.read).open("/console/outages").status == 200)
        #expect(try records.browser(.support).open("/console/outages").status == 403)
    }

    // MARK: - Refunds

    @Test("questions that can be answered come first, the most urgent before the others, with the commands that answer")
    func showsRefunds() throws {
        let browser = try records.browser(.support)
        #expect(browser.open("/console/refunds").text.contains("Apple waits for no answer"))
        try records.buy("anna", "2000000000000001")
        try records.ask("2000000000000001", product: "monthly", reason: "UNSATISFIED", left: 3 * 3_600_000)
        try records.ask("2000000000000002", product: "urgent", reason: "OTHER", left: 3_600_000)
        try records.ask("2000000000000003", product: "over", reason: "OTHER", left: -1, state: "failed")
        // An app whose questions no worker answers has no form.
        try records.ask("2000000000000004", product: "elsewhere", reason: "OTHER", left: 7_200_000)
        try console.database.execute(
            "UPDATE entitled.refund_request SET app = 'other' WHERE product_id = 'elsewhere'")
        let page = browser.open("/console/refunds").text
        #expect(page.contains("<bdi>elsewhere") && page.contains("No worker answers questions of this app"))
        #expect(!page.contains("transaction=2000000000000004") && !page.contains("--app other"))
        #expect(page.contains("transaction=2000000000000001"))
        let urgent = try #require(page.firstRange(of: "<h2><bdi>urgent"))
        let other = try #require(page.firstRange(of: "<h2><bdi>monthly"))
        #expect(urgent.lowerBound < other.lowerBound)
        #expect(page.contains("60 min <small>left") && page.contains("9.99 USD") && page.contains("33 % of 30 days"))
        #expect(
            page.contains(
                "entitled refunds answer --consent --app demo --environment Production --preference decline 2000000000000001"
            ))
        #expect(
            page.contains("time is over")
                && page.contains("href=\"/console/purchases/demo/Production/2000000000000001\""))
        #expect(!browser.open("/console/refunds?env=Sandbox").text.contains("<bdi>urgent"))
        #expect(!browser.open("/console/refunds?open=true").text.contains("time is over"))
        #expect(browser.open("/console/refunds?env=Nowhere").status == 400)
        #expect(try records.browser(.read).open("/console/refunds").status == 403)
    }

    // MARK: - Purchases

    @Test("purchases are found by what they are, and one is told with its periods and what came")
    func showsPurchases() throws {
        try records.buy("anna", "2000000000000001")
        try records.buy("$RCAnonymousID:0123", "2000000000000002", product: "yearly", environment: .sandbox)
        let browser = try records.browser()
        func ids(_ query: String) -> Set<String> {
            let page = browser.open("/console/purchases\(query)")
            #expect(page.status == 200, "\(query): \(page.text)")
            return Set(
                page.text.matches(of: #/href="\/console\/purchases\/demo\/\w+\/(\d+)"/#).map { String($0.output.1) })
        }
        let (first, second) = ("2000000000000001", "2000000000000002")
        #expect(ids("") == [first, second])
        #expect(ids("?status=active") == [first, second] && ids("?status=expired").isEmpty)
        #expect(ids("?product=yearly") == [second] && ids("?unclaimed=true") == [second])
        #expect(ids("?env=Production") == [first] && ids("?environment=Sandbox") == [second])
        #expect(ids("?id=\(first)") == [first] && ids("?customer=anna") == [first])
        try console.database.execute(
            "UPDATE entitled.purchase SET revoked_ms = 1767225600000 WHERE original_transaction_id = $1", [.text(first)]
        )
        #expect(ids("?refunded_since=2026-01-01T00:00:00Z&refunded_until=2026-01-01T00:00:01Z") == [first])
        #expect(ids("?refunded_since=2026-01-01T00:00:01Z").isEmpty && ids("?refunded_until=2026-01-01").isEmpty)
        #expect(ids("?refunded_until=2030-01-01") == [first])
        #expect(browser.open("/console/purchases").text.contains("name=\"refunded_since\""))
        #expect(ids("?ends_before=2020-01-01").isEmpty && ids("?ends_after=2020-01-01") == [first, second])
        let part = browser.open("/console/purchases?limit=1").text
        let next = try #require(
            part.firstMatch(of: #/href="(\/console\/purchases\?limit=1&amp;after=[^"]*)"/#)?.output.1)
        #expect(ids(String(next.dropFirst("/console/purchases".count)).replacing("&amp;", with: "&")).count == 1)
        for query in [
            "?status=lost", "?id=1&customer=2", "?id=1&status=active", "?env=x", "?refunded_since=x",
            "?customer=anna&refunded_until=1d",
        ] {
            #expect(browser.open("/console/purchases\(query)").status == 400, "\(query)")
        }
        let page = browser.open("/console/purchases/demo/Production/\(first)").text
        #expect(page.contains("9.99 USD") && page.contains("<h2>What was paid</h2>") && page.contains("class=\"step\""))
        #expect(page.contains("href=\"/console/customers/anna\""))
        #expect(browser.open("/console/purchases/demo/Production/none").status == 404)
        #expect(browser.open("/console/purchases/demo/Nowhere/\(first)").status == 404)
        let reader = try records.browser(.read)
        #expect(!reader.open("/console/purchases").text.contains("anna"))
        let told = reader.open("/console/purchases/demo/Production/\(first)")
        #expect(told.status == 200 && !told.text.contains("anna") && !told.text.contains("class=\"step\""))
        #expect(reader.open("/console/purchases?customer=anna").status == 403)
    }

    @Test("a list that is scanned has every purchase once, whatever the size of its pages")
    func listsAllPurchases() throws {
        // Ids that begin the same for longer than a cursor remembers.
        let ids = (0..<45).map { "20000000000000000-\($0)" }
        for id in ids { try records.buy("anna", id) }
        let browser = try records.browser()
        var seen: [String] = []
        var path: String? = "/console/purchases?limit=7"
        while let now = path, seen.count < 100 {
            let page = browser.open(now).text
            seen += page.matches(of: #/href="\/console\/purchases\/demo\/Production\/([\d-]+)"/#).map {
                String($0.output.1)
            }
            path = page.firstMatch(of: #/href="(\/console\/purchases\?limit=7&amp;after=[^"]*)"/#).map {
                String($0.output.1).replacing("&amp;", with: "&")
            }
        }
        #expect(seen.sorted() == ids.sorted())
    }

    // MARK: - Products and settings

    @Test("products say what they give, and what of the configuration does not fit")
    func showsProducts() throws {
        let browser = try records.browser(.read)
        #expect(browser.open("/console/products").text.contains("Nothing was bought yet"))
        try records.buy("anna", "2000000000000001")
        try records.buy("anna", "2000000000000002", product: "forgotten", environment: .sandbox)
        let page = browser.open("/console/products").text
        #expect(page.contains("forgotten was bought and is in no entitlement") && page.contains(">nothing<"))
        #expect(page.contains("<bdi>pro</bdi>"))
        #expect(!browser.open("/console/products?env=Production").text.contains("<bdi>forgotten</bdi></a>"))
        #expect(try records.browser(.integrator).open("/console/products").status == 403)
    }

    @Test("settings show what is in force, users and the beginnings of keys, to operators alone and without a secret")
    func showsSettings() throws {
        let browser = try records.browser()
        try console.addUser("carl", .read)
        let key = try console.onHost { connection in
            try OperatorKeyTable.create(for: "carl", .read, until: nil, now: 1, on: connection)?.key.exposed
        }
        let secret = try #require(key)
        let page = browser.open("/console/settings").text
        #expect(page.contains("ENTITLED_DATABASE_URL") && page.contains("[redacted]"))
        #expect(!page.contains("console.listen"))
        #expect(page.contains("carl") && page.contains(String(secret.prefix(6))) && !page.contains(secret))
        #expect(page.contains("No worker is alive"))
        #expect(browser.open("/console/settings?defaults=true").text.contains("console.listen"))
        for role in OperatorRole.allCases where role != .operator {
            let other = try records.browser(role)
            #expect(other.open("/console/settings").status == 403, "\(role)")
            #expect(!other.open("/console/").text.contains("/console/settings"), "\(role)")
        }
    }

    @Test("the environment of a page stands in its URL alone, and the links of the frame carry it on")
    func switchesEnvironments() throws {
        let browser = try records.browser()
        let page = browser.open("/console/events?env=Sandbox&type=RENEWAL").text
        #expect(page.contains("href=\"/console/purchases?env=Sandbox\""))
        #expect(
            page.contains("<a href=\"/console/events?type=RENEWAL&amp;env=Sandbox\" aria-current=\"page\">Sandbox</a>"))
        #expect(page.contains("<a href=\"/console/events?type=RENEWAL\">All</a>"))
        #expect(page.contains("name=\"env\" value=\"Sandbox\""))
        #expect(page.contains("/operator/v1/events?environment=Sandbox&amp;type=RENEWAL"))
        #expect(page.contains("entitled events list --environment Sandbox --type RENEWAL"))
        let plain = browser.open("/console/events").text
        #expect(plain.contains("href=\"/console/purchases\"") && !plain.contains("name=\"env\""))
        #expect(browser.open("/console/jobs?env=Sandbox").status == 200)
        for path in ["events?env=x", "jobs?env=x", "?env=x", "settings?env=x"] {
            #expect(browser.open("/console/\(path)").status == 400, "\(path)")
        }
    }
}
