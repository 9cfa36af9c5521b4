import Base
import Testing

@testable import Subscriptions

/// What documents need of purchases, kept: it says the same, and nothing else is taken for it.
struct SnapshotTests {
    private static let seeds: Range<UInt64> = 0..<400
    private static let codec = SnapshotCodec(foldSettings: FoldSettings(defaultGrace: .milliseconds(3 * day)))
    private static let document = SubscriberDocument(catalogue: EventBodyTests.catalogue)
    private static let customer = CustomerProfile(
        originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch + day)

    private static func purchases(_ seed: UInt64) -> [Purchase] {
        [seed, seed + 1_000_000].compactMap { Scenario(seed: $0).life.purchase(defaultGrace: 3 * day) }
    }

    private static func kept(_ snapshot: PurchaseSnapshot) throws -> PurchaseSnapshot {
        try #require(codec.snapshot(codec.bytes(snapshot), of: snapshot.key))
    }

    @Test func `a kept snapshot says what its purchase says, at every instant`() throws {
        for seed in Self.seeds {
            let purchases = Self.purchases(seed)
            let kept = try purchases.map { try Self.kept(PurchaseSnapshot($0)) }
            #expect(kept == purchases.map(PurchaseSnapshot.init))
            for now in stride(from: epoch, to: epoch + 200 * day, by: Int(9 * day + hour)) {
                let straight = Self.document.json(customer: Self.customer, purchases: purchases, now: now)
                let page = Self.document.page(customer: Self.customer, snapshots: kept, now: now)
                #expect(page.body == straight.bytes + [0x0a])
            }
        }
    }

    @Test func `values at the ends of their ranges come back`() throws {
        let key = PurchaseKey(app: "ä/\u{0}", environment: .production, originalTransactionID: "1")
        for value in [Int64.min, -1, 0, 1, 63, 64, 1 << 35, .max - 1, .max] {
            let holding = Holding(
                key: key, productID: "", transactionID: "\u{1F600}", purchaseDate: value, originalPurchaseDate: ~value,
                expires: value, grace: nil, refunded: value,
                unpaidSince: nil, switchedOffSince: value, isSubscription: true, isRenewable: value > 0,
                isFamilyShare: false, periodType: .trial, price: Holding.Price(amount: value, currency: "EUR"),
                store: "promotional",
                grantedEntitlement: value < 0 ? nil : "pro")
            let item = PurchaseSnapshot.Item(
                productID: "p", transactionID: "t", purchaseDate: value, originalPurchaseDate: value, price: nil,
                store: "app_store")
            let snapshot = PurchaseSnapshot(
                key: key, holdings: [holding, holding], items: [item],
                continuation: value < 0 ? nil : Purchase.Continuation(of: "\(value)", since: value))
            #expect(try Self.kept(snapshot) == snapshot)
        }
    }

    @Test func `what another program, form or grace made is refused`() throws {
        let purchase = try #require(Self.purchases(1).first)
        let snapshot = PurchaseSnapshot(purchase)
        let ours = SnapshotCodec(form: 1, version: "1.0", foldSettings: FoldSettings())
        let bytes = ours.bytes(snapshot)
        #expect(ours.snapshot(bytes, of: snapshot.key) == snapshot)
        for other in [
            SnapshotCodec(form: 2, version: "1.0", foldSettings: FoldSettings()),
            SnapshotCodec(form: 1, version: "1.1", foldSettings: FoldSettings()),
            SnapshotCodec(form: 1, version: "1.0", foldSettings: FoldSettings(defaultGrace: .milliseconds(day))),
            SnapshotCodec(form: 1, version: "1.0", foldSettings: FoldSettings(durations: ["pass": .months(3)])),
        ] {
            #expect(other.snapshot(bytes, of: snapshot.key) == nil)
        }
    }

    @Test func `bytes that were cut or changed are refused or read as something else, and never trap`() throws {
        var chance = Chance(seed: 3)
        for seed in Self.seeds.prefix(100) {
            for purchase in Self.purchases(seed) {
                let bytes = Self.codec.bytes(PurchaseSnapshot(purchase))
                for length in bytes.indices {
                    #expect(Self.codec.snapshot(Array(bytes.prefix(length)), of: purchase.key) == nil)
                }
                #expect(Self.codec.snapshot(bytes + [0], of: purchase.key) == nil)
                for _ in 0..<50 {
                    var changed = bytes
                    let place = Int.random(in: changed.indices, using: &chance)
                    changed[place] = UInt8.random(in: 0...255, using: &chance)
                    _ = Self.codec.snapshot(changed, of: purchase.key)
                }
            }
        }
    }

    // MARK: - Tags

    private func tag(_ life: Life, _ customer: CustomerProfile = customer, at now: Int64) throws -> String {
        let snapshot = PurchaseSnapshot(try #require(life.purchase()))
        return Self.document.page(customer: customer, snapshots: [snapshot], now: now).tag
    }

    @Test func `the tag changes at the end of access and of charging, and at no other time`() throws {
        var life = Life()
        _ = life.start()
        let running = try tag(life, at: epoch + day)
        #expect(running.count == 16)
        #expect(try tag(life, at: life.expires - 1) == running)
        let ended = try tag(life, at: life.expires)
        #expect(ended != running)
        #expect(try tag(life, at: life.expires + 60 * day) == ended)
        let over = try tag(life, at: life.expires + 61 * day)
        #expect(over != ended)
        #expect(try tag(life, at: life.expires + 100 * day) == over)
        _ = life.billingFailure(graceUntil: life.expires + 6 * day, at: life.expires)
        #expect(try tag(life, at: life.expires) != ended)
        #expect(try tag(life, at: life.expires) != running)
    }

    /// Where nothing else in the document shows the end: no link to the store.
    @Test func `the tag changes at the end of access that no store manages`() throws {
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")
        let holding = Holding(
            key: key, productID: "pro_monthly", transactionID: "1", purchaseDate: epoch, originalPurchaseDate: epoch,
            expires: epoch + day, grace: nil, refunded: nil, unpaidSince: nil, switchedOffSince: nil,
            isSubscription: true, isRenewable: false, isFamilyShare: false, periodType: .normal, price: nil,
            store: "promotional",
            grantedEntitlement: "pro")
        let snapshot = PurchaseSnapshot(key: key, holdings: [holding], items: [])
        let pages = [epoch, epoch + day].map { now in
            Self.document.page(customer: Self.customer, snapshots: [snapshot], now: now)
        }
        #expect(pages.first?.tag != pages.last?.tag)
        let body = String(decoding: try #require(pages.first).body, as: UTF8.self)
        #expect(!body.contains(SubscriberDocument.managementURL))
    }

    @Test func `the tag covers everything about the customer but when they were seen`() throws {
        var life = Life()
        _ = life.start()
        func profile(
            _ id: String = "bob", seen: Int64 = epoch, attributes: JSON? = nil, version: String? = nil
        ) -> CustomerProfile {
            CustomerProfile(
                originalAppUserID: id, appUserIDs: ["bob"], firstSeen: epoch, lastSeen: seen, attributes: attributes,
                originalApplicationVersion: version)
        }
        let plain = try tag(life, profile(), at: epoch + day)
        #expect(try tag(life, profile(seen: epoch + hour), at: epoch + day) == plain)
        let others = [profile("eve"), profile(attributes: .object([])), profile(version: "1.0")]
        #expect(Set(try others.map { try tag(life, $0, at: epoch + day) } + [plain]).count == 4)
    }

    @Test func `the version and date of the app are shown where Apple said them`() throws {
        let profile = CustomerProfile(
            originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch,
            attributes: .object(["b": .int(1), "a": .object(["z": .null, "y": .null])]),
            originalApplicationVersion: "1.4", originalPurchaseDate: epoch)
        let document = Self.document.json(customer: profile, snapshots: [], now: epoch)
        let subscriber = try #require(document["subscriber"])
        #expect(subscriber["original_application_version"] == .string("1.4"))
        #expect(subscriber["original_purchase_date"] == .date(epoch))
        let attributes = try #require(subscriber["subscriber_attributes"])
        #expect(attributes.text == #"{"a":{"y":null,"z":null},"b":1}"#)
    }
}
