import Base
import Crypto
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// An event that is sent again by the form of its page.
@Suite("Events sent again in the console") struct EventResendPageTests {
    private let console: RunningConsole
    private static let event = NewEvent(
        lane: Lane(number: 7), id: Array(Digest.sha256(Array("event".utf8)).prefix(16)), type: "RENEWAL", app: "demo",
        environment: .production, originalTransactionID: "20001", body: Array(#"{"event":{"type":"RENEWAL"}}"#.utf8))
    private static let id = UUIDText.upper(event.id)
    private static let form = "/console/changes/new/event_resend"

    init() throws {
        console = try RunningConsole()
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            SELECT 'ep_' || n, 'https://example.com/hook', '{}', '{}', '{}', 1000 FROM generate_series(1, 2) n
            """)
        let worker = try console.database.connect(role: "entitled_worker")
        _ = try worker.transaction {
            try EventTable.insert([Self.event], now: console.clock.now() - 60_000, on: worker)
        }
        try console.database.execute("UPDATE entitled.delivery SET state = 1, attempts = 1")
    }

    private func browser(_ role: OperatorRole) throws -> TestBrowser {
        try console.addUser(role.rawValue, role)
        let browser = TestBrowser(console)
        let link = try console.link(for: role.rawValue)
        browser.open(link)
        try browser.submit(link)
        return browser
    }

    private func pending() throws -> [String] {
        try console.database.texts("SELECT endpoint FROM entitled.delivery WHERE state = 0 ORDER BY endpoint")
    }

    @Test("support sends it to one endpoint, and to all")
    func sends() throws {
        let browser = try browser(.support)
        #expect(browser.open("/console/events/\(Self.id)").text.contains("href=\"\(Self.form)?id=\(Self.id)\""))
        let work = ChangeWork(entitlements: [], foldSettings: FoldSettings(), clock: console.clock)
        for (endpoint, expected) in [("ep_2", ["ep_2"]), ("", ["ep_1", "ep_2"])] {
            let form = browser.open("\(Self.form)?id=\(Self.id)").text
            #expect(form.contains("every endpoint that takes it") && form.contains(">ep_2</option>"))
            let worker = TestThread { [database = console.database] in
                let connection = try database.connect(role: "entitled_worker")
                while try work.next(on: connection) == nil {}
            }
            let done = try browser.submit(Self.form, ["endpoint": endpoint, "reason": "the consumer lost it"])
            try worker.value()
            #expect(
                done.text.contains("It is done.") && done.text.contains("/console/events/\(Self.id)"), "\(done.text)")
            #expect(try pending() == expected)
        }
    }

    @Test("without an answer of the database the form is not shown as if the event had no endpoint")
    func saysThatTheDatabaseIsAway() throws {
        let browser = try browser(.support)
        let path = "\(Self.form)?id=\(Self.id)"
        let holder = try console.database.connect()
        _ = try holder.query("BEGIN")
        _ = try holder.query("LOCK TABLE entitled.event")
        let (port, host, cookie) = (console.port, browser.host, browser.cookie ?? "")
        let asking = TestThread {
            HTTPCall.send("GET", path, headers: ["Host": host, "Cookie": cookie], body: [], to: port).status
        }
        try console.database.untilBlocked()
        try console.database.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """)
        #expect(try asking.value() == 503)
        _ = try holder.query("ROLLBACK")
        // What is wrong with the id is another matter.
        #expect(browser.open("\(Self.form)?id=none").status == 200)
    }

    @Test("who may not send it is offered nothing")
    func keepsToRoles() throws {
        let browser = try browser(.read)
        #expect(!browser.open("/console/events/\(Self.id)").text.contains("/console/changes/new"))
        #expect(browser.open("\(Self.form)?id=\(Self.id)").status == 403)
        let operating = try self.browser(.operator)
        for kind in ["bulk_resend", "customer_give_up"] {
            #expect(operating.open("/console/changes/new/\(kind)?id=x").status == 404)
        }
    }

    @Test("the page of a change of many rows tells how far it is, and offers its end")
    func showsProgress() throws {
        let browser = try browser(.operator)
        let selection = BulkSelection(
            .deliveries(DeliveryQuery.Filter(state: .delivered), event: nil), until: console.clock.now())
        let request = ChangeTable.Request(
            .bulkResend, "deliveries", parameters: selection.json, reason: "down",
            by: ChangeOrigin(user: "operator", credential: .session("cs"), address: "", userAgent: nil),
            idempotencyKey: "k", fingerprint: [UInt8](repeating: 1, count: 32))
        _ = try ChangeTable.ask(request, on: try console.database.connect(role: "entitled_console"))
        let shown = browser.open("/console/changes/1").text
        #expect(shown.contains("under way") && shown.contains("0 %") && shown.contains("changes/new/job_cancel?id=1"))
        let job = browser.open("/console/jobs/1").text
        #expect(job.contains("0 % are done") && job.contains("changes/new/job_cancel?id=1"), "\(job)")
        let worker = try console.database.connect(role: "entitled_worker")
        _ = try JobDriver(1, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, _ in false }
        let over = browser.open("/console/changes/1").text
        #expect(over.contains("100 %") && over.contains("<dt>Pending</dt><dd>2</dd>"), "\(over)")
        let ended = browser.open("/console/jobs/1").text
        #expect(ended.contains("Put in line") && ended.contains("<dt>Pending</dt><dd>2</dd>"), "\(ended)")
        #expect(!over.contains("job_cancel") && !ended.contains("job_cancel"))
    }
}
