import Base
import Crypto
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Changes of all rows that a list has with its filters, by the forms that lists lead to.
@Suite("Changes of many rows in the console") struct BulkPageTests {
    private let console: RunningConsole
    private static let form = "/console/changes/many"

    init() throws {
        console = try RunningConsole()
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            SELECT 'ep_' || n, 'https://example.com/hook', '{}', '{}', '{}', 1000 FROM generate_series(1, 2) n
            """)
    }

    private func browser(_ role: OperatorRole) throws -> TestBrowser { try Records(console: console).browser(role) }

    /// Events a minute ago, each with a dead delivery to each endpoint.
    private func makeDead(_ count: Int) throws {
        let worker = try console.database.connect(role: "entitled_worker")
        let events = (1...count).map { number in
            NewEvent(
                lane: Lane(number: Int16(number)), id: Array(Digest.sha256(Array("event \(number)".utf8)).prefix(16)),
                type: number == 1 ? "EXPIRATION" : "RENEWAL", app: "demo", environment: .production,
                originalTransactionID: "2000\(number)", body: Array(#"{"event":{"type":"RENEWAL"}}"#.utf8))
        }
        _ = try worker.transaction {
            try EventTable.insert(events, now: console.clock.now() - 60_000, on: worker)
        }
        try console.database.execute(
            "UPDATE entitled.delivery SET state = 2, attempts = 3, next_ms = $1", [.int8(console.clock.now() - 1000)])
    }

    private func work(_ job: Int64) throws {
        let worker = try console.database.connect(role: "entitled_worker")
        _ = try JobDriver(job, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, _ in false }
    }

    private func jobs() throws -> Int64 { try console.database.count("SELECT count(*) FROM entitled.job") }

    @Test("the list leads to a form that says what will happen, and that to the job")
    func resends() throws {
        try makeDead(3)
        let browser = try browser(.integrator)
        #expect(!browser.open("/console/deliveries").text.contains(Self.form), "all of a list without filters")
        let list = browser.open("/console/deliveries?state=dead&endpoint=ep_2&limit=2&since=7d").text
        let link = "\(Self.form)/resend?endpoint=ep_2&amp;since=7d&amp;state=dead"
        #expect(list.contains("href=\"\(link)\"") && !list.contains("\(Self.form)/give_up"), "\(list)")
        let form = browser.open(link.replacing("&amp;", with: "&")).text
        #expect(form.contains("Send again 3") && form.contains("Would be sent") && form.contains("<dt>State</dt>"))
        #expect(form.contains("By endpoint") && form.contains("Some of those that match"), "\(form)")
        #expect(try jobs() == 0)
        let path = "\(Self.form)/resend"
        let reasonless = try browser.submit(path, ["reason": ""])
        #expect(reasonless.status == 400 && reasonless.text.contains("reason must be a text"))
        let job = try browser.submit(path, ["reason": "the consumer <b>was</b> down"])
        #expect(job.status == 200 && job.text.contains("0 % are done"), "\(job.text)")
        #expect(job.text.contains("changes/new/job_cancel?id=1") && job.text.contains("&lt;b&gt;was&lt;/b&gt;"))
        try work(1)
        let done = browser.open("/console/jobs/1").text
        #expect(done.contains("<dt>Pending</dt><dd>3</dd>"), "\(done)")
        #expect(
            try console.database.count(
                "SELECT count(*) FROM entitled.delivery WHERE state = 0 AND endpoint = 'ep_2' AND job = 1") == 3)
        // Sent again, the form is the same change; of another selection it is none.
        #expect(browser.open(link.replacing("&amp;", with: "&")).text.contains("Nothing would be changed"))
    }

    @Test("a form that is sent twice is one job")
    func onceOnly() throws {
        try makeDead(1)
        let browser = try browser(.operator)
        browser.open("\(Self.form)/resend?state=dead")
        let page = browser.page
        for _ in 0..<2 {
            browser.keep(page: page)
            #expect(try browser.submit("\(Self.form)/resend", ["reason": "once"]).text.contains("Job 1"))
        }
        #expect(try jobs() == 1)
    }

    @Test("what is not as it was shown is shown anew")
    func tellsChanges() throws {
        try makeDead(2)
        let browser = try browser(.operator)
        browser.open("\(Self.form)/resend?state=dead")
        try console.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_1'")
        let again = try browser.submit("\(Self.form)/resend", ["reason": "down"])
        #expect(again.status == 409 && again.text.contains("Send again 2"), "\(again.text)")
        #expect(again.text.contains("<dt>Endpoint disabled</dt><dd>2</dd>") && again.text.contains("value=\"down\""))
        #expect(try jobs() == 0)
        #expect(try browser.submit("\(Self.form)/resend", ["reason": "down"]).text.contains("0 % are done"))
    }

    @Test("more than a thousand rows need their number")
    func asksForTheNumber() throws {
        try console.database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, attempts, next_ms, created_ms)
            SELECT n % 256, md5(n::text)::uuid, 'ep_1', md5('e' || n)::uuid, 'RENEWAL', 0, 0, 0, $1
            FROM generate_series(1, 1001) n
            """, [.int8(console.clock.now() - 60_000)])
        let browser = try browser(.operator)
        let path = "\(Self.form)/give_up"
        #expect(browser.open("\(path)?state=pending").text.contains("Type 1001 to confirm"))
        let wrong = try browser.submit(path, ["reason": "x", "typed": "100"])
        #expect(wrong.status == 400 && wrong.text.contains("is not 1001"), "\(wrong.text)")
        #expect(try browser.submit(path, ["reason": "x", "typed": "1,001"]).text.contains("0 % are done"))
        try work(1)
        #expect(browser.open("/console/jobs/1").text.contains("<dt>Dead</dt><dd>1,001</dd>"))
    }

    @Test("events and notifications have it, too, each for the roles that may")
    func servesOtherLists() throws {
        try makeDead(3)
        let browser = try browser(.operator)
        let events = browser.open("/console/events?type=RENEWAL&env=Production").text
        #expect(events.contains("\(Self.form)/resend_events?env=Production&amp;type=RENEWAL"), "\(events)")
        let form = browser.open("\(Self.form)/resend_events?env=Production&type=RENEWAL").text
        #expect(form.contains("Send again 4") && form.contains("<dt>Environment</dt>"), "\(form)")
        #expect(browser.open("\(Self.form)/resend_events?env=Sandbox").text.contains("Nothing would be changed"))
        #expect(
            browser.open("/console/notifications?state=held").text.contains("\(Self.form)/reprocess?state=held"))
        #expect(browser.open("\(Self.form)/none?state=held").status == 404)
        #expect(browser.open("\(Self.form)/resend?none=1").status == 400)
        for role in [OperatorRole.support, .read] {
            let other = try self.browser(role)
            #expect(!other.open("/console/deliveries?state=dead").text.contains(Self.form))
            #expect(other.open("\(Self.form)/resend?state=dead").status == 403)
        }
        let integrator = try self.browser(.integrator)
        #expect(integrator.open("\(Self.form)/reprocess?state=held").status == 403)
        #expect(try jobs() == 0)
    }

    @Test("a list is a file with its filters, and the audit has it")
    func exports() throws {
        try makeDead(3)
        let browser = try browser(.operator)
        let list = browser.open("/console/deliveries?state=dead&endpoint=ep_1&limit=1").text
        #expect(list.contains("href=\"/console/deliveries?endpoint=ep_1&amp;state=dead&amp;format=csv\""), "\(list)")
        let file = browser.open("/console/deliveries?state=dead&endpoint=ep_1&format=csv")
        #expect(file.status == 200 && file.header("content-type")?.hasPrefix("text/csv") == true)
        #expect(file.text.split(separator: "\r\n").count == 4, "\(file.text)")
        let audit = browser.open("/console/audit?kind=export").text
        #expect(audit.contains("Export a list") && audit.contains("3 rows; endpoint=ep_1 state=dead"), "\(audit)")
        let row = try console.database.texts(
            "SELECT outcome || ' ' || target || ' ' || left(credential, 8) FROM entitled.audit WHERE kind = 'export'")
        #expect(row == ["done deliveries session "])
        #expect(browser.open("/console/deliveries?format=csv&none=1").status == 400)
        let reader = try self.browser(.read)
        #expect(reader.open("/console/customers?format=csv").status == 403)
        #expect(try console.database.count("SELECT count(*) FROM entitled.audit") == 1)
    }
}
