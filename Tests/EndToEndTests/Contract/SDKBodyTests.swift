import Base
import StoreSimulator
import TestSupport
import Testing

@testable import Subscriptions

/// What RevenueCat's SDKs decode of each answer: the public models of purchases-ios 5.86 (`Sources/Networking/Responses`) and
/// purchases-android 10.17 (`CustomerInfoFactory`, `OfferingParser`, `responses`). A member is required where one of the two
/// fails without it, and has the kind that both take.
enum SDKBodies {
    private static let date = DocumentShape.text("an instant, as 2026-11-21T10:00:00Z") { text in
        Timestamp.parse(text) != nil
    }
    private static let store = DocumentShape.word(
        "amazon", "app_store", "mac_app_store", "play_store", "stripe", "promotional", "rc_billing", "external")
    private static let price = DocumentShape.object(.required("amount", .number), .required("currency", .text))

    private static let subscription = DocumentShape.object(
        .required("purchase_date", date), .optional("original_purchase_date", date), .optional("expires_date", date),
        .required("store", store), .required("is_sandbox", .flag), .optional("unsubscribe_detected_at", date),
        .optional("billing_issues_detected_at", date), .optional("grace_period_expires_date", date),
        .required("ownership_type", .word("PURCHASED", "FAMILY_SHARED")),
        .required("period_type", .word("normal", "intro", "trial")), .optional("refunded_at", date),
        .optional("store_transaction_id", .text), .optional("auto_resume_date", date),
        .optional("display_name", .text), .optional("price", price), .optional("management_url", PaywallShapes.url)
    ).and { json, place in
        // Android's reader takes null for a plan of that name.
        json["product_plan_identifier"] == nil
            ? [] : [.init(place: "\(place).product_plan_identifier", found: .null, allowed: "nothing")]
    }

    private static let purchase = DocumentShape.object(
        .required("id", .text), .required("purchase_date", date), .optional("original_purchase_date", date),
        .optional("store_transaction_id", .text), .required("store", store), .required("is_sandbox", .flag),
        .optional("display_name", .text), .optional("price", price))

    private static let entitlement = DocumentShape.object(
        .optional("expires_date", date), .required("product_identifier", .text), .required("purchase_date", date),
        .optional("grace_period_expires_date", date))

    static let customer = DocumentShape.object(
        .required("request_date", date), .required("request_date_ms", .integer),
        .required(
            "subscriber",
            .object(
                .required("original_app_user_id", .text), .required("first_seen", date),
                .optional("management_url", PaywallShapes.url), .optional("original_application_version", .text),
                .optional("original_purchase_date", date), .required("subscriptions", .map(of: subscription)),
                .required("non_subscriptions", .map(of: .list(of: purchase))),
                .required("entitlements", .map(of: entitlement)))))

    static let offerings = DocumentShape.object(
        .required("current_offering_id", .text),
        .required(
            "offerings",
            .list(
                of: .object(
                    .required("identifier", .text), .required("description", .text),
                    .required(
                        "packages",
                        .list(
                            of: .object(
                                .required("identifier", .text), .required("platform_product_identifier", .text),
                                .optional("platform_product_plan_identifier", .text)))),
                    .optional("paywall", PaywallShapes.paywall), .optional("metadata", .object([])),
                    .optional("paywall_components", PaywallComponentShapes.paywall)))),
        .optional(
            "placements",
            .object(
                .optional("fallback_offering_id", .text),
                .required("offering_ids_by_placement", .map(of: .either(.null, .text))))),
        .optional("targeting", .object(.required("revision", .integer), .required("rule_id", .text))),
        .optional("ui_config", PaywallShapes.userInterface))

    static let mapping = DocumentShape.object(
        .required(
            "product_entitlement_mapping",
            .map(
                of: .object(
                    .required("product_identifier", .text), .optional("base_plan_id", .text),
                    .required("entitlements", .list(of: .text))), atLeast: 1)))

    private static let uuid = DocumentShape.text("a UUID") { UUIDText.bytes($0) != nil }

    static let offers = DocumentShape.object(
        .required(
            "offers",
            .list(
                of: .object(
                    .required("key_id", .text), .required("offer_id", .text), .required("product_id", .text),
                    .optional(
                        "signature_data",
                        .object(
                            .required("nonce", uuid), .required("signature", .text), .required("timestamp", .integer))),
                    .optional("signature_error", .object(.required("code", .integer), .required("message", .text)))
                ))))

    static let eligibility = DocumentShape.map(of: .either(.null, .flag), atLeast: 1)

    static let restore = DocumentShape.object(.required("is_purchase_allowed_by_restore_behavior", .flag))

    static let currencies = DocumentShape.object(
        .required(
            "virtual_currencies",
            .map(
                of: .object(
                    .required("balance", .integer), .required("name", .text), .required("code", .text),
                    .optional("description", .text)))))

    static let customerCenter = DocumentShape.object(
        .required("customer_center", CustomerCenterShapes.page),
        .optional("last_published_app_version", .text), .optional("itunes_track_id", .integer))

    static let reports = DocumentShape.object(.required("report_logs", .flag))

    /// `BackendErrorCode` of both: a code that they know is told to the app as what it is.
    static let error = DocumentShape.object(.required("code", .integer), .required("message", .text))

    static let anything = DocumentShape.object([])
}

/// Every call of the SDKs with a body as an SDK sends it, against a real installation.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct SDKBodyTests {
    private struct Answer {
        let status: [Int]
        let shape: DocumentShape
        var body: JSON?
    }

    private static let subscriber = "/v1/subscribers/{app_user_id}"

    /// By method and path; calls that are not here are not supported, and say so.
    private static func answers(_ transaction: String, _ other: String) -> [String: Answer] {
        let colour: JSON = .object(["value": .string("green"), "updated_at_ms": .int(1_767_225_600_000)])
        let offer: JSON = .object(["offer_id": .string("half"), "product_id": .string("pro_monthly")])
        return [
            "GET \(subscriber)": Answer(status: [200], shape: SDKBodies.customer),
            "GET \(subscriber)/offerings": Answer(status: [200], shape: SDKBodies.offerings),
            "GET /v1/product_entitlement_mapping": Answer(status: [200], shape: SDKBodies.mapping),
            "GET \(subscriber)/health_report_availability": Answer(status: [200], shape: SDKBodies.reports),
            "GET /v1/health": Answer(status: [200], shape: .text),
            "POST /v1/receipts": Answer(
                status: [200], shape: SDKBodies.customer,
                body: .object([
                    "app_user_id": .string("ada"), "fetch_token": .string(transaction), "is_restore": .bool(false),
                    "observer_mode": .bool(false), "initiation_source": .string("purchase"),
                    "product_id": .string("pro_monthly"), "price": .string("9.99"), "currency": .string("USD"),
                ])),
            "POST /v1/offers": Answer(
                status: [200], shape: SDKBodies.offers,
                body: .object([
                    "app_user_id": .string("ada"), "fetch_token": .string(transaction),
                    "generate_offers": .array([offer]),
                ])),
            "POST \(subscriber)/intro_eligibility": Answer(
                status: [200], shape: SDKBodies.eligibility,
                body: .object(["product_identifiers": .strings(["pro_monthly", "unheard_of"])])),
            "POST \(subscriber)/restore/eligibility": Answer(
                status: [200], shape: SDKBodies.restore, body: .object(["fetch_token": .string(other)])),
            "POST /v1/subscribers/identify": Answer(
                status: [200, 201], shape: SDKBodies.customer,
                body: .object(["app_user_id": .string("ada"), "new_app_user_id": .string("countess")])),
            "POST \(subscriber)/alias": Answer(
                status: [200], shape: SDKBodies.anything,
                body: .object(["new_app_user_id": .string("$RCAnonymousID:0a53b8ecf4de4bd2a3a1b7c1c9f3ad52")])),
            "POST \(subscriber)/attributes": Answer(
                status: [200], shape: SDKBodies.customer,
                body: .object(["attributes": .object(["favourite_colour": colour])])),
            "POST \(subscriber)/attribution": Answer(
                status: [200], shape: SDKBodies.anything,
                body: .object(["network": .int(2), "data": .object(["rc_idfa": .string("5C7C1A3E")])])),
            "POST \(subscriber)/adservices_attribution": Answer(
                status: [200], shape: SDKBodies.anything, body: .object(["aad_attribution_token": .string("token")])),
            "POST /v1/events": Answer(
                status: [200], shape: SDKBodies.anything, body: .object(["events": .array([])])),
            "POST /v1/diagnostics": Answer(
                status: [200], shape: SDKBodies.anything, body: .object(["entries": .array([])])),
            "GET \(subscriber)/virtual_currencies": Answer(status: [200], shape: SDKBodies.currencies),
            "GET /v1/customercenter/{app_user_id}": Answer(status: [200], shape: SDKBodies.customerCenter),
        ]
    }

    @Test func `every answer is one that both SDKs decode, and none is one that they send again`() throws {
        let scene = try APIFixture()
        let id = try scene.makeCustomer()
        let answers = Self.answers(try scene.transaction(seed: 871), try scene.transaction(seed: 872))
        let known = Set(SDKCallTable.calls.map { "\($0.method) \($0.path)" })
        #expect(Set(answers.keys).subtracting(known) == [])
        for call in SDKCallTable.calls {
            let name = "\(call.method) \(call.path)"
            let path = call.path.replacing("{app_user_id}", with: id).replacing("{domain}", with: "app")
                .replacing("{transaction}", with: "1").replacing("{receipt_id}", with: "1")
            let wanted = answers[name]
            let answer = scene.call(
                call.method, path, wanted?.body ?? (call.method == "POST" ? .object([]) : nil),
                key: APIFixture.publicKey, headers: ["X-Platform": "iOS", "X-Version": "5.86.0"])
            let statuses = wanted?.status ?? [404]
            #expect(statuses.contains(answer.status), "\(name): \(answer.status) \(answer.text)")
            // A 5xx and, of events, a 404 is what SDKs keep and send again.
            #expect(answer.status < 500)
            #expect(call.answer.contains("\(answer.status)"), "\(name): the page says \(call.answer)")
            let flaws = (wanted?.shape ?? SDKBodies.error).flaws(in: answer.json)
            #expect(flaws.map { "\($0.place): \($0.found.text.prefix(80)), not \($0.allowed)" } == [], "\(name)")
        }
    }

    @Test func `a refusal is an error that both SDKs know`() throws {
        let scene = try APIFixture()
        let answers = [
            scene.call("GET", "/v1/subscribers/ada", key: "appl_of_nobody"),
            scene.call("POST", "/v1/receipts", .object(["app_user_id": .string("ada")]), key: APIFixture.publicKey),
            scene.call("POST", "/v1/subscribers/identify", .object([:]), key: APIFixture.publicKey),
            scene.call("GET", "/v1/subscribers/null", key: APIFixture.publicKey),
        ]
        #expect(answers.map(\.status) == [401, 400, 400, 400])
        for answer in answers { #expect(SDKBodies.error.flaws(in: answer.json) == [], "\(answer.text)") }
    }
}
