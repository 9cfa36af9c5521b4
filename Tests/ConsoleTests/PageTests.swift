import Base
import Database
import Postgres
import TestSupport
import Testing

@testable import Console

private let hostile = "<script>alert(1)</script>\u{202E}\"'&"

/// One installation with a customer, an event and a delivery, whose texts are hostile.
private struct Installation {
    let console: RunningConsole
    let endpoint: String
    let event = "01010101-0101-0101-0101-010101010101"

    init() throws {
        console = try RunningConsole()
        let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
        let now = RunningConsole.start - 60_000
        endpoint = try console.onHost { connection in
            _ = try connection.query(
                "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, $2)",
                [.text(hostile), .int8(now)])
            _ = try connection.query(
                """
                INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ($1, $1, $2)
                """, [.text(hostile), .int8(now)])
            let added = try EndpointTable.add(
                url: "https://example.com/hooks?token=secret", authorization: nil, environments: [], events: [],
                apps: [],
                ordering: .none, sealer: sealer, now: now, on: connection)
            _ = try connection.transaction {
                try EventTable.insert(
                    [
                        NewEvent(
                            lane: Lane(number: 5), id: [UInt8](repeating: 1, count: 16), type: "RENEWAL", app: "demo",
                            environment: .sandbox, originalTransactionID: "2000",
                            body: JSON.object(["event": .object(["id": .string(hostile)])]).bytes)
                    ], now: now, on: connection)
            }
            return added.id
        }
    }

    func browser(_ role: OperatorRole = .operator) throws -> TestBrowser {
        let name = "\(role.rawValue)-\(console.clock.now())"
        try console.addUser(name, role)
        let browser = TestBrowser(console)
        let link = try console.link(for: name)
        browser.open(link)
        try browser.submit(link)
        return browser
    }
}

@Suite("Pages of the console")
struct PageTests {
    @Test(
        "a command line that is shown is one word for each value, whatever the value is",
        arguments: ["it's", "a\u{27}\u{301}; echo b #", "$(id)", "`id`", "a b", "\\", "-x", "é", "demo@example.com"])
    func quotesWords(_ text: String) throws {
        let told = try TestCommand.run(["/bin/sh", "-c", "printf %s \(PageCall.quoted(text))"])
        #expect(Array(told.utf8) == Array(text.utf8))
        #expect(PageCall.argument("-x") == "-- '-x'")
    }

    @Test("customer, event and delivery are found, follow from each other, and show every text as text")
    func showsRecords() throws {
        let installation = try Installation()
        let browser = try installation.browser()
        let found = browser.open("/console/search?q=\(PercentEncoding.encode(hostile))")
        #expect(found.status == 200)
        #expect(found.text.contains("Timeline"))
        let event = browser.open("/console/search?q=\(installation.event)")
        #expect(event.text.contains("RENEWAL"))
        let delivery = try #require(event.text.firstMatch(of: #/href="(/console/deliveries/dlv_[^"]*)"/#))
        let page = browser.open(String(delivery.output.1))
        #expect(page.text.contains("Tried next"))
        #expect(page.text.contains("/console/events/"))
        for path in [
            "", "/customers", "/events", "/events?environment=Sandbox", "/deliveries?state=pending", "/endpoints",
            "/endpoints/\(installation.endpoint)", "/notifications", "/audit", "/me", "/search", "/purchases",
            "/outages", "/refunds", "/products", "/jobs", "/settings",
        ] {
            let page = browser.open("/console\(path)")
            #expect(page.status == 200, "\(path)")
            #expect(!page.text.contains("<script") && !page.text.contains("token=secret"))
            #expect(page.body.count <= 60_000)
        }
        for text in [found.text, event.text, page.text] {
            #expect(!text.contains("<script"))
            #expect(text.contains("&lt;script&gt;"))
            #expect(!text.contains("\u{202E}"))
        }
    }

    @Test("each role sees its pages alone, and neither navigation nor source has the others")
    func keepsToRoles() throws {
        let installation = try Installation()
        let pages = [
            "customers", "purchases", "events", "deliveries", "endpoints", "notifications", "outages", "refunds",
            "products", "jobs", "charts", "settings",
        ]
        let seen: [OperatorRole: Set<String>] = [
            .operator: Set(pages),
            .read: [
                "purchases", "events", "deliveries", "endpoints", "notifications", "outages", "products", "charts",
            ],
            .support: ["customers", "purchases", "events", "deliveries", "notifications", "refunds", "products"],
            .integrator: ["events", "deliveries", "endpoints"], .finance: ["charts"],
        ]
        for role in OperatorRole.allCases {
            let browser = try installation.browser(role)
            let home = browser.open("/console/").text
            for page in pages {
                let isSeen = seen[role]?.contains(page) == true
                #expect(home.contains("href=\"/console/\(page)\"") == isSeen, "\(role) \(page)")
                #expect(browser.open("/console/\(page)").status == (isSeen ? 200 : 403), "\(role) \(page)")
            }
            #expect(home.contains("action=\"/console/search\"") == (role != .finance))
        }
    }

    @Test("what is not there, and what no list takes, is told with what would do")
    func tellsErrors() throws {
        let browser = try Installation().browser()
        #expect(browser.open("/console/events?typ=RENEWAL").status == 400)
        #expect(browser.page?.text.contains("There is no parameter typ") == true)
        #expect(browser.open("/console/deliveries?state=lost").status == 400)
        #expect(browser.open("/console/customers/nobody").status == 404)
        #expect(browser.open("/console/deliveries/dlv_x").status == 404)
        #expect(browser.open("/console/none").status == 404)
        #expect(browser.open("/console/search?q=nothing-like-it").text.contains("Nothing is known by this id"))
        #expect(browser.open("/").text.contains("Overview"))
    }
}
