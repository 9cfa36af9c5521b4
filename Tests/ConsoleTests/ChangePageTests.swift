import Base
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Changes by the forms of the console, done by what a worker does them with.
@Suite("Changes in the console") struct ChangePageTests {
    private let console: RunningConsole

    init() throws {
        console = try RunningConsole()
        for id in ["anna", "ben & <b>"] {
            try console.database.execute(
                "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, 1000)", [.text(id)])
            try console.database.execute(
                "INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ($1, $1, 1000)",
                [.text(id)])
        }
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_1', 'https://example.com/hook', '{}', '{}', '{}', 1000)
            """)
    }

    private func browser(_ role: OperatorRole) throws -> TestBrowser {
        try console.addUser(role.rawValue, role)
        let browser = TestBrowser(console)
        let link = try console.link(for: role.rawValue)
        browser.open(link)
        try browser.submit(link)
        return browser
    }

    private func working<Result>(_ body: () throws -> Result) throws -> Result {
        try console.working(
            ChangeWork(entitlements: ["pro"], foldSettings: FoldSettings(), clock: console.clock), body)
    }

    private static let form = "/console/changes/new/grant"

    @Test("support grants from the customer's page, sees what became of it, and the audit names them")
    func grants() throws {
        let browser = try browser(.support)
        let customer = browser.open("/console/customers/anna")
        #expect(customer.text.contains("href=\"\(Self.form)?id=anna\""))
        #expect(browser.open("\(Self.form)?id=anna").text.contains("anna gets the entitlement"))
        let done = try working {
            try browser.submit(
                Self.form, ["entitlement": "pro", "duration": "monthly", "reason": "ticket <b>1</b>"])
        }
        #expect(done.status == 200 && done.text.contains("It is done."), "\(done.text)")
        #expect(
            done.text.contains("ticket &lt;b&gt;1&lt;/b&gt;") && done.text.contains("href=\"/console/customers/anna\""))
        #expect(browser.open("/console/customers/anna").text.contains("<span class=\"badge good\">active</span>"))
        let audit = browser.open("/console/audit").text
        #expect(audit.contains("Grant an entitlement") && audit.contains(">support<") && audit.contains("done"))
        #expect(
            try console.database.count("SELECT count(*) FROM entitled.audit WHERE credential LIKE 'session %'") == 1)
    }

    @Test("a form that is sent twice is one change")
    func onceOnly() throws {
        let browser = try browser(.operator)
        browser.open("\(Self.form)?id=ben+%26+%3Cb%3E")
        let form = browser.page
        try working {
            for _ in 0..<2 {
                browser.keep(page: form)
                let done = try browser.submit(
                    Self.form, ["entitlement": "pro", "duration": "daily", "reason": "once"])
                #expect(done.text.contains("It is done."), "\(done.text)")
            }
            // With other fields it is another change, under a name that is taken.
            browser.keep(page: form)
            let other = try browser.submit(Self.form, ["entitlement": "pro", "duration": "yearly", "reason": "once"])
            #expect(other.status == 409 && other.text.contains("Another change has this Idempotency-Key"))
        }
        #expect(try console.database.count("SELECT count(*) FROM entitled.action WHERE kind = 'grant'") == 1)
    }

    @Test("what is wrong is told in the form, with what was typed")
    func tellsFaults() throws {
        let browser = try browser(.operator)
        browser.open("\(Self.form)?id=anna")
        let empty = try browser.submit(Self.form, ["entitlement": "pro", "duration": "daily", "reason": ""])
        #expect(empty.status == 400 && empty.text.contains("reason must be a text"))
        let strange = try browser.submit(
            Self.form, ["entitlement": "none", "duration": "daily", "reason": "kept words"])
        #expect(strange.status == 400 && strange.text.contains("There is no entitlement none"))
        #expect(strange.text.contains("value=\"kept words\""))
        browser.open("\(Self.form)?id=nobody")
        let unknown = try browser.submit(Self.form, ["entitlement": "pro", "duration": "daily", "reason": "x"])
        #expect(unknown.status == 404)
        #expect(browser.open("/console/changes/new/none?id=anna").status == 404)
        #expect(browser.open("/console/changes/1").status == 404)
        #expect(browser.open("/console/changes/one").status == 404)
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test("an endpoint is paused, disabled and enabled, and its page offers what fits")
    func steersEndpoints() throws {
        let browser = try browser(.integrator)
        try working {
            for (kind, fields) in [
                ("endpoint_pause", ["until": "2099-01-01T00:00:00Z"]), ("endpoint_disable", [:]),
                ("endpoint_enable", [:]),
            ] {
                #expect(browser.open("/console/endpoints/ep_1").text.contains("changes/new/\(kind)?id=ep_1"), "\(kind)")
                browser.open("/console/changes/new/\(kind)?id=ep_1")
                let done = try browser.submit("/console/changes/new/\(kind)", fields.merging(["reason": "x"]) { $1 })
                #expect(done.text.contains("It is done."), "\(kind): \(done.text)")
            }
        }
    }

    @Test("who may not is offered nothing, gets no form, and is in the audit when asking all the same")
    func keepsToRoles() throws {
        let browser = try browser(.read)
        #expect(!browser.open("/console/endpoints/ep_1").text.contains("/console/changes/new"))
        #expect(browser.open("/console/changes/new/endpoint_pause?id=ep_1").status == 403)
        let operating = try self.browser(.operator)
        operating.open("/console/changes/new/endpoint_disable?id=ep_1")
        let stolen = operating.page
        browser.keep(page: stolen)
        // The form of another session is none.
        #expect(try browser.submit("/console/changes/new/endpoint_disable", ["reason": "x"]).status == 403)
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test("another operator's change is theirs, but for the role operator")
    func keepsChangesApart() throws {
        let support = try browser(.support)
        support.open("\(Self.form)?id=anna")
        let done = try working {
            try support.submit(Self.form, ["entitlement": "pro", "duration": "daily", "reason": "mine"])
        }
        let job = try console.database.count("SELECT max(id) FROM entitled.job")
        #expect(done.text.contains("mine"))
        #expect(try browser(.integrator).open("/console/changes/\(job)").status == 404)
        let operating = try browser(.operator)
        #expect(operating.open("/console/changes/\(job)").text.contains("mine"))
        #expect(operating.open("/console/audit?actor=support").text.contains("mine"))
    }

    @Test("without a worker the page says that it is under way, and later what became of it")
    func saysUnderWay() throws {
        let browser = try browser(.operator)
        browser.open("/console/changes/new/endpoint_disable?id=ep_1")
        let waiting = try browser.submit("/console/changes/new/endpoint_disable", ["reason": "x"])
        #expect(waiting.status == 200 && waiting.text.contains("A worker has not done it yet"), "\(waiting.text)")
        let job = try console.database.count("SELECT max(id) FROM entitled.job")
        try working {
            try eventually("it is done") { browser.open("/console/changes/\(job)").text.contains("It is done.") }
        }
    }
}
