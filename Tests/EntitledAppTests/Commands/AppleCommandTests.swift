import AppStoreAPI
import Base
import Crypto
import EntitledApp
import StoreSimulator
import Testing

/// `entitled apple …` against the simulated store.
@Suite struct AppleCommandTests {
    private static let day: Int64 = 86_400_000

    private let life: SubscriberLife
    private let service: StoreService
    private let bench: ProgramFixture

    init() throws {
        let now = SystemClock().now()
        let app = StoreApp()
        var life = SubscriberLife(app: app, seed: 3)
        life.start(at: now - 9 * AppleCommandTests.day)
        life.buyOnce(at: now - 8 * AppleCommandTests.day)
        life.refund(.oneTime(0), at: now - 7 * AppleCommandTests.day)
        life.downgrade(to: .basicMonthly, at: now - 6 * AppleCommandTests.day)
        self.life = life
        let pki = try StorePKI.generate(now: now)
        var settings = StoreSettings()
        settings.app = app
        let service = try StoreService(
            settings, pki, token: .generate(bundleID: app.bundleID), notifications: life.notifications)
        try service.start()
        self.service = service
        var bench = ProgramFixture()
        bench.configuration.file("/srv/key.p8", try service.token.key.pem())
        bench.configuration.file(
            "/srv/entitled.json5",
            """
            { trust: { root_sha256: ["\(pki.rootFingerprint)"] },
              database: { url: "postgres://nobody@127.0.0.1:1/nothing?connect_timeout=1" },
              apps: [ { id: "other", bundle_id: "com.example.other", environments: ["Sandbox"] },
                      { id: "demo", bundle_id: "\(app.bundleID)", apple_app_id: \(app.appleAppID),
                        environments: ["Sandbox"],
                        server_api: { issuer_id: "\(service.token.issuerID)", key_id: "\(service.token.keyID)",
                                      private_key_file: "key.p8", base_url: "\(service.baseURL)" } } ] }
            """)
        self.bench = bench
    }

    private func run(_ words: String...) -> ProgramFixture.Outcome {
        defer { withExtendedLifetime(service) {} }
        return bench.run(["apple"] + words + ["--config", "/srv/entitled.json5"])
    }

    @Test func `status shows the subscriptions of a customer`() throws {
        let shown = run("status", life.latest.id)
        #expect(shown.status == 0 && shown.errors.isEmpty)
        #expect(shown.output.hasPrefix("demo, Sandbox\n"))
        let row = shown.output.split(separator: "\n").last.map(String.init) ?? ""
        for part in ["active", "pro_monthly", Timestamp.text(life.expires), "renews as basic_monthly", life.latest.id] {
            #expect(row.contains(part), "\(part): \(row)")
        }
        let document = run("status", life.account.appTransactionID, "--json").document
        #expect(document?["environment"]?.stringValue == "Sandbox")
        let state = document?["subscriptions"]?.arrayValue?.first
        #expect(state?["status"]?.stringValue == "active")
        #expect(state?["transaction"]?["transactionId"]?.stringValue == life.latest.id)
        #expect(state?["renewal"]?["autoRenewProductId"]?.stringValue == "basic_monthly")
    }

    @Test func `transactions and refunds are shown`() throws {
        let all = run("transactions", life.latest.id)
        #expect(all.status == 0 && all.output.contains("coins_100") && all.output.contains("pro_monthly"))
        let document = run("transactions", life.latest.id, "--json").document
        #expect(document?["transactions"]?.arrayValue?.count == 2)
        let refunds = run("refunds", life.latest.id)
        #expect(refunds.output.contains("coins_100") && !refunds.output.contains("pro_monthly"))
        #expect(refunds.output.contains("1.99 "))
    }

    @Test func `an order is shown, and one that Apple does not know is one line`() throws {
        let id = "M" + String(try #require(UInt64(life.latest.id)), radix: 36, uppercase: true)
        #expect(run("order", id).output.contains("pro_monthly"))
        let none = run("order", "MNOTHING")
        #expect(none.status == 1 && none.errorLines == 1)
        #expect(none.errors.contains("Apple knows no order MNOTHING of the app demo (Sandbox)"))
    }

    @Test func `an extension is only done by who says so`() throws {
        let asked = run("extend", life.latest.id, "--days", "3", "--reason", "outage")
        #expect(asked.status == 2 && asked.errors.contains("--yes"))
        let done = run("extend", life.latest.id, "--days", "3", "--reason", "outage", "--yes", "--json").document
        #expect(done?["expires_at"]?.stringValue == Timestamp.text(life.expires + 3 * AppleCommandTests.day))
        #expect(done?["request_id"]?.stringValue?.isEmpty == false)
        #expect(run("status", life.latest.id).output.contains(Timestamp.text(life.expires + 3 * AppleCommandTests.day)))
        for words in [["--days", "91", "--reason", "outage"], ["--days", "3"], ["--days", "3", "--reason", "fun"]] {
            #expect(bench.run(["apple", "extend", life.latest.id] + words).status == 2, "\(words)")
        }
    }

    @Test func `an extension for all is begun, and followed`() throws {
        let begun = run(
            "extend-all", "pro_monthly", "--days", "2", "--reason", "other", "--request-id", "all-1", "--yes")
        #expect(begun.status == 0)
        #expect(begun.output.contains("entitled apple extend-all pro_monthly --status all-1"))
        let shown = run("extend-all", "pro_monthly", "--status", "all-1", "--json").document
        #expect(shown?["complete"]?.boolValue != nil)
        let none = run("extend-all", "pro_monthly", "--status", "all-2")
        #expect(none.status == 1 && none.errors.contains("4040009"))
    }

    @Test func `what Apple refuses and a key that does not work are one line`() throws {
        let unknown = run("status", "123456")
        #expect(unknown.status == 1 && unknown.errorLines == 1 && unknown.errors.contains("4040010"))
        service.add(StoreFault(.unauthorized))
        let refused = run("status", life.latest.id)
        #expect(refused.status == 1 && refused.errorLines == 1)
        #expect(refused.errors.contains(service.token.keyID) && refused.errors.contains("revoked"))
    }

    @Test func `without a URL at Apple a test notification is refused with the reason`() throws {
        let refused = run("test-notification")
        #expect(refused.status == 1 && refused.errors.contains("App Store Connect has no URL"))
    }

    @Test(arguments: [
        ("--app nobody", "no app 'nobody' is configured; configured: other, demo", Int32(2)),
        ("--app other", "has no server_api", 1), ("--environment Production", "does not accept data of Production", 2),
    ])
    func `an app or environment that cannot be asked is said`(words: String, reason: String, status: Int32) throws {
        let said = bench.run(
            ["apple", "status", "1", "--config", "/srv/entitled.json5"] + words.split(separator: " ").map(String.init))
        #expect(said.status == status && said.errors.contains(reason), "\(said.errors)")
    }
}
