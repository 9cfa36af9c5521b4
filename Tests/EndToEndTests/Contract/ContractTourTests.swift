import Base
import StoreSimulator
import TestSupport
import Testing

/// A call of everything that the contract has: so that nothing stands in it that the server does not answer.
///
/// Serialised: each test runs a Python program that takes a processor.
@Suite(
    .serialized, .enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"),
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ContractTourTests {
    /// What only Apple can make a success of; it is in the second tour.
    private static let ofApple: Set = [
        "POST /v1/subscribers/{app_user_id}/subscriptions/{store_transaction_id}/extend 200",
        "POST /apple/transactions 200",
    ]

    @Test func `every success of the contract is answered, and every answer is one of the contract`() throws {
        let scene = try APIFixture()
        let id = try scene.makeCustomer()
        try visitCustomers(scene, id)
        try visitCatalogue(scene)
        try visitPurchases(scene, id)
        visitService(scene)
        try visitSecondVersion(scene, id)
        scene.call("DELETE", "/v1/subscribers/ada")
        scene.call("DELETE", "/v1/subscribers/ada")
        let (faults, seen) = try scene.judge()
        #expect(faults == [])
        let successes = try ContractFiles.read().document.operations.flatMap { name, operation in
            (operation.description["responses"]?.members ?? []).map(\.name)
                .filter { $0.hasPrefix("2") || $0.hasPrefix("3") }.map { "\(name) \($0)" }
        }
        #expect(Set(successes).subtracting(seen) == Self.ofApple)
        let refusals = seen.compactMap { $0.split(separator: " ").last }.filter { $0.hasPrefix("4") }
        #expect(Set(refusals) == ["400", "401", "403", "404", "409"])
    }

    private func visitSecondVersion(_ scene: APIFixture, _ id: String) throws {
        let project = "/v2/projects/proj1ab2c3d4"
        scene.call("GET", "/v2/projects")
        let filled = try #require(scene.site.database)
        try filled.execute("UPDATE entitled.report_refresh SET started_ms = 1767225600000")
        #expect(scene.call("GET", "\(project)/metrics/overview").status == 200)
        scene.call("GET", "\(project)/entitlements?limit=1")
        scene.call("GET", "\(project)/entitlements/pro")
        scene.call("GET", "\(project)/entitlements/none")
        for path in ["?limit=1&expand=items.package", "/default?expand=package", "/sale", "/none"] {
            scene.call("GET", "\(project)/offerings\(path)")
        }
        scene.call("GET", "\(project)/customers?limit=1")
        scene.call("GET", "\(project)/customers?limit=none")
        scene.call("GET", "\(project)/customers", key: APIFixture.publicKey)
        scene.call("GET", "\(project)/customers", key: nil)
        let attributes = JSON.array([.object(["name": .string("plan"), "value": .string("team")])])
        for _ in 0..<2 {
            scene.call(
                "POST", "\(project)/customers", .object(["id": .string("lovelace"), "attributes": attributes]))
        }
        for customer in [id, "lovelace", "nobody"] {
            let path = "\(project)/customers/\(customer)"
            scene.call("GET", "\(path)?expand=attributes")
            for list in ["active_entitlements", "subscriptions", "purchases", "aliases", "attributes"] {
                scene.call("GET", "\(path)/\(list)")
            }
            scene.call("POST", "\(path)/attributes", .object(["attributes": attributes]))
            scene.call(
                "POST", "\(path)/actions/grant_entitlement",
                .object(["entitlement_id": .string("pro"), "expires_at": .int(4_000_000_000_000)]))
            scene.call("GET", "\(path)/subscriptions?environment=production")
            scene.call(
                "POST", "\(path)/actions/revoke_granted_entitlement", .object(["entitlement_id": .string("pro")]))
            scene.call("POST", "\(path)/actions/transfer", .object(["target_customer_id": .string("lovelace")]))
        }
        let bought = scene.call("GET", "\(project)/customers/lovelace/purchases").json["items"]?.arrayValue
        #expect(bought?.isEmpty == false)
        scene.call("DELETE", "\(project)/customers/lovelace")
    }

    private func visitCustomers(_ scene: APIFixture, _ id: String) throws {
        let path = "/v1/subscribers"
        let anonymous = "$RCAnonymousID:0a53b8ecf4de4bd2a3a1b7c1c9f3ad52"
        scene.call("GET", "\(path)/\(anonymous.replacing(":", with: "%3A"))", key: APIFixture.publicKey)
        let read = scene.call("GET", "\(path)/\(id)", key: APIFixture.publicKey)
        let tag = try #require(read.header("X-RevenueCat-ETag"))
        scene.call("GET", "\(path)/\(id)", key: APIFixture.publicKey, headers: ["X-RevenueCat-ETag": tag])
        scene.call("GET", "\(path)/null", key: APIFixture.publicKey)
        scene.call("GET", "\(path)/\(id)", key: nil)
        scene.call("GET", "\(path)/\(id)", headers: ["X-Client-Bundle-ID": Site.app.bundleID])
        for _ in 0..<2 {
            scene.call(
                "POST", "\(path)/identify",
                .object(["app_user_id": .string(anonymous), "new_app_user_id": .string("ada")]))
        }
        scene.call("POST", "\(path)/ada/alias", .object(["new_app_user_id": .string("countess")]))
        scene.call(
            "POST", "\(path)/ada/attributes",
            .object([
                "attributes": .object([
                    "colour": .object(["value": .string("green"), "updated_at_ms": .int(1_767_225_600_000)])
                ])
            ]))
        scene.call("POST", "\(path)/ada/attributes", .object(["attributes": .object(["no key": .object([:])])]))
        scene.call("POST", "\(path)/ada/attributes", .object([:]))
        scene.call(
            "POST", "\(path)/ada/attribution",
            .object([
                "network": .int(2), "data": .object(["rc_idfa": .string("5C7C1A3E-6F0B-4F0E-9D5C-0E0D3C1A2B4F")]),
            ]))
        scene.call("POST", "\(path)/ada/adservices_attribution", .object(["aad_attribution_token": .string("token")]))
        scene.call("POST", "\(path)/ada/restore_behavior", .object(["restore_behavior": .string("error")]))
        scene.call("POST", "\(path)/ada/restore_behavior", .object(["restore_behavior": .string("sometimes")]))
        scene.call("GET", "\(path)/\(id)/export")
        scene.call("GET", "\(path)/nobody/export")
        scene.call("GET", "\(path)/ada/export", key: APIFixture.publicKey)
        scene.call("GET", "\(path)/ada/virtual_currencies")
        scene.call("GET", "\(path)/ada/health_report_availability", key: nil)
        scene.call("POST", "/v1/events", .object(["events": .array([])]), key: nil)
        scene.call("POST", "/v1/diagnostics", .object(["entries": .array([])]), key: nil)
    }

    private func visitCatalogue(_ scene: APIFixture) throws {
        let path = "/v1/subscribers/ada"
        func offerings(_ key: String, _ platform: String) -> HTTPCall {
            scene.call("GET", "\(path)/offerings", key: key, headers: ["X-Platform": platform])
        }
        #expect(offerings(APIFixture.publicKey, "iOS").json["current_offering_id"]?.stringValue == "default")
        #expect(offerings(APIFixture.secretKey, "iOS").json["code"]?.intValue == 7243)
        #expect(offerings(APIFixture.publicKey, "toaster").json["code"]?.intValue == 7000)
        scene.call("POST", "\(path)/offerings/sale/override")
        #expect(offerings(APIFixture.publicKey, "iOS").json["current_offering_id"]?.stringValue == "sale")
        scene.call("DELETE", "\(path)/offerings/override")
        scene.call("POST", "\(path)/offerings/other/override")
        let mapping = scene.call("GET", "/v1/product_entitlement_mapping", key: APIFixture.publicKey)
        let offered = offerings(APIFixture.publicKey, "iOS")
        let centre = scene.call("GET", "/v1/customercenter/ada", key: APIFixture.publicKey)
        for (path, known) in [
            ("/v1/product_entitlement_mapping", mapping), ("\(path)/offerings", offered),
            ("/v1/customercenter/ada", centre),
        ] {
            let tag = try #require(known.header("X-RevenueCat-ETag"))
            scene.call(
                "GET", path, key: APIFixture.publicKey, headers: ["X-Platform": "iOS", "X-RevenueCat-ETag": tag])
        }
        let grants = "\(path)/entitlements"
        scene.call("POST", "\(grants)/pro/promotional", .object(["duration": .string("weekly")]))
        scene.call("GET", path, key: APIFixture.publicKey)
        scene.call("POST", "\(grants)/pro/promotional", .object([:]))
        scene.call("POST", "\(grants)/none/promotional", .object(["duration": .string("weekly")]))
        scene.call(
            "POST", "\(grants)/pro/promotional", .object(["duration": .string("weekly")]), key: APIFixture.publicKey)
        scene.call("POST", "\(grants)/pro/revoke_promotionals")
        scene.call("POST", "\(grants)/none/revoke_promotionals")
    }

    private func visitPurchases(_ scene: APIFixture, _ id: String) throws {
        let transaction = try scene.transaction(seed: 870)
        let receipt: JSON = .object(["app_user_id": .string("ada"), "fetch_token": .string(transaction)])
        scene.call(
            "POST", "/v1/subscribers/ada/restore/eligibility", .object(["fetch_token": .string(transaction)]),
            key: APIFixture.publicKey)
        scene.call("POST", "/v1/receipts", receipt, key: APIFixture.publicKey, headers: ["X-Platform": "iOS"])
        scene.call("POST", "/v1/receipts", receipt, headers: ["X-Platform": "android"])
        scene.call("POST", "/v1/receipts", .object(["fetch_token": .string(transaction)]), key: APIFixture.publicKey)
        scene.call(
            "POST", "/v1/subscribers/\(id)/intro_eligibility",
            .object(["product_identifiers": .strings(["pro_monthly", "basic_monthly", "unheard_of"])]))
        scene.call(
            "POST", "/v1/offers",
            .object([
                "app_user_id": .string("ada"),
                "generate_offers": .array([
                    .object(["offer_id": .string("half"), "product_id": .string("pro_monthly")])
                ]),
            ]), key: APIFixture.publicKey)
        scene.call(
            "POST", "/v1/subscribers/ada/subscriptions/1/extend",
            .object(["extend_by_days": .int(7), "extend_reason_code": .int(1)]))
        scene.call("POST", "/v1/subscribers/ada/subscriptions/1/extend", .object(["extend_by_days": .int(91)]))
        scene.call("POST", "/apple/transactions", .object(["original_transaction_id": .string("1")]))
        scene.call("POST", "/apple/transactions", .object([:]))
    }

    private func visitService(_ scene: APIFixture) {
        scene.call("GET", "/v1/health", key: nil)
        scene.call("GET", "/healthz", key: nil)
        scene.call("GET", "/openapi.yaml", key: nil)
        scene.call("POST", "/apple/notifications", .object(["signedPayload": .string("a.b.c")]), key: nil)
        scene.call("POST", "/apple/notifications", .object([:]), key: nil)
    }

    @Test func `with Apple behind it the rest is answered, and as the contract has it`() throws {
        try TemporaryFolder.with { folder in
            let store = try SimulatedApple(folder)
            let scene = try APIFixture(store.configuration)
            var extended = 0
            for original in try store.subscriptions() {
                let named: JSON = .object(["original_transaction_id": .string(original)])
                #expect(scene.call("POST", "/apple/transactions", named, key: APIFixture.publicKey).status == 200)
                let camel: JSON = .object(["originalTransactionId": .string(original), "displayPrice": .string("9")])
                let owner = scene.call("POST", "/apple/transactions", camel).json["subscriber"]
                let id = try #require(owner?["original_app_user_id"]?.stringValue).replacing(":", with: "%3A")
                let order: JSON = .object(["extend_by_days": .int(7), "extend_reason_code": .int(1)])
                let path = "/v1/subscribers/\(id)/subscriptions/\(original)/extend"
                if scene.call("POST", path, order).status == 200 { extended += 1 }
            }
            #expect(extended > 0, "one of them runs")
            scene.call("POST", "/apple/transactions", .object(["original_transaction_id": .string("77")]))
            let (faults, seen) = try scene.judge()
            #expect(faults == [])
            #expect(Self.ofApple.subtracting(seen) == [])
        }
    }

    @Test func `what is said not to be supported is answered 404 with an error`() throws {
        let scene = try APIFixture()
        let unsupported = try ContractFiles.read().document.root["x-unsupported"]?.arrayValue ?? []
        #expect(unsupported.count > 20)
        for operation in unsupported.compactMap(\.stringValue) {
            let words = operation.split(separator: " ").map(String.init)
            let path = try #require(words.last).replacing(/{[^}]*}/, with: "ada")
            let answer = scene.call(try #require(words.first), path, words.first == "POST" ? .object([:]) : nil)
            #expect(answer.status == 404, "\(operation)")
            #expect(answer.json.members?.map(\.name) == ["code", "message"], "\(operation)")
            #expect(answer.json["code"]?.intValue == 7259, "\(operation)")
        }
    }

    /// The check that the others rely on, of answers that no server gave.
    @Test func `an answer that is not in the contract is found`() throws {
        let path = "/v1/subscribers/ada/virtual_currencies"
        let cases: [(method: String, status: Int64, body: String, fault: String?)] = [
            ("GET", 200, "{\"virtual_currencies\":{}}\n", nil),
            ("GET", 418, "{}\n", "is not in the contract: {}\n"),
            ("GET", 200, "{\"virtual_currencies\":{}}", "not compact, or without a line end"),
            ("GET", 200, "{ \"virtual_currencies\":{}}\n", "not compact, or without a line end"),
            (
                "GET", 200, "{\"virtual_currencies\":{\"a\":1}}\n",
                "$.virtual_currencies: {'a': 1} is expected to be empty"
            ),
            (
                "GET", 200, "{\"more\":1,\"virtual_currencies\":{}}\n",
                "$: Additional properties are not allowed ('more' was unexpected)"
            ),
            (
                "GET", 401, "{\"message\":\"m\",\"code\":7225}\n", "members are not sorted: ['message', 'code']"
            ),
            ("GET", 401, "{\"code\":7225,\"message\":\"m\"}\n", nil),
            ("GET", 401, "{\"code\":\"7225\",\"message\":\"m\"}\n", "$.code: '7225' is not one of [7000, 7101, "),
            ("GET", 503, "{\"code\":7110,\"message\":\"m\"}\n", "has no Retry-After"),
        ]
        let exchanges = cases.map { one -> JSON in
            .object([
                "method": .string(one.method), "path": .string(path), "request": .string(""),
                "status": .int(one.status), "headers": .object(["content-type": .string("application/json")]),
                "body": .string(one.body),
            ])
        }
        let said = try ContractFiles.run("answers.py", [ContractFiles.contract], input: .array(exchanges))
        let found = (said["faults"]?.arrayValue ?? []).compactMap(\.stringValue)
        let expected = cases.compactMap { one in one.fault.map { "GET \(path): \(one.status) \($0)" } }
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) { #expect(found.hasPrefix(expected)) }
    }
}
