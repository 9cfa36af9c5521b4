import Base
import Foundation
import Subscriptions
import Testing

/// Access without the store: how long it lasts, how it folds, what is told and shown of it.
struct GrantTests {
    private static let id = "a0448238ac7cf64e94e09df858c1bb4e"

    private static func grant(
        _ id: String = id, start: Int64 = epoch, end: Int64? = epoch + 7 * day, product: String = "rc_promo_pro_weekly"
    ) -> Grant {
        Grant(id: id, entitlement: "pro", product: product, start: start, end: end, at: start, action: 1)
    }

    private static func fact(_ grant: Grant) -> TransactionFact {
        TransactionFact(grant, tie: Array("\(grant.at) \(grant.revoked ?? 0)".utf8))
    }

    private static func purchase(_ versions: Grant...) throws -> Purchase {
        var facts = PurchaseFacts()
        for version in versions { facts.insert(fact(version)) }
        return try #require(Purchase(folding: facts, key: versions[0].key))
    }

    // MARK: - How long

    private static let ends: [(GrantDuration, String?)] = [
        (.daily, "2027-02-01T10:00:00Z"), (.threeDay, "2027-02-03T10:00:00Z"),
        (.weekly, "2027-02-07T10:00:00Z"), (.twoWeek, "2027-02-14T10:00:00Z"), (.monthly, "2027-02-28T10:00:00Z"),
        (.twoMonth, "2027-03-31T10:00:00Z"), (.threeMonth, "2027-04-30T10:00:00Z"),
        (.sixMonth, "2027-07-31T10:00:00Z"), (.yearly, "2028-01-31T10:00:00Z"), (.lifetime, nil),
    ]

    @Test(arguments: ends)
    func `each duration from the last of January`(duration: GrantDuration, end: String?) throws {
        let start = try #require(Timestamp.parse("2027-01-31T10:00:00Z"))
        #expect(duration.end(after: start).map(Timestamp.text) == end)
    }

    /// The monthly one is in RevenueCat's OpenAPI document, the weekly one was captured.
    @Test func `durations that were seen elsewhere are the same here`() throws {
        let start = try #require(Timestamp.parse("2019-07-26T01:02:16Z"))
        #expect(GrantDuration.monthly.end(after: start).map(Timestamp.text) == "2019-08-26T01:02:16Z")
        #expect(GrantDuration.weekly.end(after: 1_788_003_471_345) == 1_788_608_271_345)
    }

    @Test func `months are those of Foundation's calendar, on any day of four centuries`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let months: [(GrantDuration, Int)] = [
            (.monthly, 1), (.twoMonth, 2), (.threeMonth, 3), (.sixMonth, 6), (.yearly, 12),
        ]
        var chance = Chance(seed: 9)
        for _ in 0..<20_000 {
            let start = Int64.random(in: -2_000_000_000...11_000_000_000, using: &chance) * 1000
            let date = Date(timeIntervalSince1970: Double(start / 1000))
            for (duration, count) in months {
                let expected = try #require(calendar.date(byAdding: .month, value: count, to: date))
                #expect(duration.end(after: start) == Int64(expected.timeIntervalSince1970) * 1000)
            }
        }
    }

    private static let objections: [(GrantTerm, String?)] = {
        let over = "would have ended before it begins"
        let far = "would end after the year 9999"
        let never = "begins at no time between 1970 and the year 9999"
        let lastSecond: Int64 = 253_402_300_799_999
        let ends: [(GrantTerm, String?)] = [
            (.until(epoch), over), (.until(epoch - day), over), (.until(epoch + 1), nil), (.until(.max), far),
            (.until(.min), over),
        ]
        let durations: [(GrantTerm, String?)] = [
            (.lasting(.daily, from: epoch - day), over), (.lasting(.daily, from: epoch - day + 1), nil),
            (.lasting(.lifetime), nil), (.lasting(.yearly), nil), (.lasting(.daily, from: .max), never),
            (.lasting(.lifetime, from: -1), never), (.lasting(.yearly, from: lastSecond), far),
        ]
        return ends + durations
    }()

    @Test(arguments: objections)
    func `what cannot be granted says why`(term: GrantTerm, why: String?) {
        #expect(term.objection(now: epoch) == why)
    }

    @Test func `the same within two hours is a repetition, and nothing else is`() {
        let given = Self.grant()
        let weekly = GrantTerm.lasting(.weekly)
        func isAgain(
            _ term: GrantTerm, _ grant: Grant = given, for entitlement: String = "pro", after: Int64 = hour
        ) -> Bool {
            term.isRepetition(of: grant, entitlement, now: epoch + after)
        }
        #expect(isAgain(weekly))
        #expect(isAgain(weekly, after: 0))
        #expect(isAgain(weekly, after: 2 * hour - 1))
        #expect(!isAgain(weekly, after: 2 * hour))
        #expect(!isAgain(weekly, for: "basic"))
        #expect(!isAgain(.lasting(.monthly)))
        #expect(!isAgain(weekly, given.revoked(at: epoch + 1, action: 2)))
        // Counted from elsewhere it has another end.
        #expect(!isAgain(.lasting(.weekly, from: epoch + hour)))
        #expect(isAgain(.lasting(.weekly, from: epoch)))
        #expect(!isAgain(weekly, Self.grant(end: epoch + 8 * day)))
        let custom = Self.grant(end: epoch + day, product: "rc_promo_pro_custom")
        #expect(isAgain(.until(epoch + day), custom))
        #expect(!isAgain(.until(epoch + day + 1), custom))
    }

    // MARK: - The fold

    @Test func `any order of versions, with any copies, folds to the same`() throws {
        let given = Self.grant()
        let revoked = given.revoked(at: epoch + day, action: 2)
        let expected = try Self.purchase(given, revoked)
        #expect(expected.accessUntil == epoch + day)
        #expect(expected.status(at: epoch + day) == .revoked)
        #expect(Grant(expected) == revoked)
        for versions in [[revoked, given], [given, given, revoked], [revoked, given, revoked]] {
            var facts = PurchaseFacts()
            for version in versions { facts.insert(Self.fact(version)) }
            #expect(Purchase(folding: facts, key: given.key) == expected)
        }
        // A clock that went back does not bring it back.
        let early = given.revoked(at: epoch - hour, action: 2)
        #expect(try Self.purchase(early, given).hasAccess(at: epoch) == false)
    }

    @Test func `nothing renews it, and its end is confirmed at once`() throws {
        let purchase = try Self.purchase(Self.grant())
        #expect(purchase.willRenew == false)
        #expect(purchase.nextWake(after: epoch, confirmation: ExpiryConfirmation()) == epoch + 7 * day)
        let outage = ExpiryConfirmation(patience: 30 * day, outages: [epoch..<(epoch + 20 * day)], covered: epoch)
        #expect(purchase.nextWake(after: epoch, confirmation: outage) == epoch + 7 * day)
        let ever = try Self.purchase(Self.grant(end: nil, product: "rc_promo_pro_lifetime"))
        #expect(ever.nextWake(after: epoch, confirmation: ExpiryConfirmation()) == nil)
        #expect(ever.hasAccess(at: .max))
    }

    @Test func `what Apple signs is no grant, whatever type it has`() {
        var fact = TransactionFact(
            transactionID: "1", originalTransactionID: "1", productID: "rc_promo_pro_weekly", purchaseDate: epoch,
            originalPurchaseDate: epoch, expiresDate: epoch + day, signedDate: epoch, kind: "Promotional", tie: [])
        #expect(fact.isRenewable)
        #expect(PeriodType(of: fact) == .normal)
        fact.grant = TransactionFact.GrantMark(entitlement: "pro", action: 1)
        #expect(!fact.isRenewable)
    }

    // MARK: - What is told

    private static func events(_ before: Purchase?, _ after: Purchase, _ cause: Cause, at now: Int64) -> [EventDraft] {
        EventDeriver().events(before: before, after: after, cause: cause, now: now)
    }

    @Test func `giving, taking back and ending are told once each`() throws {
        let given = Self.grant()
        let running = try Self.purchase(given)
        let revoked = try Self.purchase(given, given.revoked(at: epoch + day, action: 2))
        #expect(Self.events(nil, running, .action(1), at: epoch).names == ["NON_RENEWING_PURCHASE"])
        #expect(
            Self.events(running, revoked, .action(2), at: epoch + day).names
                == ["CANCELLATION(DEVELOPER_INITIATED)", "EXPIRATION(UNSUBSCRIBE)"])
        let end = epoch + 7 * day
        #expect(Self.events(running, running, .time, at: end - 1).names == [])
        #expect(Self.events(running, running, .time, at: end).names == ["EXPIRATION(UNSUBSCRIBE)"])
        let ids = [end, end + day].map { now in
            Self.events(running, running, .time, at: now).map { $0.id }
        }
        #expect(ids[0] == ids[1])
        let ever = Self.grant(end: nil)
        let over = try Self.purchase(ever, ever.revoked(at: epoch + day, action: 2))
        #expect(
            Self.events(try Self.purchase(ever), over, .action(2), at: epoch + day).names
                == ["CANCELLATION(DEVELOPER_INITIATED)", "EXPIRATION(UNSUBSCRIBE)"])
    }

    private enum Samples {
        static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "shared/data/revenuecat/samples/captured")
        static let isPresent = FileManager.default.fileExists(atPath: folder.path)
    }

    /// What RevenueCat sent, but for the instant of making, which is here the instant of what happened.
    @Test(
        .enabled(if: Samples.isPresent, "skipped: the data is not here"),
        arguments: [EventType.nonRenewingPurchase, .cancellation, .expiration])
    func `the events are those that RevenueCat was seen to send, member by member`(type: EventType) throws {
        let file = Samples.folder.appending(path: "\(type.rawValue).promotional.json")
        let bytes = Array(try Data(contentsOf: file))
        let sample = try #require(try JSON(parsing: bytes)["event"])
        func number(_ name: String) throws -> Int64 { try #require(sample[name]?.intValue) }
        func text(_ name: String) throws -> String { try #require(sample[name]?.stringValue) }
        let (start, end) = (try number("purchased_at_ms"), try number("expiration_at_ms"))
        let product = try text("product_id")
        let given = Grant(
            id: try text("transaction_id"), entitlement: try text("entitlement_id"), product: product, start: start,
            end: type == .nonRenewingPurchase ? end : start + day, at: start, action: 1)
        #expect(GrantTerm.lasting(product.hasSuffix("daily") ? .daily : .weekly).product(of: "premium") == product)
        let running = try Self.purchase(given)
        let now = try number("event_timestamp_ms")
        let drafts =
            type == .nonRenewingPurchase
            ? Self.events(nil, running, .action(1), at: now)
            : Self.events(
                running, try Self.purchase(given, given.revoked(at: end, action: 2)), .action(2), at: now)
        let draft = try #require(drafts.first { $0.type == type })
        let identity = EventIdentity(
            appUserID: "rcc_promo_test", originalAppUserID: "rcc_promo_test", aliases: ["rcc_promo_test"])
        let body = EventBody(catalogue: EntitlementCatalogue(["else": [product]])).json(
            draft, id: try text("id"), identity: identity, appID: Grant.app)
        let event = try #require(body["event"])
        #expect(try JSON(parsing: event.bytes).sortedByName.text == sample.sortedByName.text)
        // And in the order of the wire, which a parser does not tell.
        let wire = String(decoding: bytes, as: UTF8.self)
        let places = try (event.members ?? []).map { try #require(wire.range(of: "\"\($0.name)\":")).lowerBound }
        #expect(places == places.sorted())
    }

    @Test func `the bodies fit the schemas`() throws {
        let given = Self.grant()
        let (running, over) = (
            try Self.purchase(given), try Self.purchase(given, given.revoked(at: epoch + day, action: 2))
        )
        let drafts =
            Self.events(nil, running, .action(1), at: epoch) + Self.events(running, over, .action(2), at: epoch + day)
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        for draft in drafts {
            let file = package.appending(path: "schemas/events/\(draft.type.rawValue.lowercased()).schema.json")
            let check = SchemaCheck(schema: try JSON(parsing: Array(Data(contentsOf: file))))
            #expect(check.faults(try JSON(parsing: EventBodyTests.body(draft).bytes)) == [])
        }
        #expect(drafts.count == 3)
    }

    // MARK: - What is shown

    private func subscriber(_ purchases: [Purchase], at now: Int64) throws -> JSON {
        let customer = CustomerProfile(originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch)
        return try #require(
            SubscriberDocument(catalogue: EventBodyTests.catalogue)
                .json(customer: customer, purchases: purchases, now: now)["subscriber"])
    }

    @Test func `a grant is a subscription of its own product, and gives its own entitlement`() throws {
        let shown = try subscriber([try Self.purchase(Self.grant())], at: epoch + day)
        #expect(shown["entitlements"]?["pro"]?["product_identifier"] == .string("rc_promo_pro_weekly"))
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == .date(epoch + 7 * day))
        let subscription = try #require(shown["subscriptions"]?["rc_promo_pro_weekly"])
        #expect(subscription["store"] == .string("promotional"))
        #expect(subscription["period_type"] == .string("normal"))
        #expect(subscription["is_sandbox"] == .bool(false))
        #expect(subscription["management_url"] == .null)
        #expect(subscription["store_transaction_id"] == .string(Self.id))
        #expect(shown["management_url"] == .null)
        #expect(shown["non_subscriptions"] == .object([]))
    }

    @Test func `a lifetime grant wins over what ends, and what lasts longer over a grant`() throws {
        var life = Life()
        _ = life.start()
        let bought = try #require(life.purchase())
        func product(_ grant: Grant) throws -> JSON? {
            let shown = try subscriber([bought, try Self.purchase(grant)], at: epoch + day)
            return shown["entitlements"]?["pro"]?["product_identifier"]
        }
        let ever = Self.grant(end: nil, product: "rc_promo_pro_lifetime")
        #expect(try product(ever) == .string("rc_promo_pro_lifetime"))
        #expect(try product(Self.grant()) == .string("pro_monthly"))
        let shown = try subscriber([try Self.purchase(ever)], at: epoch + day)
        #expect(shown["subscriptions"]?["rc_promo_pro_lifetime"]?["expires_date"] == .null)
        #expect(shown["non_subscriptions"] == .object([]))
        let over = try Self.purchase(ever, ever.revoked(at: epoch + hour, action: 2))
        let taken = try subscriber([over], at: epoch + day)
        #expect(taken["entitlements"]?["pro"]?["expires_date"] == .date(epoch + hour))
    }

    @Test func `people read that it was granted, and how it ended`() throws {
        let customer = CustomerProfile(originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch)
        func sentence(_ purchase: Purchase, at now: Int64) -> String? {
            CustomerExplanation(customer, [purchase], catalogue: EventBodyTests.catalogue, now: now).entitlements
                .first { $0.name == "pro" }?.sentence
        }
        let given = Self.grant()
        let running = try Self.purchase(given)
        #expect(
            sentence(running, at: epoch + day)
                == "active until \(DisplayText.time(epoch + 7 * day)): rc_promo_pro_weekly, granted")
        #expect(sentence(running, at: epoch + 8 * day)?.hasSuffix("it was granted for that long") == true)
        let over = try Self.purchase(given, given.revoked(at: epoch + day, action: 2))
        #expect(sentence(over, at: epoch + 2 * day)?.hasSuffix("the grant was revoked") == true)
    }
}
