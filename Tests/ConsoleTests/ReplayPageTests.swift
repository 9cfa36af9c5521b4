import Base
import Crypto
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Forms of replays and of grants to many customers: what is chosen, what will happen, and the job.
@Suite("Replays and grants to many in the console") struct ReplayPageTests {
    private let console: RunningConsole
    private static let form = "/console/changes/many"

    init() throws {
        console = try RunningConsole()
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_1', 'https://example.com/hook', '{}', '{}', '{}', 1000)
            """)
    }

    private func browser(_ role: OperatorRole) throws -> TestBrowser { try Records(console: console).browser(role) }
    private func jobs() throws -> Int64 { try console.database.count("SELECT count(*) FROM entitled.job") }

    /// - Parameter time: nil: a minute ago by the console's clock; ms.
    private func makeEvents(_ count: Int, at time: Int64? = nil) throws {
        let worker = try console.database.connect(role: "entitled_worker")
        let events = (1...count).map { number in
            NewEvent(
                lane: Lane(number: Int16(number)), id: Array(Digest.sha256(Array("event \(number)".utf8)).prefix(16)),
                type: "RENEWAL", app: "demo", environment: .production, originalTransactionID: "2000\(number)",
                body: Array(#"{"event":{"type":"RENEWAL"}}"#.utf8))
        }
        _ = try worker.transaction {
            try EventTable.insert(events, now: time ?? console.clock.now() - 60_000, on: worker)
        }
        try console.database.execute("DELETE FROM entitled.delivery")
    }

    @Test("webhooks are chosen, shown in numbers, and sent by a job")
    func replaysWebhooks() throws {
        try makeEvents(3)
        let browser = try browser(.operator)
        #expect(browser.open("/console/jobs").text.contains("\(Self.form)/replay_webhooks"))
        let empty = browser.open("\(Self.form)/replay_webhooks")
        #expect(empty.status == 200 && empty.text.contains("Show what will happen") && empty.text.contains("ep_1"))
        let wrong = browser.open("\(Self.form)/replay_webhooks?endpoint=ep_1&since=9999-12-31")
        #expect(wrong.status == 400 && wrong.text.contains("since must be past"), "\(wrong.text)")
        #expect(wrong.text.contains("value=\"9999-12-31\""))
        let shown = browser.open("\(Self.form)/replay_webhooks?endpoint=ep_1&mode=missing&since=7d").text
        #expect(shown.contains("Send again 3") && shown.contains("What was chosen"), "\(shown)")
        #expect(try jobs() == 0)
        let job = try browser.submit("\(Self.form)/replay_webhooks", ["reason": "down"])
        #expect(job.text.contains("0 % are done") && job.text.contains("changes/new/job_cancel?id=1"), "\(job.text)")
        let worker = try console.database.connect(role: "entitled_worker")
        _ = try JobDriver(1, kinds: WebhookReplayWork.kinds).attend(on: worker, rest: { _ in }) { _, _ in false }
        let done = browser.open("/console/jobs/1").text
        #expect(done.contains("<dt>Pending</dt><dd>3</dd>") && done.contains("/console/endpoints/ep_1"), "\(done)")
        #expect(browser.open("/console/changes/1").text.contains("It is done."))
        #expect(try self.browser(.integrator).open("\(Self.form)/replay_webhooks").status == 403)
    }

    @Test("a customers' page grants to those who are listed, and tells who gets it before")
    func grantsToMany() throws {
        let seen = PostgresValue.int8(console.clock.now() - 60_000)
        try console.database.execute(
            """
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            VALUES ('<b>x', $1::int8 + 1), ('y', $1::int8 + 2), ('z', $1::int8 + 3)
            """, [seen])
        try console.database.execute(
            """
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            SELECT original_app_user_id, original_app_user_id, first_seen_ms FROM entitled.customer
            """)
        let browser = try browser(.support)
        let list = browser.open("/console/customers?limit=2").text
        #expect(list.contains("Grant to the 2 listed"), "\(list)")
        let chosen = try browser.submit("\(Self.form)/grant")
        #expect(chosen.status == 200 && chosen.text.contains("Show what will happen"), "\(chosen.text)")
        let shown = try browser.submit("\(Self.form)/grant", ["entitlement": "pro", "duration": "weekly"])
        #expect(shown.text.contains("Grant to 2") && shown.text.contains("NON_RENEWING_PURCHASE"), "\(shown.text)")
        #expect(try jobs() == 0)
        let job = try browser.submit("\(Self.form)/grant", ["reason": "a present"])
        #expect(job.text.contains("0 % are done"), "\(job.text)")
        let parameters = try console.database.texts("SELECT parameters FROM entitled.job")
        #expect(parameters.first?.contains(#""customer_ids":["z","y"]"#) == true, "\(parameters)")
        #expect(
            !list.contains("All that match")
                && browser.open("/console/customers?since=1d").text.contains("grant?since=1d"))
        let filtered = browser.open("\(Self.form)/grant?since=1d&entitlement=pro&duration=weekly").text
        #expect(filtered.contains("Grant to 3"), "\(filtered)")
        #expect(try !self.browser(.read).open("/console/deliveries").text.contains("changes/many/grant"))
    }

    @Test("an outage's page tells what was withheld, and leads to what sends it and looks again")
    func sendsWithheld() throws {
        let records = Records(console: console)
        let minute = try records.minute()
        try records.listen(minute)
        try records.listen(minute - 120)
        for before in 1...65 { try records.listen(minute - Int64(before)) }
        // The outage is about one purchase of two; another endpoint was added later.
        let (signed, end) = ((minute - 90) * 60_000, (minute - 65) * 60_000)
        try makeEvents(2, at: end - 1)
        try records.notify(
            "5b9f6f0a-2c86-4a87-9b13-0f5f0e1a2b3c", about: "20001", type: "DID_RENEW", signed: signed,
            seq: SequenceGenerator.least(at: end + 60_000), source: .history)
        for (lane, id, time) in [(Int16(1), "20001", signed), (2, "20002", end + 3_600_000)] {
            try console.database.execute(
                """
                INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload,
                    source) VALUES ($1, 'demo', 0, $2, gen_random_uuid(), 1, $3, 1, '', 1)
                """, [.int2(lane), .text(id), .int8(time)])
        }
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_late', 'https://example.com/late', '{}', '{}', '{}', $1)
            """, [.int8(end)])
        let browser = try records.browser()
        let page = browser.open("/console/outages/\(minute - 120)").text
        #expect(page.contains("Those of these events that an endpoint takes and never had"), "\(page)")
        #expect(page.contains("0 sent, 1 withheld from all endpoints") && !page.contains("ep_late"), "\(page)")
        let link = "\(Self.form)/replay_webhooks?endpoint=ep_1&amp;mode=missing&amp;outage=\(minute - 120)"
        let shown = browser.open(link.replacing("&amp;", with: "&")).text
        #expect(shown.contains("Send again 1") && !shown.contains("Send again 2"), "\(shown)")
        #expect(page.contains(link) && page.contains("\(Self.form)/outage_look?app="), "\(page)")
        #expect(try !records.browser(.read).open("/console/outages/\(minute - 120)").text.contains(Self.form))
    }
}
