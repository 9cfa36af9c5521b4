import Base
import Customers
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// The forms by which endpoints are added, changed and removed, and customers deleted.
@Suite("Endpoints and deletions in the console") struct EndpointFormTests {
    private let console: RunningConsole
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    private var records: Records { Records(console: console) }

    init() throws {
        console = try RunningConsole()
        let sealer = self.sealer
        try console.onHost { connection in
            try SealingKeyRegister.check(sealer, now: 1, on: connection)
            #expect(try SecretIntake.publish(sealer, on: connection))
        }
        try console.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms, header_names)
            VALUES ('ep_1', 'https://example.com/hook?token=hidden', '{Sandbox}', '{RENEWAL}', '{}', 1000, '{}')
            """)
    }

    private func working<Result>(_ body: () throws -> Result) throws -> Result {
        let sealer = self.sealer
        let work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), keys: { sealer }, endpoints: EndpointRules(apps: ["demo"]),
            clock: console.clock)
        return try console.working(work, body)
    }

    private func loaded(_ id: String) throws -> Endpoint? {
        try console.onHost {
            try EndpointTable.load(id: id, sealer: sealer, now: console.clock.now(), on: $0).first
        }
    }

    private static let form = "/console/changes/new/"
    /// What the form of a new endpoint sends where nothing is typed.
    private static let empty = [
        "format": "revenuecat", "environments": "", "events": "", "excepted_events": "", "apps": "", "ordering": "none",
        "include": "none", "retry_schedule": "", "authorization": "", "headers": "", "secret": "",
        "asymmetric": "false",
        "reason": "a new consumer",
    ]

    @Test("an integrator adds an endpoint, sees its secret once, and no page shows what is secret")
    func adds() throws {
        let browser = try records.browser(.integrator)
        let form = Self.form + "endpoint_add"
        #expect(browser.open("/console/endpoints").text.contains("href=\"\(form)\""))
        let page = browser.open(form).text
        #expect(page.contains("name=\"url\"") && page.contains("type=\"password\""), "\(page)")
        let wrong = try browser.submit(
            form, Self.empty.merging(["url": "ftp://x", "authorization": "Bearer hunter2"]) { $1 })
        #expect(wrong.status == 400 && wrong.text.contains("no URL that webhooks"), "\(wrong.text)")
        #expect(!wrong.text.contains("hunter2"))
        let fields = Self.empty.merging([
            "url": "https://198.100.1.1/hooks", "events": "RENEWAL, EXPIRATION", "environments": "Production",
            "authorization": "Bearer hunter2", "headers": "X-Tenant: topsecret\r\nX-B: c",
        ]) { $1 }
        let shown = try browser.submit(form, fields.merging(["preview": "true"]) { $1 })
        #expect(shown.text.contains("RENEWAL, EXPIRATION") && !shown.text.contains("hunter2"), "\(shown.text)")
        #expect(!shown.text.contains("topsecret"))
        let done = try working { try browser.submit(form, fields) }
        #expect(done.text.contains("The new endpoint, and its secret"), "\(done.text)")
        let match = try #require(done.text.firstMatch(of: #/whsec_[A-Za-z0-9+/=]+/#))
        let id = try #require(
            try console.database.texts("SELECT id FROM entitled.endpoint WHERE id LIKE 'we\\_%'").first)
        let added = try #require(try loaded(id))
        #expect(added.secrets.map(\.text) == [String(match.output)] && added.events == ["RENEWAL", "EXPIRATION"])
        #expect(added.authorization?.exposed == "Bearer hunter2" && added.headers.map(\.name) == ["X-Tenant", "X-B"])
        let auditor = try records.browser()
        let job = try console.database.count("SELECT max(id) FROM entitled.job")
        for path in [
            "/audit", "/jobs/\(job)", "/changes/\(job)", "/endpoints/\(id)", "/changes/new/endpoint_change?id=\(id)",
        ] {
            let page = auditor.open("/console\(path)")
            #expect(page.status == 200, "\(path)")
            for part in ["hunter2", "topsecret", String(match.output)] { #expect(!page.text.contains(part), "\(path)") }
        }
        #expect(!console.log.text.contains("hunter2"))
    }

    @Test("a secret that was given before has to be given again: the endpoint is not added without it")
    func givesAgain() throws {
        let browser = try records.browser(.integrator)
        let form = Self.form + "endpoint_add"
        let fields = Self.empty.merging(["url": "https://198.100.1.1/hooks", "authorization": "Bearer hunter2"]) { $1 }
        browser.open(form)
        let shown = try browser.submit(form, fields.merging(["preview": "true"]) { $1 })
        #expect(shown.text.contains("What will happen"), "\(shown.text)")
        for _ in 0..<2 {
            let without = try browser.submit(form, fields.merging(["authorization": ""]) { $1 })
            #expect(without.status == 400 && without.text.contains("give authorization once more"), "\(without.text)")
        }
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
        let done = try working { try browser.submit(form, fields) }
        #expect(done.text.contains("The new endpoint, and its secret"), "\(done.text)")
        let id = try #require(
            try console.database.texts("SELECT id FROM entitled.endpoint WHERE id LIKE 'we\\_%'").first)
        #expect(try loaded(id)?.authorization?.exposed == "Bearer hunter2")
    }

    @Test("the form of a change has what is so now, and changes what was changed in it")
    func changes() throws {
        let browser = try records.browser(.integrator)
        let form = Self.form + "endpoint_change"
        #expect(browser.open("/console/endpoints/ep_1").text.contains("href=\"\(form)?id=ep_1\""))
        let page = browser.open("\(form)?id=ep_1").text
        #expect(page.contains("value=\"RENEWAL\"") && page.contains("value=\"default\""), "\(page)")
        #expect(!page.contains("token=hidden"))
        let fields = [
            "url": "", "environments": "", "events": "RENEWAL, TEST", "excepted_events": "", "apps": "demo",
            "ordering": "purchase", "include": "none", "retry_schedule": "1m,5m", "authorization": "", "headers": "",
            "asymmetric": "", "reason": "more types",
        ]
        let shown = try browser.submit(form, fields.merging(["preview": "true"]) { $1 })
        #expect(shown.text.contains("RENEWAL, TEST") && !shown.text.contains("It would be refused"), "\(shown.text)")
        let done = try working { try browser.submit(form, fields) }
        #expect(done.text.contains("It is done."), "\(done.text)")
        let now = try #require(try loaded("ep_1"))
        #expect(now.events == ["RENEWAL", "TEST"] && now.environments.isEmpty && now.apps == ["demo"])
        #expect(now.ordering == .purchase && now.url == "https://example.com/hook?token=hidden")
        #expect(now.retrySchedule == RetrySchedule(waits: [60_000, 300_000]))
        browser.open("\(form)?id=ep_1")
        let same = try browser.submit(form, fields)
        #expect(same.status == 400 && same.text.contains("nothing of it would change"), "\(same.text)")
        #expect(browser.open("\(form)?id=none").status == 200)
    }

    @Test("a removal shows what is given up, and needs the id once more")
    func removes() throws {
        let browser = try records.browser(.integrator)
        let form = Self.form + "endpoint_remove"
        let page = browser.open("\(form)?id=ep_1")
        #expect(page.text.contains("What will happen") && page.text.contains("given up by this"), "\(page.text)")
        for typed in ["", "ep_2"] {
            let wrong = try browser.submit(form, ["confirmation": typed, "reason": "gone"])
            #expect(wrong.status == 400 && wrong.text.contains("nothing was changed"), "\(wrong.text)")
        }
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
        let done = try working { try browser.submit(form, ["confirmation": "ep_1", "reason": "gone"]) }
        #expect(done.text.contains("It is done."), "\(done.text)")
        #expect(try loaded("ep_1") == nil)
        let tested = try working {
            try console.database.execute("UPDATE entitled.endpoint SET removed_ms = NULL, disabled_reason = NULL")
            browser.open("\(Self.form)endpoint_test?id=ep_1")
            return try browser.submit("\(Self.form)endpoint_test", ["reason": "is it there"])
        }
        #expect(tested.text.contains("It is done."), "\(tested.text)")
        #expect(try records.browser(.support).open("\(form)?id=ep_1").status == 403)
    }

    @Test("an operator sees in numbers what a deletion takes, and confirms it by the id")
    func deletes() throws {
        try records.buy("anna", "2000000000000001")
        let form = Self.form + "customer_delete"
        let support = try records.browser(.support)
        #expect(!support.open("/console/customers/anna").text.contains(form))
        #expect(support.open("\(form)?id=anna").status == 403)
        let browser = try records.browser()
        #expect(browser.open("/console/customers/anna").text.contains("href=\"\(form)?id=anna\""))
        let page = browser.open("\(form)?id=anna").text
        #expect(page.contains("id count") && page.contains("purchases") && page.contains("pseudonymise"), "\(page)")
        let fields = ["confirmation": "anna", "policy": "pseudonymise", "reason": "asked by mail"]
        let wrong = try browser.submit(form, fields.merging(["confirmation": "ANNA"]) { $1 })
        #expect(wrong.status == 400, "\(wrong.text)")
        // A way that was not shown is shown first.
        let other = try browser.submit(form, fields.merging(["policy": "erase"]) { $1 })
        #expect(other.status == 409, "\(other.text)")
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
        browser.open("\(form)?id=anna")
        let done = try working { try browser.submit(form, fields) }
        #expect(done.text.contains("It is done."), "\(done.text)")
        #expect(browser.open("/console/customers/anna").status == 404)
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        try console.onHost { connection in while try erasure.step(on: connection) {} }
        let job = try console.database.count("SELECT max(id) FROM entitled.job")
        for path in ["/audit", "/jobs", "/jobs/\(job)", "/changes/\(job)"] {
            let page = browser.open("/console\(path)")
            #expect(page.status == 200 && !page.text.contains(">anna<"), "\(path)")
        }
    }
}
