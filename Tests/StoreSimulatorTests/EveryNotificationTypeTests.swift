import Base
import Testing

@testable import StoreSimulator

@Suite struct EveryNotificationTypeTests {
    static let tour = EveryNotificationType.notifications(seed: 11, until: testNow)

    /// Apple's list of types, and the subtypes of each; "" is none.
    static let kinds: [(String, [String])] = [
        ("CONSUMPTION_REQUEST", [""]), ("DID_CHANGE_RENEWAL_PREF", ["UPGRADE", "DOWNGRADE", ""]),
        ("DID_CHANGE_RENEWAL_STATUS", ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"]),
        ("DID_FAIL_TO_RENEW", ["GRACE_PERIOD", ""]), ("DID_RENEW", ["", "BILLING_RECOVERY"]),
        ("EXPIRED", ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", ""]),
        ("EXTERNAL_PURCHASE_TOKEN", ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"]), ("GRACE_PERIOD_EXPIRED", [""]),
        ("METADATA_UPDATE", [""]), ("MIGRATION", [""]), ("OFFER_REDEEMED", ["", "UPGRADE", "DOWNGRADE"]),
        ("ONE_TIME_CHARGE", [""]), ("PRICE_CHANGE", [""]), ("PRICE_INCREASE", ["PENDING", "ACCEPTED"]),
        ("REFUND", [""]),
        ("REFUND_DECLINED", [""]), ("REFUND_REVERSED", [""]), ("RENEWAL_EXTENDED", [""]),
        ("RENEWAL_EXTENSION", ["SUMMARY", "FAILURE"]), ("RESCIND_CONSENT", [""]), ("REVOKE", [""]),
        ("SUBSCRIBED", ["INITIAL_BUY", "RESUBSCRIBE"]), ("TEST", [""]),
    ]

    @Test func `the tour ends now, so that Apple has a history of it`() throws {
        let dates = EveryNotificationTypeTests.tour.map(\.signedDate)
        let last = try #require(dates.last)
        #expect(dates.allSatisfy { $0 <= testNow } && last > testNow - 7 * StoreProduct.day)
        #expect(try #require(dates.first) > testNow - 400 * StoreProduct.day)
    }

    @Test func `the table has all 23 types and 19 subtypes`() {
        #expect(EveryNotificationTypeTests.kinds.count == 23)
        #expect(Set(EveryNotificationTypeTests.kinds.flatMap(\.1)).subtracting([""]).count == 19)
    }

    @Test(arguments: kinds)
    func `every type comes with each of its subtypes`(type: String, subtypes: [String]) {
        let found = EveryNotificationTypeTests.tour.filter { $0.type == type }.map { $0.subtype ?? "" }
        #expect(Set(found) == Set(subtypes))
    }

    @Test func `besides them there is one of a type that nobody knows`() {
        let known = Set(EveryNotificationTypeTests.kinds.map(\.0))
        #expect(EveryNotificationTypeTests.tour.map(\.type).filter { !known.contains($0) } == ["MOON_PHASE_CHANGED"])
    }

    @Test(arguments: tour)
    func `the content stands under the member that its type has`(told: StoreNotification) throws {
        let payload = told.payload { _ in "jws" }
        let wanted =
            switch told.name {
            case "RENEWAL_EXTENSION.SUMMARY": "summary"
            case let name where name.hasPrefix("EXTERNAL_PURCHASE_TOKEN"): "externalPurchaseToken"
            case "RESCIND_CONSENT": "appData"
            default: "data"
            }
        let present = ["data", "summary", "externalPurchaseToken", "appData"].filter { payload[$0] != nil }
        #expect(present == [wanted])
        #expect(payload["version"]?.stringValue == "2.0")
        #expect(payload[wanted]?["bundleId"]?.stringValue == "com.example.app")
        let reason = payload["data"]?["consumptionRequestReason"]
        #expect((reason != nil) == (told.type == "CONSUMPTION_REQUEST"))
    }

    @Test func `what is nested is signed apart and names the same app`() throws {
        let signer = NotificationSigner(try SigningTests.pki.get())
        for told in EveryNotificationTypeTests.tour {
            let payload = try JWSReading.payload(body: try signer.sign(told).body)
            for name in ["signedTransactionInfo", "signedRenewalInfo"] {
                guard let nested = payload["data"]?[name]?.stringValue else { continue }
                let content = try JWSReading.parts(nested).payload
                #expect(content["environment"]?.stringValue == "Sandbox")
                #expect(content["signedDate"]?.intValue == told.signedDate)
                #expect((content["bundleId"]?.stringValue == "com.example.app") == (name == "signedTransactionInfo"))
            }
        }
    }
}
