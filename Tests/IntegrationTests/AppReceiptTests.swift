import AppStore
import Base
import Crypto
import HTTP
import StoreSimulator
import TestSupport
import Testing

/// App receipts in base64: verified, and resolved by asking Apple.
@Suite(.enabled(if: ReceiptMint.isAvailable, "skipped: no openssl program"))
struct AppReceiptTests {
    private static let now = SystemClock().now()

    private static func roots() throws -> TrustAnchors {
        TrustAnchors(fingerprints: [try Installation.keys.root.fingerprint()])
    }

    private static func payload(
        _ purchases: [ReceiptMint.Purchase] = [], type: String = "Production",
        bundleID: String = Installation.app.bundleID, created: Int64 = now
    ) -> [UInt8] {
        ReceiptMint.payload(type: type, bundleID: bundleID, created: created, purchases)
    }

    private static func receipt(of life: SubscriberLife) throws -> String {
        let purchases = (life.periods + life.oneTimePurchases).map {
            ReceiptMint.Purchase(id: $0.id, originalID: $0.originalID, purchased: $0.purchased)
        }
        return Base64.encode(try ReceiptMint.sign(payload(purchases), Installation.keys))
    }

    // MARK: - Verification

    private func failure(_ bytes: [UInt8]) throws -> ReceiptVerifier.Failure? {
        if case .failure(let failure) = ReceiptVerifier(trust: try Self.roots()).verify(bytes) { failure } else { nil }
    }

    @Test func `a genuine receipt says what was bought, the newest first`() throws {
        let bytes = try ReceiptMint.sign(
            Self.payload([
                .init(id: "10", originalID: "10", purchased: 1_000_000), .init(id: "30", purchased: 5_000_000),
                .init(id: "20", originalID: "10", purchased: 9_000_000),
            ]), Installation.keys)
        let read = try ReceiptVerifier(trust: Self.roots()).verify(bytes).get()
        #expect(read.bundleID == Installation.app.bundleID)
        #expect(read.type == "Production")
        #expect(read.created == Self.now / 1000 * 1000)
        #expect(read.newest.map(\.transactionID) == ["20", "30"])
        #expect(read.newest.map(\.originalTransactionID) == ["10", "30"])
    }

    @Test func `a receipt that Apple did not sign so is refused`() throws {
        let keys = try Installation.keys
        let genuine = try ReceiptMint.sign(Self.payload(), keys)
        #expect(try failure(genuine) == nil)
        // Another root, missing markers, a date before the certificates, an old digest.
        let stranger = try StorePKI.generate(now: Self.now)
        #expect(try failure(ReceiptMint.sign(Self.payload(), stranger)) == .untrusted("no trusted root came with it"))
        let authority = try StorePKI.authority(now: Self.now)
        var options = StorePKI.Options()
        options.hasLeafMarker = false
        let unmarked = try StorePKI.generate(options, under: authority, now: Self.now)
        options.hasLeafMarker = true
        options.hasIntermediateMarker = false
        let between = try StorePKI.generate(options, under: authority, now: Self.now)
        let verifier = ReceiptVerifier(trust: TrustAnchors(fingerprints: [authority.certificate.fingerprint()]))
        for pki in [unmarked, between] {
            guard case .failure(.untrusted) = verifier.verify(try ReceiptMint.sign(Self.payload(), pki)) else {
                Issue.record("an unmarked certificate is trusted")
                continue
            }
        }
        #expect(
            try failure(ReceiptMint.sign(Self.payload(created: 1_000_000_000_000), keys))
                == .untrusted("the certificates are no valid path to the root"))
        #expect(try failure(ReceiptMint.sign(Self.payload(), keys, digest: "sha1")) == .malformed)
        #expect(try failure(ReceiptMint.sign(Self.payload(type: "Xcode"), keys)) == .xcode)
        #expect(try failure(ReceiptMint.sign([0x31, 0x02, 0x05, 0x00], keys)) == .malformed)
        // The leaf's certificate, and another key.
        let forger = StorePKI(
            root: keys.root, intermediate: keys.intermediate, leaf: stranger.leaf, leafKey: stranger.leafKey)
        #expect(try failure(ReceiptMint.sign(Self.payload(), forger)) != nil)
    }

    @Test func `no byte of a receipt can be changed, and none makes the reader fall`() throws {
        let genuine = try ReceiptMint.sign(Self.payload([.init(id: "1234567", purchased: 1000)]), Installation.keys)
        let text = Array("1234567".utf8)
        let place = try #require(genuine.indices.first { genuine[$0...].starts(with: text) })
        var forged = genuine
        forged[place] = 0x39
        #expect(try failure(forged) == .untrusted("it is not signed with the signer's key"))
        let verifier = ReceiptVerifier(trust: try Self.roots())
        let read = try verifier.verify(genuine).get()
        for place in stride(from: 0, to: genuine.count, by: 3) {
            var changed = genuine
            changed[place] ^= 0x55
            // What is outside of the signature, as the order of certificates, may differ; what is read may not.
            if case .success(let other) = verifier.verify(changed) { #expect(other == read) }
            _ = verifier.verify(Array(genuine.prefix(place)))
        }
        for bytes in [[], [0x30], [0x30, 0x80], [UInt8](repeating: 0x30, count: 5000)] {
            #expect(try failure(bytes) == .malformed)
        }
    }

    // MARK: - Resolving

    @Test func `the purchases of a receipt are asked of Apple and become records`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 600, withToken: false)
        let notifications = [
            life.start(lasts: 40 * StoreProduct.day, at: Installation.start), life.autoRenewOff(at: Self.now - 5000),
            life.buyOnce(.lifetime, at: Self.now - 4000),
        ]
        let apple = try PlayedHistory(installation, notifications)
        let bench = try PostingFixture(installation, apple: apple, receiptRoots: try Self.roots())
        let answer = bench.post(try Self.receipt(of: life), by: "user-1")
        #expect(answer.status == 200, "\(answer.text)")
        let subscriber = answer.json.subscriber
        #expect(subscriber?["non_subscriptions"]?["pro_lifetime"] != nil)
        // That it will not renew only Apple's status says.
        #expect(subscriber?["subscriptions"]?["pro_monthly"]?["unsubscribe_detected_at"]?.stringValue != nil)
        #expect(try installation.database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["user-1"])
        try installation.expectNoDifferences()
    }

    @Test func `what cannot be resolved is refused for good only where that is so`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 601, withToken: false)
        life.start(at: Installation.start)
        let receipt = try Self.receipt(of: life)
        let keyless = try PostingFixture(installation, receiptRoots: try Self.roots())
        let refused = keyless.post(receipt, by: "user-1")
        #expect(refused.status == 400)
        #expect(refused.json["code"] == .int(7103))
        #expect(refused.json["message"]?.stringValue?.contains("server_api") == true)
        let other = Base64.encode(
            try ReceiptMint.sign(Self.payload([], bundleID: "com.example.other"), Installation.keys))
        #expect(keyless.post(other, by: "user-1").status == 400)
        #expect(try PostingFixture(installation).post(receipt, by: "user-1").status == 400)
    }

    @Test(arguments: [StoreFault(.unauthorized), StoreFault(.error), StoreFault(.slow, seconds: 20)])
    func `what a receipt lists is kept while Apple is away, and mended without another post`(fault: StoreFault) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 602, withToken: false)
        let notifications = [
            life.start(lasts: 40 * StoreProduct.day, at: Installation.start),
            life.buyOnce(.lifetime, at: Self.now - 4000),
        ]
        let receipt = try Self.receipt(of: life)
        let apple = try PlayedHistory(installation, notifications, faults: [fault])
        let bench = try PostingFixture(
            installation, apple: apple, receiptRoots: try Self.roots(), patience: .seconds(1))
        let answer = try bench.postUntilTaken(receipt, by: "user-1", ["initiation_source": .string("restore")])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json.subscriber?["subscriptions"]?.members?.isEmpty == true)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.purchase") == 0)
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) {
            try eventually("it is mended") {
                try installation.database.texts("SELECT owner FROM entitled.purchase") == ["user-1", "user-1"]
            }
        }
        try installation.expectNoDifferences()
    }

    @Test func `a receipt within a minute of another one brings what was bought between them`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 603, withToken: false)
        var notifications = [
            life.start(lasts: 40 * StoreProduct.day, at: Installation.start), life.buyOnce(at: Self.now - 5000),
        ]
        let first = try Self.receipt(of: life)
        // Of another Apple account on the same device: the history of the first one lacks it.
        var other = SubscriberLife(app: Installation.app, seed: 604, withToken: false)
        notifications.append(other.buyOnce(.lifetime, at: Installation.start + StoreProduct.day))
        let apple = try PlayedHistory(installation, notifications)
        let bench = try PostingFixture(installation, apple: apple, receiptRoots: try Self.roots())
        #expect(bench.post(first, by: "user-1").status == 200)
        let calls = apple.calls.count
        #expect(bench.post(first, by: "user-1").status == 200)
        #expect(apple.calls.count == calls)
        let purchases = (life.periods + life.oneTimePurchases + other.oneTimePurchases).map {
            ReceiptMint.Purchase(id: $0.id, originalID: $0.originalID, purchased: $0.purchased)
        }
        let second = Base64.encode(try ReceiptMint.sign(Self.payload(purchases), Installation.keys))
        let answer = bench.post(second, by: "user-1")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json.subscriber?["non_subscriptions"]?["pro_lifetime"] != nil)
        #expect(try installation.database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["user-1"])
        try installation.expectNoDifferences()
    }

    @Test func `what only its id finds comes later, too, and nothing is taken that nothing would remember`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var lives: [SubscriberLife] = []
        var notifications: [StoreNotification] = []
        for number in UInt64(0)..<25 {
            var life = SubscriberLife(app: Installation.app, seed: 605, number: number, withToken: false)
            notifications.append(life.buyOnce(.lifetime, at: Installation.start + Int64(number) * 1000))
            lives.append(life)
        }
        let purchases = lives.flatMap(\.oneTimePurchases).map {
            ReceiptMint.Purchase(id: $0.id, originalID: $0.originalID, purchased: $0.purchased)
        }
        let receipt = Base64.encode(try ReceiptMint.sign(Self.payload(purchases), Installation.keys))
        let apple = try PlayedHistory(installation, notifications, faults: [StoreFault(.error)])
        let bench = try PostingFixture(
            installation, apple: apple, receiptRoots: try Self.roots(), patience: .seconds(1))
        let restore: KeyValuePairs<String, JSON?> = ["is_restore": .bool(true)]
        let database = installation.database
        // Of a schema before 29.
        try database.execute("ALTER TABLE entitled.account_look RENAME TO account_look_later")
        #expect(bench.post(receipt, by: "user-1", restore).status == 503)
        #expect(try database.count("SELECT count(*) FROM entitled.fact") == 0)
        try database.execute("ALTER TABLE entitled.account_look_later RENAME TO account_look")
        #expect(try bench.postUntilTaken(receipt, by: "user-1", restore).status == 200)
        #expect(try database.count("SELECT cardinality(others) FROM entitled.account_look") == 25)
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) {
            try eventually("everything that the receipt lists is here") {
                try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'user-1'") == 25
            }
            try eventually("nothing is left to ask") {
                try database.count("SELECT count(*) FROM entitled.account_look WHERE next_ms IS NULL AND others = '{}'")
                    == 1
            }
        }
        try installation.expectNoDifferences()
    }
}
