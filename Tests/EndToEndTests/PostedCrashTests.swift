import Base
import FoundationEssentials
import StoreSimulator
import TestSupport
import Testing

/// The api process dies between what it keeps and what it answers.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct PostedCrashTests {
    private static let key = "appl_a_public_key_for_tests"

    private func site(applyTimeout: String = "2s") throws -> Site {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.configure([
            "api": .object([
                "listen": .string("127.0.0.1:0"), "public_keys": .strings([Self.key]),
                "apply_timeout": .string(applyTimeout),
            ])
        ])
        try site.run("migrate")
        return site
    }

    private func post(_ started: StoreNotification, _ site: Site, to api: Program) throws -> HTTPCall {
        let jws = try NotificationSigner(site.pki).sign(try #require(started.transaction))
        let body = JSON.object(["app_user_id": .string("user-1"), "fetch_token": .string(jws)])
        let address = try api.address("api")
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        return HTTPCall.send(
            "POST", "/v1/receipts", headers: ["Authorization": "Bearer \(Self.key)"], body: body.bytes, to: port)
    }

    @Test(arguments: [("post.before-commit", 0), ("post.after-commit", 1)] as [(String, Int64)])
    func `killed at its commit nothing is half there, and asked again all is`(point: String, kept: Int64) throws {
        let site = try site()
        let database = try #require(site.database)
        var life = SubscriberLife(app: Site.app, seed: 900, withToken: false)
        let started = life.start(at: SystemClock().now() - StoreProduct.day)
        let first = try site.start("api", environment: ["ENTITLED_FAIL_POINT": point])
        #expect(try post(started, site, to: first).status == 0)
        #expect(try first.wait() == 128 + 9)
        for table in ["pending", "notification_key", "customer", "action"] {
            #expect(try database.count("SELECT count(*) FROM entitled.\(table)") == kept, "\(table)")
        }
        // Without a worker it cannot be answered yet.
        let second = try site.start("api")
        let waiting = try post(started, site, to: second)
        #expect(waiting.status == 503)
        #expect(waiting.header("retry-after") != nil)
        let worker = try site.start("worker")
        var answer = waiting
        try eventually("it is answered") {
            answer = try post(started, site, to: second)
            return answer.status == 200
        }
        #expect(answer.json["subscriber"]?["entitlements"]?["pro"] != nil)
        #expect(answer.json["subscriber"]?["original_app_user_id"] == .string("user-1"))
        #expect(try database.texts("SELECT type FROM entitled.event") == ["INITIAL_PURCHASE"])
        #expect(try database.texts("SELECT owner FROM entitled.purchase") == ["user-1"])
        try site.run("rebuild", "--dry-run")
        for program in [second, worker] { program.kill(15) }
    }

    @Test func `told to end, it tells who waits to come again, and waits for nobody itself`() throws {
        let site = try site(applyTimeout: "60s")
        let database = try #require(site.database)
        var life = SubscriberLife(app: Site.app, seed: 901, withToken: false)
        let started = life.start(at: SystemClock().now() - StoreProduct.day)
        let api = try site.start("api")
        let waiting = TestThread { try post(started, site, to: api) }
        try eventually("it is kept") { try database.count("SELECT count(*) FROM entitled.pending") == 1 }
        let told = ContinuousClock.now
        api.kill(15)
        let answer = try waiting.value()
        #expect(answer.status == 503)
        #expect(answer.header("retry-after") != nil)
        #expect(try api.wait() == 0)
        // Of drain_timeout, 20 s, the listener may take a tenth.
        #expect(ContinuousClock.now - told < .seconds(10))
    }
}
