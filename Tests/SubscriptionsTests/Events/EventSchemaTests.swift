import Base
import Foundation
import Subscriptions
import Testing

/// The published schemas: what we send, and what receivers were written for, must both fit them.
struct EventSchemaTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func check(_ type: String) throws -> SchemaCheck {
        let file = package.appending(path: "schemas/events/\(type.lowercased()).schema.json")
        return SchemaCheck(schema: try JSON(parsing: Array(Data(contentsOf: file))))
    }

    private static func faults(_ body: JSON, _ type: String) throws -> [String] {
        try check(type).faults(try JSON(parsing: body.bytes))
    }

    // MARK: - What we send

    /// Every member that we send, in its order, which is stricter than the schemas are.
    private static func members(of type: EventType) -> [String] {
        let consent: Set = [.priceIncreaseConsentRequired, .priceIncreaseConsentApproved] as Set<EventType>
        guard !consent.contains(type) else {
            return [
                "event_timestamp_ms", "product_id", "period_type", "purchased_at_ms", "expiration_at_ms", "environment",
                "transaction_id", "original_transaction_id", "country_code", "app_user_id", "aliases",
                "original_app_user_id", "currency", "subscriber_attributes", "store", "type", "id", "app_id",
            ]
        }
        guard type != .consumptionRequest else {
            return [
                "event_timestamp_ms", "product_id", "environment", "transaction_id", "original_transaction_id",
                "app_user_id", "aliases", "original_app_user_id", "consumption_request_reason", "asked_at_ms",
                "deadline_at_ms", "subscriber_attributes", "store", "type", "id", "app_id",
            ]
        }
        guard type != .subscriberAlias else {
            return [
                "event_timestamp_ms", "environment", "app_user_id", "aliases", "original_app_user_id",
                "subscriber_attributes", "store", "type", "id", "app_id",
            ]
        }
        guard type != .transfer else {
            return [
                "event_timestamp_ms", "environment", "store", "transferred_from", "transferred_to",
                "subscriber_attributes", "type", "id", "app_id",
            ]
        }
        let period = [
            "event_timestamp_ms", "product_id", "period_type", "purchased_at_ms", "expiration_at_ms", "environment",
            "entitlement_id", "entitlement_ids", "presented_offering_id", "transaction_id", "original_transaction_id",
            "is_family_share", "country_code", "app_user_id", "aliases", "original_app_user_id",
        ]
        let particular: [EventType: [String]] = [
            .productChange: ["new_product_id"], .cancellation: ["cancel_reason"], .expiration: ["expiration_reason"],
            .billingIssue: ["grace_period_expiration_at_ms"],
        ]
        let terms = [
            "price", "price_in_purchased_currency", "subscriber_attributes", "store", "takehome_percentage",
            "offer_code", "tax_percentage", "commission_percentage", "metadata", "renewal_number",
        ]
        let discounts = ["discount_percentage", "discount_amount", "discount_identifier"]
        let last: [EventType: [String]] = [
            .initialPurchase: discounts, .renewal: discounts, .nonRenewingPurchase: discounts,
        ]
        return period + (particular[type] ?? []) + ["currency"] + (type == .renewal ? ["is_trial_conversion"] : [])
            + terms + (last[type] ?? []) + ["type", "id", "app_id"]
    }

    @Test(arguments: EventType.allCases)
    func `our bodies fit the schema of their type`(type: EventType) throws {
        let bodies = try #require(EventBodyTests.bodies[type], "no body of this type was made")
        let check = try Self.check(type.rawValue)
        for body in bodies {
            // Read back, so that what is checked is what is sent.
            #expect(check.faults(try JSON(parsing: body.bytes)) == [])
        }
        // Nulls wherever nothing was signed.
        let isOfNoCountry = [.test, .transfer, .subscriberAlias, .consumptionRequest].contains(type)
        #expect(bodies.contains { $0["event"]?["country_code"] == .null } || isOfNoCountry)
    }

    @Test(arguments: EventType.allCases)
    func `our bodies have every member, in its order, and are stricter than the schema`(type: EventType) throws {
        let id = try Regex("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
        let members = Self.members(of: type)
        let known = try Self.check(type.rawValue).schema["properties"]?["event"]?["properties"]?.members
        // Of a trial that is told after the period that followed it.
        // Where several were bought at once.
        let several: [String] = type == .nonRenewingPurchase ? ["quantity"] : []
        let rare = Set((type == .initialPurchase ? ["is_trial_conversion"] : []) + several)
        #expect(Set(known?.map(\.name) ?? []) == Set(members).union(rare))
        for body in try #require(EventBodyTests.bodies[type], "no body of this type was made") {
            #expect(body.members?.map(\.name) == ["event", "api_version"])
            let event = try #require(body["event"])
            let isSeveral = event["quantity"] != nil
            #expect(!isSeveral || event["quantity"] != .int(1))
            let isConversion = type == .initialPurchase && event["is_trial_conversion"] != nil
            #expect(!isConversion || event["is_trial_conversion"] == .bool(true))
            let wanted = members.flatMap { name in
                (isSeveral && name == "type" ? several : []) + [name]
                    + (isConversion && name == "currency" ? ["is_trial_conversion"] : [])
            }
            #expect(event.members?.map(\.name) == wanted)
            #expect(event["id"]?.stringValue?.wholeMatch(of: id) != nil)
            if members.contains("entitlement_id") { #expect(event["entitlement_id"] == .null) }
            if members.contains("presented_offering_id") {
                #expect([.null, .string("spring")].contains(event["presented_offering_id"]))
            }
        }
    }

    @Test func `a transfer fits its schema, with attributes and without, and with nobody it does not`() throws {
        func transfer(from: [String], _ attributes: JSON? = nil) -> JSON {
            .object([
                "event": .object([
                    "event_timestamp_ms": .int(epoch), "environment": .string("SANDBOX"),
                    "transferred_from": .strings(from), "transferred_to": .strings(["bob", "eve"]),
                    "subscriber_attributes": attributes, "store": .string("APP_STORE"), "type": .string("TRANSFER"),
                    "id": .string(EventID.uuid(of: digest("transfer"))), "app_id": .string("demo"),
                ]), "api_version": .string("1.0"),
            ])
        }
        #expect(try Self.faults(transfer(from: ["eve"]), "TRANSFER") == [])
        #expect(try Self.faults(transfer(from: ["eve"], .object([])), "TRANSFER") == [])
        #expect(try Self.faults(transfer(from: []), "TRANSFER").count == 1)
        #expect(try Self.faults(transfer(from: [""], .null), "TRANSFER").count == 2)
    }

    @Test func `a check against a schema can fail`() throws {
        let body = try #require(EventBodyTests.bodies[.cancellation]?.first)
        func faults(_ name: String, _ value: JSON?) throws -> [String] {
            let members = (body["event"]?.members ?? []).compactMap { member in
                member.name == name ? value.map { JSON.Member(name: name, value: $0) } : member
            }
            let changed = JSON.object(["event": .object(members), "api_version": .string("1.0")])
            return try Self.faults(changed, "CANCELLATION")
        }
        #expect(try faults("cancel_reason", .string("BOREDOM")).count == 1)
        #expect(try faults("country_code", .string("usa")).count == 1)
        #expect(try faults("type", .string("RENEWAL")).count == 1)
        #expect(try faults("renewal_number", .string("1")).count == 1)
        #expect(try faults("renewal_number", .int(0)).count == 1)
        #expect(try faults("aliases", .array([.int(1)])).count == 1)
        #expect(try faults("id", .string("")).count == 1)
        #expect(try faults("cancel_reason", nil) == ["$.event lacks cancel_reason"])
        #expect(try faults("renewal_number", .null) == [])
        #expect(try Self.faults(.object(["event": .null]), "CANCELLATION").count == 2)
        #expect(SchemaCheck(schema: .object(["maximum": .int(1)])).faults(.int(0)).count == 1)
    }

    // MARK: - What receivers were written for

    enum Samples {
        /// Beside the repository, where it is there.
        static let folder = EventSchemaTests.package.deletingLastPathComponent()
            .appending(path: "shared/data/revenuecat/samples/docs")
        static let isPresent = FileManager.default.fileExists(atPath: folder.path)

        /// Those of the App Store, of the types that we send.
        static let all: [(file: String, type: String, body: JSON)] = {
            let types = Set(EventType.allCases.map(\.rawValue)).union(["TRANSFER"])
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            return files.sorted().compactMap { file in
                guard let data = try? Data(contentsOf: folder.appending(path: file)),
                    let body = try? JSON(parsing: Array(data)), let type = body["event"]?["type"]?.stringValue,
                    types.contains(type), body["event"]?["store"]?.stringValue == "APP_STORE"
                else { return nil }
                return (file, type, body)
            }
        }()
    }

    @Test(.enabled(if: Samples.isPresent, "skipped: the data is not here"))
    func `every sample of an App Store event that is published fits our schema of its type`() throws {
        let expected: Set = [
            "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "NON_RENEWING_PURCHASE", "BILLING_ISSUE",
            "EXPIRATION", "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED", "TRANSFER",
        ]
        #expect(Set(Samples.all.map(\.type)).isSuperset(of: expected))
        #expect(Samples.all.contains { $0.file == "envelope_example.json" })
        for sample in Samples.all {
            #expect(try Self.faults(sample.body, sample.type) == [], "\(sample.file)")
        }
    }
}
