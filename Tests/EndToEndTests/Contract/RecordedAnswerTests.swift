import Base
import Foundation
import StoreSimulator
import TestSupport
import Testing

/// What the SDK's own tests feed it as answers, beside ours: every member and its type.
@Suite(
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"),
    .enabled(if: ContractFiles.isSharedHere, "\(ContractFiles.sharedAbsence)"))
struct RecordedAnswerTests {
    /// Places of customer information whose members are named by data.
    private static let maps: Set = [
        "subscriber.entitlements", "subscriber.subscriptions", "subscriber.non_subscriptions",
        "subscriber.other_purchases", "subscriber.subscriber_attributes",
    ]

    /// What recorded answers have and ours need not: by its place, why.
    private static let exceptions: [String: String] = [
        "schema_version": "the SDK's cache writes it, no server",
        "original_source": "the SDK's cache writes it, no server",
        "future_data": "a made-up member, to see that the SDK passes over it",
        "future_data.is_included": "part of the above",
        "subscriber.entitlements.*.future_data": "a made-up member, to see that the SDK passes over it",
        "subscriber.entitlements.*.future_data.is_included": "part of the above",
        "subscriber.other_purchases.*": "RevenueCat's own answers have nothing in it any more",
        "subscriber.other_purchases.*.purchase_date": "part of the above",
        "subscriber.subscriptions.*.auto_resume_date": "always null: only Google Play pauses subscriptions",
        "subscriber.subscriptions.*.product_plan_identifier":
            "left out: only Google Play has base plans, and Android's SDK reads null as a name",
    ]

    private static func recorded(_ name: String) throws -> JSON {
        let file = ContractFiles.shared.appending(path: "fixtures/ios-responses/\(name).json")
        return try JSON(parsing: Array(Data(contentsOf: file)))
    }

    @Test func `a customer's information has every member that the SDK is tested with, field by field`() throws {
        let scene = try APIFixture()
        let id = try scene.makeCustomer()
        let files = [
            "CustomerInfo", "CustomerInfo-v2", "CustomerInfoWithDuplicateMappedProductKeys",
            "CustomerInfoWithoutOriginalSource", "minimal_customer_info",
        ]
        var recorded = try files.map(Self.recorded)
        // One of its two subscriptions is broken on purpose.
        let invalid = try Self.recorded("CustomerInfoWithInvalidSubscription")
        recorded.append(
            try JSON(parsing: Array(invalid.text.replacing(/"sub1":\{[^}]*\},/, with: "").utf8)))
        let transaction = try scene.appTransaction(seed: 800)
        #expect(
            scene.call(
                "POST", "/v1/receipts",
                .object(["app_user_id": .string(id), "app_transaction": .string(transaction)]),
                key: APIFixture.publicKey, headers: ["X-Platform": "iOS"]
            ).status == 200)
        let answer = scene.call("GET", "/v1/subscribers/\(id)", key: APIFixture.publicKey)
        let faults = AnswerShape([answer.json], maps: Self.maps)
            .faults(readBy: AnswerShape(recorded, maps: Self.maps))
        let unexplained = faults.filter { fault in !Self.exceptions.keys.contains { fault.hasPrefix("\($0): ") } }
        #expect(unexplained == [])
        // Exceptions that are none any more are taken out.
        for place in Self.exceptions.keys { #expect(faults.contains { $0.hasPrefix("\(place): ") }, "\(place)") }
    }

    @Test func `offerings have every member that the SDK is tested with`() throws {
        let scene = try APIFixture()
        let answer = scene.call(
            "GET", "/v1/subscribers/ada/offerings", key: APIFixture.publicKey, headers: ["X-Platform": "iOS"])
        let recorded = try ["Offerings", "OfferingsWithoutPlatformProductPlanIdentifier"].map(Self.recorded)
        let maps: Set = ["offerings[].metadata"]
        // Paywalls are RevenueCat's own, and metadata is whatever the configuration has.
        let faults = AnswerShape([answer.json], maps: maps).faults(readBy: AnswerShape(recorded, maps: maps))
            .filter { !$0.hasPrefix("offerings[].paywall") && !$0.hasPrefix("offerings[].metadata.*") }
        #expect(faults == [])
    }

    @Test func `other answers have every member that the SDK is tested with`() throws {
        let scene = try APIFixture()
        let mapping = scene.call("GET", "/v1/product_entitlement_mapping", key: APIFixture.publicKey).json
        #expect(
            AnswerShape([mapping], maps: ["product_entitlement_mapping"]).faults(
                readBy: AnswerShape(
                    [try Self.recorded("ProductsEntitlements")], maps: ["product_entitlement_mapping"])) == [])
        let eligibility = scene.call(
            "POST", "/v1/subscribers/ada/intro_eligibility",
            .object(["product_identifiers": .strings(["producta", "productb"])]), key: APIFixture.publicKey
        ).json
        #expect(eligibility.members?.map(\.name) == ["producta", "productb"])
        #expect(eligibility.members?.allSatisfy { $0.value == .null || $0.value.boolValue != nil } == true)
        let currencies = scene.call("GET", "/v1/subscribers/ada/virtual_currencies", key: APIFixture.publicKey).json
        #expect(currencies == (try Self.recorded("VirtualCurrenciesEmpty")))
    }

    @Test func `a shape tells what is missing, what is not always there, and what is of another type`() {
        func shape(_ text: String) -> AnswerShape {
            let json = try? JSON(parsing: Array(text.utf8))
            return AnswerShape([json ?? .null], maps: ["map"])
        }
        let reader = shape(#"{"a":1,"b":null,"map":{"x":{"c":"text","d":true}}}"#)
        #expect(shape(#"{"a":2,"b":"text","map":{"y":{"c":"","d":false}},"more":1}"#).faults(readBy: reader) == [])
        #expect(
            shape(#"{"a":"2","b":null,"map":{"y":{"c":"","d":false},"z":{"c":null}}}"#).faults(readBy: reader)
                == [#"a: ["string"], not ["number"]"#, "map.*.d: not always there"])
        #expect(
            shape(#"{"b":1,"map":{"y":{"c":null,"d":true}}}"#).faults(readBy: reader)
                == ["a: not there", "map.*.c: always null"])
    }
}
