import Base
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// What an app posts becomes a record, once, in every order with what Apple sends.
@Suite struct PostedReceiptTests {
    private static let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
    private static let day = StoreProduct.day

    /// A subscription that began yesterday.
    private func life(_ seed: UInt64, withToken: Bool = false) -> (SubscriberLife, StoreNotification) {
        var life = SubscriberLife(app: Installation.app, seed: seed, withToken: withToken)
        let started = life.start(at: SystemClock().now() - Self.day)
        return (life, started)
    }

    private func events(_ installation: Installation) throws -> [String] {
        try installation.database.texts("SELECT type FROM entitled.event ORDER BY type")
    }

    private func owners(_ installation: Installation) throws -> [String] {
        try installation.database.texts("SELECT DISTINCT owner FROM entitled.purchase ORDER BY 1")
    }

    @Test func `a posted transaction is answered with the entitlement that it gives`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let bench = try PostingFixture(installation)
        let (life, started) = life(500)
        let answer = bench.post(
            try PostingFixture.jws(started), by: "user-1",
            ["presented_offering_identifier": .string("spring"), "price": .string("9.99"), "currency": .string("USD")])
        #expect(answer.status == 200)
        let subscriber = answer.json.subscriber
        #expect(subscriber?["original_app_user_id"] == .string("user-1"))
        #expect(subscriber?["entitlements"]?["pro"]?["product_identifier"] == .string("pro_monthly"))
        #expect(
            subscriber?["subscriptions"]?["pro_monthly"]?["store_transaction_id"] == .string(life.latest.id))
        let event = try #require(try consumer.wait(1).first)
        #expect(event.type == "INITIAL_PURCHASE")
        let body = try JSON(parsing: event.body)["event"]
        #expect(body?["app_user_id"] == .string("user-1"))
        #expect(body?["presented_offering_id"] == .string("spring"))
        #expect(try installation.heldReasons() == [])
        try installation.expectNoDifferences()
    }

    enum Order: CaseIterable {
        case notificationThenPost, postThenNotification, postTwice, together
    }

    @Test(arguments: Order.allCases)
    func `a notification and a post of one purchase make one event and one owner`(order: Order) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let (_, started) = life(501)
        let jws = try PostingFixture.jws(started)
        func post() { #expect(bench.post(jws, by: "user-1").status == 200) }
        func notify() throws { #expect(try installation.post(started).status == 200) }
        var entries: ClosedRange<Int64> = 2...2
        switch order {
        case .notificationThenPost:
            try notify()
            try installation.untilApplied(1)
            post()
            // It says nothing that the notification did not say, so that nothing of it is kept.
            entries = 1...1
        case .postThenNotification:
            post()
            try notify()
        case .postTwice:
            post()
            post()
            entries = 1...1
        case .together:
            let threads = (0..<6).map { number in
                TestThread { () -> Int in
                    number == 3 ? try installation.post(started).status : bench.post(jws, by: "user-1").status
                }
            }
            #expect(try threads.map { try $0.value() } == [200, 200, 200, 200, 200, 200])
            entries = 1...2
        }
        try eventually("everything is applied") {
            try installation.database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        #expect(entries.contains(try installation.database.count("SELECT count(*) FROM entitled.notification")))
        #expect(try events(installation) == ["INITIAL_PURCHASE"])
        #expect(try installation.database.count("SELECT count(*) FROM entitled.purchase") == 1)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.customer") == 1)
        let connection = try installation.database.connect()
        let owner = try #require(try owners(installation).first)
        let ids = try CustomerTable.load([owner], on: connection)[owner]?.appUserIDs
        #expect(ids?.contains("user-1") == true)
        #expect(try installation.heldReasons() == [])
        try installation.expectNoDifferences()
    }

    @Test func `what an app says of a transaction is kept once, however often it says something else`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let (_, started) = life(520)
        let jws = try PostingFixture.jws(started) { $0.with("price", nil) }
        func post(_ number: Int) -> Int {
            bench.post(
                jws, by: "user-1",
                [
                    "presented_offering_identifier": .string("spring-\(number)"), "price": .int(Int64(number)),
                    "currency": .string("USD"),
                ]
            ).status
        }
        #expect((1...6).map(post) == [200, 200, 200, 200, 200, 200])
        #expect(bench.post(jws, by: "user-1", ["presented_placement_identifier": .string("home")]).status == 200)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.fact WHERE kind = 7") == 2)
        try installation.expectNoDifferences()
    }

    @Test func `a renewal and something bought once are told as their notifications would be`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        var life = SubscriberLife(app: Installation.app, seed: 502, withToken: false)
        let now = SystemClock().now()
        let started = life.start(lasts: Self.day, at: now - Self.day - 3_600_000)
        let renewed = life.renew(at: now - 3_600_000)
        let bought = life.buyOnce(at: now - 1000)
        for notification in [started, renewed, bought] {
            #expect(bench.post(try PostingFixture.jws(notification), by: "user-1").status == 200)
        }
        let told = try events(installation)
        #expect(told == ["INITIAL_PURCHASE", "NON_RENEWING_PURCHASE", "RENEWAL"])
        try installation.postAll([started, renewed, bought])
        try installation.untilApplied(6)
        #expect(try events(installation) == told)
        #expect(try owners(installation) == ["user-1"])
    }

    @Test func `of an old subscription the period that runs is told, of one that is over nothing`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let bench = try PostingFixture(installation)
        let now = SystemClock().now()
        var over = SubscriberLife(app: Installation.app, seed: 503, number: 1, withToken: false)
        let old = over.start(at: now - 400 * Self.day)
        var running = SubscriberLife(app: Installation.app, seed: 503, number: 2, product: .proYearly, withToken: false)
        let year = running.start(at: now - 100 * Self.day)
        var once = SubscriberLife(app: Installation.app, seed: 503, number: 3, product: .proYearly, withToken: false)
        _ = once.start(at: now - 60 * Self.day)
        let coins = once.buyOnce(at: now - 40 * Self.day)
        // Signed anew when the app asks for it, as StoreKit does.
        for notification in [old, coins, year] {
            let jws = try PostingFixture.jws(notification) { $0.with("signedDate", .int(now)) }
            #expect(bench.post(jws, by: "user-1").status == 200)
        }
        #expect(try consumer.wait(1).map(\.type) == ["INITIAL_PURCHASE"])
        #expect(
            try installation.database.texts(
                """
                SELECT e.original_transaction_id FROM entitled.delivery d
                JOIN entitled.event e ON e.lane = d.lane AND e.id = d.event
                """) == [running.latest.originalID])
        // All of it is on record.
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") >= 4)
    }

    // MARK: - Whose it is

    @Test func `an anonymous owner is joined, whatever the setting`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let (_, started) = life(504)
        #expect(try installation.post(started).status == 200)
        try installation.untilApplied(1)
        let bench = try PostingFixture(installation, behavior: .keep)
        #expect(bench.post(try PostingFixture.jws(started), by: "user-1").status == 200)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.customer") == 1)
        #expect(try events(installation) == ["INITIAL_PURCHASE"])
        try installation.expectNoDifferences()
    }

    @Test func `a new purchase of an account that is known by an anonymous owner joins the two`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var (life, started) = life(505)
        #expect(try installation.post(started).status == 200)
        try installation.untilApplied(1)
        let bench = try PostingFixture(installation, behavior: .keep)
        let bought = life.buyOnce(at: SystemClock().now() - 1000)
        let answer = bench.post(try PostingFixture.jws(bought), by: "user-1")
        #expect(answer.status == 200)
        #expect(answer.json.subscriber?["entitlements"]?["pro"] != nil)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.customer") == 1)
        try installation.expectNoDifferences()
    }

    struct Restore: Sendable {
        let behavior: RestoreBehavior
        let status: Int
        let owners: [String]
        let customers: Int64
        let events: [String]
    }

    private static let restores = [
        Restore(
            behavior: .transfer, status: 200, owners: ["user-2"], customers: 2,
            events: ["INITIAL_PURCHASE", "TRANSFER"]),
        Restore(
            behavior: .transferIfNoActiveSubscriptions, status: 400, owners: ["user-1"], customers: 2,
            events: ["INITIAL_PURCHASE"]),
        Restore(behavior: .keep, status: 400, owners: ["user-1"], customers: 2, events: ["INITIAL_PURCHASE"]),
        Restore(behavior: .share, status: 200, owners: ["user-1"], customers: 1, events: ["INITIAL_PURCHASE"]),
    ]

    @Test(arguments: restores)
    func `what another customer posts goes by the restore behaviour, applied or not`(restore: Restore) throws {
        // Once after the first post is applied, once while it still waits.
        for isApplied in [true, false] {
            let installation = try Installation()
            let first = try PostingFixture(installation, patience: isApplied ? .seconds(20) : .milliseconds(200))
            let second = try PostingFixture(installation, behavior: restore.behavior)
            let (_, started) = life(506)
            let jws = try PostingFixture.jws(started)
            var worker: RunningWorker?
            defer { worker?.stop() }
            if isApplied { worker = try RunningWorker(installation) }
            #expect(first.post(jws, by: "user-1").status == (isApplied ? 200 : 503))
            let answer = TestThread { second.post(jws, by: "user-2", ["initiation_source": .string("restore")]) }
            if !isApplied { worker = try RunningWorker(installation) }
            let status = try answer.value().status
            #expect(status == restore.status, "\(restore.behavior) \(isApplied)")
            if status == 400 { #expect(try answer.value().json["code"] == .int(7102)) }
            try installation.untilApplied(1)
            #expect(try owners(installation) == restore.owners, "\(restore.behavior) \(isApplied)")
            #expect(
                try installation.database.count(
                    "SELECT count(*) FROM entitled.customer WHERE original_app_user_id LIKE 'user-%'")
                    == restore.customers)
            // Before anything was told, nothing is taken back.
            let told = try events(installation)
            #expect(
                told == restore.events || !isApplied && told == ["INITIAL_PURCHASE"], "\(restore.behavior) \(isApplied)"
            )
            try installation.expectNoDifferences()
        }
    }

    @Test func `what is refused to who posts it is kept all the same`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation, behavior: .keep)
        var (life, started) = life(507)
        #expect(bench.post(try PostingFixture.jws(started), by: "user-1").status == 200)
        let renewed = life.renew(at: SystemClock().now() - 1000)
        #expect(bench.post(try PostingFixture.jws(renewed), by: "user-2").status == 400)
        try installation.untilApplied(2)
        #expect(try events(installation) == ["INITIAL_PURCHASE", "RENEWAL"])
        #expect(try owners(installation) == ["user-1"])
    }

    // MARK: - Refusals

    @Test func `what can never be taken is refused for good, and leaves nothing`() throws {
        let installation = try Installation()
        let bench = try PostingFixture(installation)
        let (_, started) = life(508)
        func jws(_ name: String, _ value: JSON?) throws -> String {
            try PostingFixture.jws(started) { $0.with(name, value) }
        }
        let genuine = try PostingFixture.jws(started)
        let stranger = try NotificationSigner(StorePKI.generate(now: SystemClock().now())).sign(
            try #require(started.transaction))
        let renewal = try Installation.signer.sign(try #require(started.renewal))
        let cases: [(String, String, Int64)] = [
            ("another bundle id", try jws("bundleId", .string("com.example.other")), 7103),
            ("no bundle id", try jws("bundleId", nil), 7103),
            ("Xcode", try jws("environment", .string("Xcode")), 7103),
            ("LocalTesting", try jws("environment", .string("LocalTesting")), 7103),
            ("no environment", try jws("environment", nil), 7103),
            ("no product", try jws("productId", nil), 7103),
            ("a stranger's certificates", stranger, 7103),
            ("a changed payload", PostedReceiptTests.forged(genuine), 7103),
            ("a renewal info", renewal, 7103),
            ("no token at all", "what?", 7103),
            ("an empty object", "e30=", 7103),
            ("a pseudo receipt of Xcode's", Base64.encode(Array(#"{"environment":"xcode"}"#.utf8)), 7103),
            ("no PKCS#7", Base64.encode([0x30, 0x03, 0x02, 0x01, 0x00]), 7103),
        ]
        for (name, token, code) in cases {
            let answer = bench.post(token, by: "user-1")
            #expect(answer.status == 400, "\(name)")
            #expect(answer.json["code"] == .int(code), "\(name)")
        }
        for (token, says) in [
            ("what?", "a text of 5 bytes that is not base64"), ("e30=", "a JSON document in base64"),
            ("{}", "a JSON document."), ("2000577507608001", "POST /apple/transactions"), ("a.b", "2 parts"),
            (Base64.encode([1, 2, 3]), "base64 of 3 bytes that are no PKCS #7 container"),
            (
                Base64.encode([0x30, 0x03, 0x02, 0x01, 0x00]),
                "an ASN.1 document in base64, but not a PKCS #7 container"
            ),
        ] {
            let message = bench.post(token, by: "user-1").json["message"]?.stringValue ?? ""
            #expect(message.hasPrefix("fetch_token is not a receipt: it is ") && message.contains(says), "\(message)")
        }
        #expect(bench.post(genuine, by: "").json["code"] == .int(7220))
        #expect(bench.post(genuine, by: "null").json["code"] == .int(7256))
        let whole = JSON.object(["app_user_id": .string("user-1"), "fetch_token": .string(genuine)])
        for (body, code) in [
            (whole.with("fetch_token", nil), 7226), (whole.with("fetch_token", .int(1)), 7226),
            (whole.with("app_user_id", nil), 7226), (.array([]), 7226),
        ] as [(JSON, Int64)] {
            let answer = bench.call("/v1/receipts", body)
            #expect(answer.status == 400)
            #expect(answer.json["code"] == .int(code))
        }
        #expect(bench.call("/v1/receipts", whole, key: nil).status == 401)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification") == 0)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.customer") == 0)
    }

    /// The same signature under another product.
    private static func forged(_ jws: String) -> String {
        var parts = jws.split(separator: ".").map(String.init)
        guard parts.count == 3, let payload = Base64.decodeURL(Array(parts[1].utf8)) else { return "" }
        let text = String(decoding: payload, as: UTF8.self).replacing("pro_monthly", with: "pro_yearly")
        parts[1] = Base64.encodeURL(Array(text.utf8))
        return parts.joined(separator: ".")
    }

    @Test func `a wrong price or offering costs nobody a purchase`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let (_, started) = life(509)
        let answer = bench.post(
            try PostingFixture.jws(started), by: "user-1",
            [
                "price": .object([]), "currency": .int(3), "presented_offering_identifier": .array([]),
                "attributes": .string("none"), "app_transaction": .string("broken"), "something_new": .bool(true),
            ])
        #expect(answer.status == 200)
    }

    // MARK: - Waiting

    @Test func `without a worker the answer is to ask again, and nothing is lost`() throws {
        let installation = try Installation()
        let bench = try PostingFixture(installation, patience: .milliseconds(300))
        let (_, started) = life(510)
        let jws = try PostingFixture.jws(started)
        for _ in 0..<2 {
            let answer = bench.post(jws, by: "user-1")
            #expect(answer.status == 503)
            #expect(answer.header("retry-after") != nil)
        }
        #expect(try installation.database.count("SELECT count(*) FROM entitled.pending") == 1)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.untilApplied(1)
        let later = bench.post(jws, by: "user-1")
        #expect(later.status == 200)
        #expect(later.json.subscriber?["entitlements"]?["pro"] != nil)
        #expect(try owners(installation) == ["user-1"])
        #expect(try events(installation) == ["INITIAL_PURCHASE"])
    }

    // MARK: - The app itself

    @Test func `an app transaction alone makes the customer and is kept`() throws {
        let installation = try Installation()
        let bench = try PostingFixture(installation)
        func signed(_ bundle: String, _ date: Int64) throws -> String {
            try Installation.signer.sign(
                .object([
                    "receiptType": .string("Production"), "appAppleId": .int(Installation.app.appleAppID),
                    "bundleId": .string(bundle), "applicationVersion": .string("5"),
                    "originalApplicationVersion": .string("1.2"), "originalPurchaseDate": .int(date),
                    "receiptCreationDate": .int(SystemClock().now()),
                ]))
        }
        func post(_ text: String) -> HTTPCall {
            bench.call("/v1/receipts", .object(["app_user_id": .string("user-1"), "app_transaction": .string(text)]))
        }
        #expect(post(try signed("com.example.other", 1)).status == 400)
        #expect(post(try signed(Installation.app.bundleID, 1_700_000_000_000)).status == 200)
        #expect(post(try signed(Installation.app.bundleID, 1_800_000_000_000)).status == 200)
        #expect(
            try installation.database.texts(
                "SELECT original_app_user_id || original_application_version || app_purchased_ms FROM entitled.customer"
            )
                == ["user-11.21700000000000"])
    }
}
