import Base
import Testing

@testable import StoreSimulator

@Suite struct LifeTests {
    @Test(arguments: Scenario.allCases)
    func `the same seed tells the same lives, another seed others`(scenario: Scenario) {
        let app = StoreApp()
        let first = scenario.notifications(app: app, seed: 7, number: 3, until: testNow)
        #expect(first == scenario.notifications(app: app, seed: 7, number: 3, until: testNow))
        #expect(first != scenario.notifications(app: app, seed: 8, number: 3, until: testNow))
        #expect(first != scenario.notifications(app: app, seed: 7, number: 4, until: testNow))
    }

    @Test(arguments: Scenario.allCases)
    func `nothing is signed after the end, or before what it follows`(scenario: Scenario) {
        for number in UInt64(0)..<200 {
            let told = scenario.notifications(app: StoreApp(), seed: 1, number: number, until: testNow)
            #expect(told.allSatisfy { $0.signedDate <= testNow })
            #expect(zip(told, told.dropFirst()).allSatisfy { $0.signedDate <= $1.signedDate })
        }
    }

    @Test(arguments: Scenario.allCases)
    func `no id is used twice`(scenario: Scenario) {
        var uuids: Set<String> = []
        var owners: [String: UInt64] = [:]
        var repeated: [String] = []
        for number in UInt64(0)..<300 {
            for told in scenario.notifications(app: StoreApp(), seed: 5, number: number, until: testNow) {
                if !uuids.insert(told.uuid).inserted { repeated.append(told.uuid) }
                guard let id = told.transaction?["transactionId"]?.stringValue else { continue }
                if owners.updateValue(number, forKey: id) ?? number != number { repeated.append(id) }
            }
        }
        #expect(repeated.isEmpty && owners.count >= 120)
    }

    @Test(arguments: [("Sandbox", 16, "2000"), ("Production", 15, "430")])
    func `ids look like Apple's`(environment: String, length: Int, prefix: String) throws {
        var life = SubscriberLife(app: StoreApp(environment: environment), seed: 1)
        let told = life.start(at: testNow)
        let transaction = try #require(told.transaction)
        for name in ["transactionId", "originalTransactionId", "webOrderLineItemId"] {
            let id = try #require(transaction[name]?.stringValue)
            #expect(id.count == length && id.hasPrefix(prefix) && id.allSatisfy(\.isNumber))
        }
        #expect(transaction["appTransactionId"]?.stringValue?.count == 18)
        #expect(told.uuid.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }

    @Test func `a renewal follows the period before it`() {
        var life = SubscriberLife(seed: 1)
        life.start(at: testNow)
        let renewed = life.renew(at: life.expires)
        #expect(life.periods[1].purchased == testNow + 30 * day)
        #expect(life.periods[1].originalID == life.periods[0].id && life.periods[1].id != life.periods[0].id)
        #expect(renewed.transaction?["transactionReason"]?.stringValue == "RENEWAL")
        #expect(renewed.renewal?["renewalDate"]?.intValue == testNow + 60 * day)
    }

    @Test(arguments: [
        (StoreOffer.trial, 1, "FREE_TRIAL", Int64(0)), (.intro, 1, "PAY_AS_YOU_GO", 2990),
        (.promotional, 2, "PAY_UP_FRONT", 14990), (.code, 3, "FREE_TRIAL", 0), (.winBack, 4, "PAY_AS_YOU_GO", 1990),
    ])
    func `an offer shows in the first period`(offer: StoreOffer, type: Int64, discount: String, price: Int64) throws {
        var life = SubscriberLife(seed: 1)
        let told = try #require(life.start(offer: offer, at: testNow).transaction)
        #expect(told["offerType"]?.intValue == type)
        #expect(told["offerDiscountType"]?.stringValue == discount)
        #expect(told["price"]?.intValue == price)
        #expect(told["expiresDate"]?.intValue == testNow + offer.lasts)
    }

    @Test(arguments: SubscriberLife.Ending.allCases)
    func `an end tells its reason`(ending: SubscriberLife.Ending) {
        var life = SubscriberLife(seed: 1)
        life.start(at: testNow)
        let ended = life.expire(ending, at: life.expires)
        #expect(ended.subtype == (ending == .other ? nil : ending.rawValue))
        #expect(ended.renewal?["expirationIntent"]?.intValue == ending.intent)
        #expect(ended.renewal?["autoRenewStatus"]?.intValue == 0)
        #expect(ended.renewal?["renewalPrice"] == nil)
        #expect(life.status == .expired)
    }

    @Test func `unpaid renewals go through grace to retry and back`() {
        var life = SubscriberLife(seed: 1)
        life.start(at: testNow)
        let over = life.expires
        let failed = life.failBilling(graceUntil: over + 16 * day, at: over)
        #expect(failed.name == "DID_FAIL_TO_RENEW.GRACE_PERIOD" && life.status == .grace)
        #expect(failed.renewal?["gracePeriodExpiresDate"]?.intValue == over + 16 * day)
        #expect(failed.renewal?["isInBillingRetryPeriod"]?.boolValue == true)
        life.endGrace(at: over + 16 * day)
        #expect(life.status == .billingRetry)
        let recovered = life.recover(at: over + 20 * day)
        #expect(life.status == .active && life.latest.purchased == over + 20 * day)
        #expect(recovered.renewal?["isInBillingRetryPeriod"] == nil)
    }

    @Test func `paid within grace, the new period begins where the old one ended`() {
        var life = SubscriberLife(seed: 1)
        life.start(at: testNow)
        let over = life.expires
        life.failBilling(graceUntil: over + 16 * day, at: over)
        life.recover(at: over + 3 * day)
        #expect(life.latest.purchased == over)
    }

    @Test func `a refund of an earlier period leaves the subscription active`() {
        var life = SubscriberLife(seed: 1)
        life.start(at: testNow)
        life.renew(at: life.expires)
        let refunded = life.refund(.period(0), at: testNow + 31 * day)
        #expect(life.status == .active)
        #expect(refunded.transaction?["transactionId"]?.stringValue == life.periods[0].id)
        #expect(refunded.transaction?["revocationType"]?.stringValue == "REFUND_FULL")
        life.refund(at: testNow + 32 * day)
        #expect(life.status == .revoked)
        #expect(life.reverseRefund(at: testNow + 33 * day).transaction?["revocationDate"] == nil)
        #expect(life.status == .active)
    }

    @Test func `nothing is taken back before it was bought`() throws {
        for takeBack in [{ $0.refund(at: testNow) }, { $0.revokeFamily(at: testNow) }]
            as [(inout SubscriberLife) -> StoreNotification]
        {
            var life = SubscriberLife(seed: 1)
            life.start(at: testNow)
            let told = takeBack(&life)
            let revoked = try #require(told.transaction?["revocationDate"]?.intValue)
            #expect(revoked > testNow && told.signedDate >= revoked)
        }
    }

    @Test func `an upgrade marks the old period and begins a new one, a downgrade waits`() {
        var life = SubscriberLife(seed: 1)
        life.start(at: testNow)
        life.upgrade(to: .proYearly, at: testNow + day)
        #expect(life.periods[0].isUpgraded && !life.periods[1].isUpgraded)
        #expect(life.latest.productID == "pro_yearly" && life.latest.purchased == testNow + day)
        let down = life.downgrade(to: .basicMonthly, at: testNow + 2 * day)
        #expect(life.latest.productID == "pro_yearly")
        #expect(down.renewal?["autoRenewProductId"]?.stringValue == "basic_monthly")
        #expect(life.renew(at: life.expires).transaction?["productId"]?.stringValue == "basic_monthly")
    }

    @Test func `a family member pays nothing and is told without the buyer's token`() throws {
        var member = SubscriberLife(seed: 1, isFamilyMember: true)
        let told = try #require(member.start(at: testNow).transaction)
        #expect(told["inAppOwnershipType"]?.stringValue == "FAMILY_SHARED")
        #expect(told["price"] == nil && told["appAccountToken"] == nil)
    }

    @Test func `a purchase that does not renew has neither renewal info nor status`() throws {
        var buyer = SubscriberLife(seed: 1)
        let told = buyer.buyOnce(.lifetime, at: testNow).payload { _ in "jws" }
        let data = try #require(told["data"])
        #expect(data["signedTransactionInfo"] != nil)
        #expect(data["signedRenewalInfo"] == nil && data["status"] == nil)
    }

    @Test(arguments: [("Sandbox", false, "SANDBOX_"), ("Production", true, "")])
    func `tests and tokens differ between environments`(environment: String, hasID: Bool, prefix: String) throws {
        var notices = StoreNotices(app: StoreApp(environment: environment), seed: 1)
        let test = notices.test(at: testNow).payload { _ in "" }
        #expect((test["data"]?["appAppleId"] != nil) == hasID)
        let token = notices.externalPurchaseToken(at: testNow).payload { _ in "" }
        let id = try #require(token["externalPurchaseToken"]?["externalPurchaseId"]?.stringValue)
        #expect(id.hasPrefix("SANDBOX_") == (prefix == "SANDBOX_"))
    }
}
