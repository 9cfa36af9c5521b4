import Base
import Crypto
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// The forms that tell Apple and consumers something: an answer about a refund, an extension, a new secret.
@Suite("Refund answers, extensions and secrets in the console") struct SellerPageTests {
    private let console: RunningConsole
    private var records: Records { Records(console: console) }

    init() throws {
        console = try RunningConsole()
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_1', 'https://example.com/hook', '{}', '{}', '{}', 1000)
            """)
    }

    private func working<Result>(_ body: () throws -> Result) throws -> Result {
        let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
        let work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), refundApps: ["demo"], keys: { sealer },
            clock: console.clock)
        return try console.working(work, body)
    }

    @Test("support answers a question from its card, after a look at what will happen, and only with consent")
    func answers() throws {
        try records.buy("anna", "2000000000000001")
        try records.ask("2000000000000001", reason: "UNSATISFIED", left: 3_600_000)
        // The worker counts by the database's clock.
        try console.database.execute("UPDATE entitled.refund_request SET deadline_ms = 9000000000000")
        let browser = try records.browser(.support)
        let form = "/console/changes/new/refund_answer"
        let link = "\(form)?app=demo&amp;environment=Production&amp;transaction=2000000000000001"
        #expect(browser.open("/console/refunds").text.contains("href=\"\(link)\""), "\(browser.page?.text ?? "")")
        let page = browser.open(link.replacing("&amp;", with: "&")).text
        #expect(page.contains("the customer agreed") && page.contains("Decision that you prefer"))
        let fields = ["preference": "decline", "delivery": "delivered", "consumed": "", "sample_content": "false"]
        let without = try browser.submit(form, fields.merging(["consent": "false", "reason": "t"]) { $1 })
        #expect(without.status == 400 && without.text.contains("consent must be true"), "\(without.text)")
        let answer = fields.merging(["consent": "true", "reason": "ticket 1"]) { $1 }
        let shown = try browser.submit(form, answer.merging(["preview": "true"]) { $1 })
        #expect(shown.text.contains("What will happen") && shown.text.contains("DECLINE"), "\(shown.text)")
        let done = try working { try browser.submit(form, answer) }
        #expect(done.status == 200 && done.text.contains("It is done."), "\(done.text)")
        #expect(done.text.contains("href=\"/console/refunds\""))
        #expect(
            try console.database.texts(
                "SELECT concat_ws(' ', state, answered_by LIKE 'support%') FROM entitled.refund_request")
                == ["ready t"])
        #expect(browser.open("/console/refunds").text.contains("to be sent"))
        #expect(try records.browser(.integrator).open(form).status == 403)
    }

    @Test("a new secret stands on the page that answers the form, once")
    func rotates() throws {
        let browser = try records.browser(.integrator)
        let form = "/console/changes/new/endpoint_rotate_secret"
        #expect(browser.open("/console/endpoints/ep_1").text.contains("href=\"\(form)?id=ep_1\""))
        browser.open("\(form)?id=ep_1")
        let before = browser.page
        let fields = ["overlap": "24h", "reason": "a colleague left"]
        let shown = try working { try browser.submit(form, fields) }
        #expect(shown.status == 200 && shown.text.contains("it is not shown again"), "\(shown.text)")
        let match = try #require(shown.text.firstMatch(of: #/whsec_[A-Za-z0-9+/=]+/#))
        let secret = String(match.output)
        #expect(shown.header("cache-control")?.contains("no-store") == true)
        // The same form again, as by the way back: it is the same change, whose page has no secret.
        browser.keep(page: before)
        let again = try browser.submit(form, fields)
        #expect(
            again.status == 200 && again.text.contains("It is done.") && !again.text.contains("whsec_"), "\(again.text)"
        )
        let auditor = try records.browser()
        let job = try console.database.count("SELECT max(id) FROM entitled.job")
        for path in [
            "/console/audit", "/console/jobs", "/console/jobs/\(job)", "/console/changes/\(job)",
            "/console/endpoints/ep_1",
        ] {
            let page = auditor.open(path)
            #expect(page.status == 200 && !page.text.contains(secret) && !page.text.contains("sealed"), "\(path)")
        }
        #expect(!console.log.text.contains(secret))
        #expect(try console.database.count("SELECT count(*) FROM entitled.endpoint_secret") == 1)
        #expect(try records.browser(.support).open(form).status == 403)
    }

    @Test("a secret that the consumer has already is taken, and stands on no page")
    func takesSecret() throws {
        let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
        let worker = try console.database.connect(role: "entitled_worker")
        try SealingKeyRegister.check(sealer, now: 1, on: worker)
        #expect(try SecretIntake.publish(sealer, on: worker))
        let browser = try records.browser(.integrator)
        let form = "/console/changes/new/endpoint_rotate_secret"
        browser.open("\(form)?id=ep_1")
        let secret = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 24))
        let fields = ["overlap": "24h", "secret": secret, "reason": "as the consumer has it"]
        let shown = try browser.submit(form, fields.merging(["preview": "true"]) { $1 })
        #expect(shown.text.contains("What will happen") && !shown.text.contains(secret), "\(shown.text)")
        // The page does not keep it; sent without, it would be another change.
        let without = try browser.submit(form, ["overlap": "24h", "secret": "", "reason": "r"])
        #expect(without.status == 400 && without.text.contains("give secret once more"), "\(without.text)")
        let done = try working { try browser.submit(form, fields) }
        #expect(done.status == 200 && done.text.contains("It is done.") && !done.text.contains(secret), "\(done.text)")
        let loaded = try EndpointTable.load(id: "ep_1", sealer: sealer, now: console.clock.now(), on: worker).first
        #expect(loaded?.secrets.map(\.text) == [secret])
    }

    @Test("an extension has its form on the page of a subscription")
    func extends() throws {
        try records.buy("anna", "2000000000000001")
        let browser = try records.browser(.support)
        let form = "/console/changes/new/purchase_extend"
        let path = "/console/purchases/demo/Production/2000000000000001"
        #expect(browser.open(path).text.contains("\(form)?app=demo&amp;environment=Production&amp;id=2000000000000001"))
        browser.open("\(form)?app=demo&environment=Production&id=2000000000000001")
        let fields = ["days": "7", "apple_reason": "outage", "reason": "ticket 2"]
        let shown = try browser.submit(form, fields.merging(["preview": "true"]) { $1 })
        #expect(shown.text.contains("expires at") && !shown.text.contains("It would be refused"), "\(shown.text)")
        let wrong = try browser.submit(form, fields.merging(["days": "0"]) { $1 })
        #expect(wrong.status == 400 && wrong.text.contains("days must be a whole number from 1 to 90"))
    }
}
