import Base
import Crypto
import FoundationEssentials
import Glibc
import StoreSimulator
import TestSupport
import Testing

/// Apple's questions about refunds, from the notification to the answer, by real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RefundCommandTests {
    private let site: Site
    private let apple: StoreService
    private var life = SubscriberLife(app: Site.app, seed: 11)

    init() throws {
        let now = SystemClock().now()
        life.start(at: Site.start)
        life.requestConsumption(reason: "LEGAL", at: now - 3_600_000)
        let token = TokenCheck(
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "KEY1234567", key: try SigningKey.generate(.p256),
            bundleID: Site.app.bundleID)
        var settings = StoreSettings()
        settings.app = Site.app
        apple = StoreService(
            settings, try StorePKI.generate(now: now), token: token, notifications: life.notifications)
        try apple.start()
        site = try Site(try TestCluster.shared.makeMigratedDatabase())
        let key = "\(site.folder)/AuthKey.p8"
        try token.key.pem().write(toFile: key, atomically: true, encoding: .utf8)
        chmod(key, 0o600)
    }

    private func configure(_ refunds: JSON) throws {
        try site.configure([
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": .string(Site.app.bundleID),
                    "apple_app_id": .int(Site.app.appleAppID),
                    "server_api": .object([
                        "issuer_id": .string("57246542-96fe-1a63-e053-0824d011072a"), "key_id": .string("KEY1234567"),
                        "private_key_file": .string("\(site.folder)/AuthKey.p8"),
                        "base_url": .string(apple.baseURL),
                    ]),
                    "refunds": refunds,
                ])
            ])
        ])
    }

    private func request(_ more: String...) throws -> JSON? {
        try site.run("refunds", "list", "--json").document?["refunds"]?.arrayValue?.first
    }

    private func receive() throws -> [Program] {
        let processes = [try site.start("ingest"), try site.start("worker")]
        let address = try processes[0].address("ingest")
        for notification in life.notifications { #expect(try site.post(notification, to: address) == 200) }
        return processes
    }

    @Test func `a policy answers by itself`() throws {
        defer { apple.stop() }
        try configure(
            .object(["policy": .string("auto"), "preference": .string("decline"), "consent": .bool(true)]))
        let processes = try receive()
        defer { for process in processes { process.kill(SIGTERM) } }
        try eventually("the answer is sent") { try request()?["state"]?.stringValue == "sent" }
        let found = try request()
        #expect(found?["transaction_id"]?.stringValue == life.latest.id)
        #expect(found?["app_user_id"]?.stringValue == life.account.token)
        #expect(found?["reasons"] == .strings(["LEGAL"]))
        #expect(found?["answered_by"]?.stringValue == "policy")
        #expect(found?["answer"]?["preference"]?.stringValue == "DECLINE")
        #expect(found?["open"]?.boolValue == false)
    }

    @Test func `a person answers by a command, once, and only with consent`() throws {
        defer { apple.stop() }
        try configure(.object(["policy": .string("ask")]))
        let processes = try receive()
        defer { for process in processes { process.kill(SIGTERM) } }
        try eventually("the question is there") { try request()?["open"]?.boolValue == true }
        let id = life.latest.id
        try site.run("refunds", "answer", id, status: 2)
        try site.run("refunds", "answer", "1", "--consent", status: 1)
        try site.run("refunds", "answer", id, "--consent", "--preference", "grant_full", "--delivery", "other")
        try eventually("the answer is sent") { try request()?["state"]?.stringValue == "sent" }
        let late = try site.run("refunds", "answer", id, "--consent", status: 1)
        #expect(late.logLines.count == 1)
        #expect(late.log.contains("an answer was sent"))
        #expect(try request()?["answer"]?["delivery"]?.stringValue == "UNDELIVERED_OTHER")
        #expect(try site.run("refunds", "list", "--open").text.contains("Apple waits for no answer"))
    }
}
