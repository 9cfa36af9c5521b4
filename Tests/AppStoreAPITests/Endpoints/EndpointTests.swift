import AppStore
import Base
import Crypto
import StoreSimulator
import TestSupport
import Testing

@testable import AppStoreAPI

/// Every call against the simulated store, which checks the token of each.
@Suite struct EndpointTests {
    private let bench: StoreFixture
    private let client: ServerAPIClient

    init() throws {
        bench = try StoreFixture()
        client = try bench.client()
    }

    @Test func `a transaction is looked up by its id`() throws {
        let wanted = bench.subscriber.periods[3]
        let found = try client.transaction(wanted.id, in: .only(.sandbox))
        #expect(found.environment == .sandbox)
        #expect(found.answer.payload.transactionId == wanted.id)
        #expect(found.answer.payload.expiresDate == wanted.expires)
        let verifier = SignedDataVerifier(trust: TrustAnchors(fingerprints: [bench.pki.root.fingerprint()]))
        #expect(try verifier.verify(Array(found.answer.text.utf8)).get().payload == found.answer.jws.payload)
    }

    @Test func `a purchase of the app is looked up by any id of the customer`() throws {
        for id in [bench.subscriber.latest.id, bench.subscriber.account.appTransactionID] {
            let found = try client.appTransaction(of: id, in: .only(.sandbox))
            #expect(found.answer.payload.appTransactionId == bench.subscriber.account.appTransactionID)
        }
    }

    @Test func `all purchases come page by page, each once, in either order`() throws {
        let wanted = bench.subscriber.periods + bench.subscriber.oneTimePurchases
        let up = try client.transactions(of: bench.subscriber.latest.originalID, in: .only(.sandbox)).answer
        #expect(up.count == wanted.count && up.count > 40)
        #expect(Set(up.compactMap(\.payload.transactionId)) == Set(wanted.map(\.id)))
        var filter = TransactionFilter()
        filter.sort = .descending
        let down = try client.transactions(of: bench.subscriber.latest.id, filter, in: .only(.sandbox)).answer
        #expect(down.map(\.payload.transactionId) == up.map(\.payload.transactionId).reversed())
    }

    @Test func `a filter lets through what fits`() throws {
        func count(_ adjust: (inout TransactionFilter) -> Void) throws -> Int {
            var filter = TransactionFilter()
            adjust(&filter)
            return try client.transactions(of: bench.subscriber.latest.id, filter, in: .only(.sandbox)).answer.count
        }
        #expect(try count { $0.productTypes = [.consumable] } == 1)
        #expect(try count { $0.productTypes = [.consumable, .autoRenewable] } == 47)
        #expect(try count { $0.productIDs = ["pro_monthly"] } == 46)
        #expect(try count { $0.subscriptionGroups = ["nope"] } == 0)
        #expect(try count { $0.ownership = "FAMILY_SHARED" } == 0)
        #expect(try count { $0.isRevoked = true } == 0)
        #expect(try count { $0.isRevoked = false } == 47)
        let third = bench.subscriber.periods[2].purchased
        #expect(try count { $0.start = third } == 45)
        #expect(try count { $0.end = third } == 2)
    }

    @Test func `a revision that was kept gives what changed since`() throws {
        var pages = client.transactionPages(of: bench.subscriber.latest.id, in: .sandbox)
        _ = try pages.all()
        let revision = try #require(pages.position)
        var nothing = client.transactionPages(of: bench.subscriber.latest.id, from: revision, in: .sandbox)
        #expect(try nothing.all().isEmpty)
        _ = try client.extendRenewal(
            of: bench.subscriber.latest.originalID,
            RenewalExtension(days: 2, reason: .outage, requestIdentifier: "r"), in: .sandbox)
        var changed = client.transactionPages(of: bench.subscriber.latest.id, from: revision, in: .sandbox)
        #expect(try changed.all().map(\.payload.transactionId) == [bench.subscriber.latest.id])
    }

    @Test func `refunds come the oldest first`() throws {
        let refunds = try client.refunds(of: bench.refunded.latest.id, in: .only(.sandbox)).answer
        #expect(refunds.count == 25)
        let dates = refunds.compactMap(\.payload.revocationDate)
        #expect(dates == dates.sorted() && dates.count == 25)
        #expect(try client.refunds(of: bench.subscriber.latest.id, in: .only(.sandbox)).answer.isEmpty)
    }

    @Test func `statuses are those of all subscriptions, with what is signed about them`() throws {
        let states = try client.subscriptions(of: bench.subscriber.latest.id, in: .only(.sandbox)).answer
        let state = try #require(states.first)
        #expect(states.count == 1)
        #expect(state.status == .active && state.group == "20900001")
        #expect(state.originalTransactionID == bench.subscriber.latest.originalID)
        #expect(state.transaction.payload.transactionId == bench.subscriber.latest.id)
        #expect(state.renewal?.payload.autoRenewStatus == 1)
        let over = try client.subscriptions(of: bench.refunded.latest.id, in: .only(.sandbox)).answer
        #expect(over.map(\.status) == [.expired])
        let none = try client.subscriptions(
            of: bench.refunded.latest.id, statuses: [.active, .gracePeriod], in: .only(.sandbox))
        #expect(none.answer.isEmpty)
    }

    @Test func `an order is found, and one that is none is not`() throws {
        let id = bench.subscriber.latest.id
        let order = "M" + String(try #require(UInt64(id)), radix: 36, uppercase: true)
        #expect(try client.order(order, in: .sandbox)?.map(\.payload.transactionId) == [id])
        #expect(try client.order("MNOTHING", in: .sandbox) == nil)
    }

    @Test func `the history holds every notification once, and knows what was not delivered`() throws {
        let now = SystemClock().now()
        let query = NotificationHistoryQuery(from: now - 29 * StoreFixture.day, to: now)
        let all = try items(query)
        let lives = [bench.subscriber, bench.refunded, bench.family]
        let wanted = lives.flatMap(\.notifications).filter { $0.signedDate <= now }
        #expect(all.count == wanted.count && all.count > 100)
        let uuids = try all.map { try $0.data.get().notification?.notificationUUID }
        #expect(Set(uuids.compactMap(\.self)) == Set(wanted.map(\.uuid)))
        #expect(all.allSatisfy { $0.attempts.map(\.result?.rawValue) == ["NO_RESPONSE"] })
        var some = query
        some.onlyFailures = true
        #expect(try items(some).count == all.count)
        some.subject = .customer(of: bench.family.latest.id)
        #expect(try items(some).count == 1)
        some.subject = .type("REFUND", subtype: nil)
        #expect(try items(some).count == 25)
        some.subject = .type("SUBSCRIBED", subtype: "INITIAL_BUY")
        #expect(try items(some).count == 3)
    }

    @Test func `the history goes on from a token that was kept`() throws {
        let now = SystemClock().now()
        let query = NotificationHistoryQuery(from: now - 29 * StoreFixture.day, to: now)
        var pages = client.notificationPages(query, in: .sandbox)
        let first = try #require(try pages.next())
        #expect(first.items.count == 20)
        let rest = try items(query, from: pages.position)
        #expect(rest.count == (try items(query).count) - 20)
        var other = query
        other.onlyFailures = true
        #expect(
            try failure {
                try client.notificationPage(other, after: first.paginationToken, in: .sandbox)
            }.code == .invalidPaginationToken)
    }

    @Test func `an extension is done and told, twice in a year at most`() throws {
        let life = bench.subscriber
        func extend(_ days: Int64) throws(ServerAPIError) -> RenewalExtensionResult {
            try client.extendRenewal(
                of: life.latest.originalID,
                RenewalExtension(days: days, reason: .customerSatisfaction, requestIdentifier: "again"), in: .sandbox)
        }
        let result = try extend(3)
        #expect(result.isDone && result.effectiveDate == life.expires + 3 * StoreFixture.day)
        #expect(result.webOrderLineItemID == life.latest.orderLineID)
        let state = try client.subscriptions(of: life.latest.id, in: .only(.sandbox)).answer.first
        #expect(state?.transaction.payload.expiresDate == result.effectiveDate)
        #expect(state?.renewal?.payload.renewalDate == result.effectiveDate)
        let now = SystemClock().now()
        let told = NotificationHistoryQuery(
            from: now - StoreFixture.day, to: now + 1000, subject: .type("RENEWAL_EXTENDED", subtype: nil))
        #expect(try items(told).count == 1)
        _ = try extend(1)
        #expect(try failure { try extend(1) }.code == .subscriptionMaxExtension)
        #expect(try failure { try extend(91) } == .invalid("an extension is of 1 to 90 days"))
    }

    @Test func `who is in the family or has no running subscription gets no extension`() throws {
        func code(_ life: SubscriberLife) throws -> ServerAPIErrorCode? {
            try failure {
                try client.extendRenewal(
                    of: life.latest.originalID,
                    RenewalExtension(days: 1, reason: .other, requestIdentifier: "r"), in: .sandbox)
            }.code
        }
        #expect(try code(bench.family) == .familySharedSubscriptionExtensionIneligible)
        #expect(try code(bench.refunded) == .subscriptionExtensionIneligible)
    }

    @Test func `an extension for all is carried out later, once`() throws {
        let wanted = RenewalExtension(days: 5, reason: .outage, requestIdentifier: "outage-7")
        for _ in 0..<2 { try client.extendAllRenewals(of: "pro_monthly", wanted, in: .sandbox) }
        func progress() throws -> ExtensionProgress {
            try client.extensionProgress(of: "pro_monthly", requestIdentifier: "outage-7", in: .sandbox)
        }
        try eventually("the extension is complete") { try progress().isComplete }
        let done = try progress()
        #expect(done.succeeded == 1 && done.failed == 1, "the family member's cannot be extended")
        let state = try client.subscriptions(of: bench.subscriber.latest.id, in: .only(.sandbox)).answer.first
        #expect(state?.transaction.payload.expiresDate == bench.subscriber.expires + 5 * StoreFixture.day)
        #expect(
            try failure {
                try client.extensionProgress(of: "pro_monthly", requestIdentifier: "other", in: .sandbox)
            }.code == .statusRequestNotFound)
    }

    @Test func `an app account token is set for the purchase and its renewals`() throws {
        let token = "7e3fb204-2d4f-4c19-8b0d-3c9e5f3a7d11"
        let id = bench.subscriber.latest.originalID
        try client.setAppAccountToken(token, of: id, in: .sandbox)
        let state = try client.subscriptions(of: id, in: .only(.sandbox)).answer.first
        #expect(state?.transaction.payload.appAccountToken == token)
        #expect(state?.renewal?.payload.appAccountToken == token)
        func code(_ token: String, _ id: String) throws -> ServerAPIErrorCode? {
            try failure { try client.setAppAccountToken(token, of: id, in: .sandbox) }.code
        }
        #expect(try code("no-uuid", id) == .invalidAppAccountTokenUUID)
        #expect(try code(token, bench.subscriber.latest.id) == .notOriginalTransactionID)
        #expect(try code(token, bench.family.latest.id) == .familyTransactionNotSupported)
    }

    @Test func `a transaction is finished, if there is one`() throws {
        try client.finish(bench.subscriber.oneTimePurchases[0].id, in: .sandbox)
        #expect(try failure { try client.finish("999", in: .sandbox) }.code == .transactionIDNotFound)
    }

    @Test func `consumption is told, and never without consent`() throws {
        var told = ConsumptionInformation(
            customerConsented: true, delivery: .delivered, sampleContentProvided: false,
            consumptionPercentage: 25_000, preference: .grantProrated)
        try client.sendConsumption(told, of: bench.subscriber.oneTimePurchases[0].id, in: .sandbox)
        told.customerConsented = false
        let error = try failure {
            try client.sendConsumption(told, of: bench.subscriber.oneTimePurchases[0].id, in: .sandbox)
        }
        #expect(error == .invalid("Apple accepts consumption information only with the customer's consent"))
    }

    @Test(arguments: [
        (
            ConsumptionInformation.Delivery.delivered, 100_001 as Int64?, nil as ConsumptionInformation.Preference?,
            false
        ),
        (.delivered, -1, nil, false), (.qualityIssue, 5, nil, false), (.qualityIssue, 0, nil, true),
        (.delivered, 0, .grantProrated, false), (.delivered, 50_000, .grantProrated, true),
        (.delivered, nil, .decline, true), (.delivered, 100_000, .grantFull, true),
    ])
    func `what Apple would refuse is not sent`(
        delivery: ConsumptionInformation.Delivery, percentage: Int64?,
        preference: ConsumptionInformation.Preference?, isGood: Bool
    ) {
        let told = ConsumptionInformation(
            customerConsented: true, delivery: delivery, sampleContentProvided: true,
            consumptionPercentage: percentage, preference: preference)
        #expect((told.flaw == nil) == isGood)
    }

    @Test(arguments: ["", ".", "..", String(repeating: "1", count: 257)])
    func `an id that cannot be one is not sent`(id: String) throws {
        let error = try failure { try client.transaction(id, in: .only(.sandbox)) }
        guard case .invalid = error else { throw TestFailure("\(error)") }
    }

    @Test func `an id with marks in it stays one part of the path`() throws {
        let error = try failure { try client.transaction("1/../2?x=1", in: .only(.sandbox)) }
        #expect(error.code == .invalidTransactionID)
    }

    @Test func `an environment that the app does not have is not asked`() throws {
        let error = try failure {
            try client.subscriptions(of: bench.subscriber.latest.id, in: .only(.production))
        }
        guard case .invalid(let text) = error else { throw TestFailure("\(error)") }
        #expect(text.contains("Production"))
    }

    @Test func `what production does not know is looked up in the sandbox`() throws {
        let production = try StoreFixture(.production, seed: 8)
        let both = try bench.client(
            keys: [bench.key()], environments: [.production, .sandbox],
            urls: [.production: production.service.baseURL, .sandbox: bench.service.baseURL])
        // Each store has a key of its own, so production refuses: that is no reason to look further.
        let refused = try failure {
            try both.subscriptions(of: bench.subscriber.latest.id, in: .productionThenSandbox)
        }
        guard case .unauthorized = refused else { throw TestFailure("\(refused)") }
        production.service.add(StoreFault(.notFound))
        let found = try both.subscriptions(of: bench.subscriber.latest.id, in: .productionThenSandbox)
        #expect(found.environment == .sandbox && found.answer.count == 1)
        production.service.clearFaults()
        production.service.add(StoreFault(.error))
        let impatient = try bench.client(
            keys: [bench.key()], environments: [.production, .sandbox],
            urls: [.production: production.service.baseURL, .sandbox: bench.service.baseURL],
            retries: ServerAPIRetryPolicy(attempts: 1))
        #expect(
            try failure {
                try impatient.subscriptions(of: bench.subscriber.latest.id, in: .productionThenSandbox)
            }.code == .generalInternalRetryable)
    }

    private func items(
        _ query: NotificationHistoryQuery, from token: String? = nil
    ) throws -> [NotificationHistoryItem] {
        var items: [NotificationHistoryItem] = []
        var pages = client.notificationPages(query, from: token, in: .sandbox)
        while let page = try pages.next() { items += page.items }
        return items
    }
}
