import Base
import TestSupport
import Testing

/// What RevenueCat's iOS SDK sends, answered by real processes.
@Suite(
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"),
    .enabled(if: ContractFiles.isSharedHere, "\(ContractFiles.sharedAbsence)"))
struct RecordedRequestTests {
    /// What the SDK goes on with, by the names of recorded requests. Those that carry no token of Apple's are answered as
    /// they were recorded.
    private static let answers: [String: (status: Int, members: [String])] = [
        "get_customer_info": (201, ["request_date", "request_date_ms", "subscriber"]),
        "get_customer_info_with_nonce": (200, ["request_date", "request_date_ms", "subscriber"]),
        "get_offerings": (200, ["current_offering_id", "offerings", "placements", "ui_config"]),
        "get_product_entitlement_mapping": (200, ["product_entitlement_mapping"]),
        "post_intro_eligibility": (200, ["producta", "productb", "productc", "productd"]),
        "post_offers": (200, ["offers"]),
        "post_subscribers_identify": (201, ["request_date", "request_date_ms", "subscriber"]),
        // Its keys have spaces, which no key may have.
        "post_subscriber_attributes": (400, ["attribute_errors", "code", "message"]),
    ]

    @Test func `each recorded request is answered as the SDK expects`() throws {
        let scene = try APIFixture()
        let all = try RecordedRequest.all()
        #expect(all.count == 25)
        var transaction: UInt64 = 900
        for recorded in all {
            switch recorded.name {
            case "get_health":
                let answer = scene.send(recorded)
                #expect(answer.status == 200)
                #expect(answer.text == "\"\"\n")
            case "post_restore_eligibility":
                try expectRestoreEligibility(scene, recorded)
            case let name where name.hasPrefix("post_receipts"):
                transaction += 1
                try expectReceipt(scene, recorded, transaction)
            default:
                let (status, members) = try #require(Self.answers[recorded.name], "\(recorded.name) is not known here")
                let answer = scene.send(recorded)
                #expect(answer.status == status, "\(recorded.name): \(answer.text)")
                #expect(answer.json.members?.map(\.name) == members, "\(recorded.name)")
            }
        }
        if PythonChecks.isThere {
            #expect(try scene.judge().faults == [])
        } else {
            print("\(PythonChecks.absence): the answers were not compared with the contract")
        }
    }

    /// As it was recorded its token is nobody's signature; with one of Apple's it is a question that has an answer.
    private func expectRestoreEligibility(_ scene: APIFixture, _ recorded: RecordedRequest) throws {
        let refused = scene.send(recorded)
        #expect(refused.status == 400, "\(refused.text)")
        let answer = scene.send(recorded.with(["fetch_token": .string(try scene.transaction(seed: 890))]))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json == .object(["is_purchase_allowed_by_restore_behavior": .bool(true)]))
    }

    /// With a transaction that Apple signed instead of the recorded token the purchase is the customer's; with the token,
    /// which nothing will ever make good, the SDK is told to give it up (no 5xx).
    private func expectReceipt(_ scene: APIFixture, _ recorded: RecordedRequest, _ seed: UInt64) throws {
        let refused = scene.send(recorded)
        #expect(refused.status == 400, "\(recorded.name): \(refused.text)")
        #expect([7103, 7662].contains(refused.json["code"]?.intValue), "\(recorded.name): \(refused.text)")
        var changes: [String: JSON?] = [:]
        if recorded.body?["app_transaction"] != nil {
            changes["app_transaction"] = .string(try scene.appTransaction(seed: seed))
        }
        if recorded.body?["fetch_token"] != nil {
            changes["fetch_token"] = .string(try scene.transaction(seed: seed))
        }
        let answer = scene.send(recorded.with(changes))
        #expect(answer.status == 200, "\(recorded.name): \(answer.text)")
        let subscriber = answer.json["subscriber"]
        if recorded.body?["fetch_token"] != nil {
            #expect(subscriber?["subscriptions"]?["pro_monthly"] != nil, "\(recorded.name)")
        }
        if recorded.body?["app_transaction"] != nil {
            #expect(subscriber?["original_application_version"]?.stringValue == "1.0", "\(recorded.name)")
        }
        // Of the recorded attributes some have names that are none; the purchase does not fail by them.
        let errors = answer.json["attributes_error_response"]
        #expect((errors != nil) == (recorded.name == "post_receipts__with_attributes"), "\(recorded.name)")
        if errors != nil { #expect(errors?["code"]?.intValue == 7263) }
    }
}
