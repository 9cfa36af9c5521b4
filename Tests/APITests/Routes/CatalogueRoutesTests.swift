import API
import Base
import Database
import FoundationEssentials
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Offerings and the map of products, as apps ask for them.
struct CatalogueRoutesTests {
    private static let path = "/v1/subscribers/somebody/offerings"

    private func packages(_ answer: HTTPCall, _ offering: String = "default") -> [String: String] {
        let found = answer.json["offerings"]?.arrayValue?.first { $0["identifier"] == .string(offering) }
        return (found?["packages"]?.arrayValue ?? []).reduce(into: [:]) { packages, package in
            packages[package["identifier"]?.stringValue ?? ""] = package["platform_product_identifier"]?.stringValue
        }
    }

    @Test func `each platform sees its products, in the order of the configuration`() throws {
        let api = try KeyedAPI()
        let ios = api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": "iOS"])
        #expect(ios.status == 200)
        #expect(
            ios.text == """
                {"current_offering_id":"default","offerings":[{"description":"The usual ones","identifier":"default",\
                "metadata":{"colour":"red"},"packages":[\
                {"identifier":"$rc_monthly","platform_product_identifier":"monthly"},\
                {"identifier":"$rc_annual","platform_product_identifier":"yearly"}]},\
                {"description":"","identifier":"sale","metadata":null,"packages":[\
                {"identifier":"$rc_lifetime","platform_product_identifier":"lifetime"}]}]}

                """)
        let mac = api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": "macOS"])
        #expect(packages(mac) == ["$rc_monthly": "monthly", "$rc_annual": "yearly_mac", "desktop": "desktop_mac"])
        let tv = api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": "tvOS"])
        #expect(packages(tv) == ["$rc_monthly": "monthly"])
        let android = api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": "android"])
        #expect(android.status == 200 && packages(android).isEmpty)
    }

    @Test(arguments: [nil, "", "toaster"])
    func `without a platform it is refused`(platform: String?) throws {
        let answer = try KeyedAPI().call(
            "GET", CatalogueRoutesTests.path, headers: platform.map { ["X-Platform": $0] } ?? [:])
        #expect(answer.status == 400)
        #expect(answer.text == #"{"code":7000,"message":"Invalid Platform"}"# + "\n")
    }

    @Test(arguments: [path, "/v1/product_entitlement_mapping"])
    func `an app that has the answer is told that it still holds`(path: String) throws {
        let api = try KeyedAPI()
        let first = api.call("GET", path, headers: ["X-Platform": "ios"])
        let tag = try #require(first.header("x-revenuecat-etag"))
        #expect(first.status == 200 && first.header("etag") == "\"\(tag)\"")
        for known in [["X-RevenueCat-ETag": tag], ["If-None-Match": "W/\"\(tag)\""]] {
            let again = api.call("GET", path, headers: known.merging(["X-Platform": "ios"]) { given, _ in given })
            #expect(again.status == 304 && again.text.isEmpty)
            #expect(again.header("x-revenuecat-etag") == tag && again.header("content-type") == nil)
            #expect(again.header("x-revenuecat-request-time") != nil)
        }
        let other = api.call("GET", path, headers: ["X-Platform": "ios", "X-RevenueCat-ETag": "0123456789abcdef"])
        #expect(other.status == 200 && other.text == first.text)
        // One that wants a signature has kept nothing that it believes.
        let signed = api.call("GET", path, headers: ["X-Platform": "ios", "X-Nonce": "n", "X-RevenueCat-ETag": tag])
        #expect(signed.status == 200 && signed.header("etag") == nil)
    }

    @Test func `what another platform or customer is offered has another tag`() throws {
        let api = try KeyedAPI()
        func tag(_ platform: String) -> String? {
            api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": platform]).header("etag")
        }
        let ios = try #require(tag("ios"))
        #expect(tag("macos") != ios && tag("ios") == ios)
    }

    @Test func `reading makes no customer, and an id that cannot be one is refused`() throws {
        let api = try KeyedAPI()
        #expect(api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": "ios"]).status == 200)
        #expect(try api.database.count("SELECT count(*) FROM entitled.customer") == 0)
        #expect(api.call("GET", "/v1/subscribers/null/offerings", headers: ["X-Platform": "ios"]).status == 400)
    }

    @Test func `a secret key is not for apps' offerings`() throws {
        let answer = try KeyedAPI().call(
            "GET", CatalogueRoutesTests.path, key: KeyedAPI.secretKey, headers: ["X-Platform": "ios"])
        #expect(answer.status == 403 && answer.json["code"] == .int(7243))
    }

    @Test func `an offering that was chosen for a customer is current for every id of theirs, until it is taken back`()
        throws
    {
        let api = try KeyedAPI()
        let connection = try api.database.connect(role: "entitled_worker")
        try CustomerTable.make(["somebody", "$RCAnonymousID:1"], now: 1, on: connection)
        func current(_ id: String = "somebody") -> JSON? {
            api.call("GET", "/v1/subscribers/\(id)/offerings", headers: ["X-Platform": "ios"]).json[
                "current_offering_id"]
        }
        func send(_ method: String, _ rest: String, _ id: String = "somebody") -> HTTPCall {
            api.call(method, "/v1/subscribers/\(id)/offerings/\(rest)", key: KeyedAPI.secretKey)
        }
        let chosen = send("POST", "sale/override")
        #expect(chosen.status == 201)
        #expect(chosen.json["subscriber"]?["original_app_user_id"] == .string("somebody"))
        #expect(current() == .string("sale"))
        #expect(current("$RCAnonymousID:1") == .string("default"))
        // The older, anonymous one stays as the customer; what was chosen stays chosen.
        try connection.transaction {
            let roots = try CustomerTable.lock(["somebody", "$RCAnonymousID:1"], on: connection)
            _ = try CustomerTable.unite(try #require(roots[0]), try #require(roots[1]), on: connection)
        }
        #expect(current() == .string("sale") && current("$RCAnonymousID:1") == .string("sale"))
        #expect(try api.database.count("SELECT count(*) FROM entitled.customer") == 1)
        #expect(send("DELETE", "override").status == 201)
        #expect(current() == .string("default"))
        #expect(send("POST", "nonsense/override").status == 404)
        let nobody = send("POST", "sale/override", "nobody")
        #expect(nobody.status == 404 && nobody.json["code"] == .int(7259))
    }

    @Test func `an override of an offering that is gone counts no more`() {
        let document = KeyedAPI.offerings.document(platform: "ios", override: "last_summer")
        #expect(document["current_offering_id"] == .string("default"))
        #expect(OfferingCatalogue().document(platform: "ios", override: nil)["current_offering_id"] == .null)
    }

    @Test func `designs and places are passed on as they are configured`() throws {
        let template = try PaywallDesigns.json(PaywallDesigns.template)
        let components = try PaywallDesigns.json(PaywallDesigns.components)
        let shared = try PaywallDesigns.json(PaywallDesigns.userInterface)
        let catalogue = OfferingCatalogue(
            offerings: [
                Offering(
                    identifier: "default", paywall: template, paywallComponents: components,
                    packages: [.init(identifier: "$rc_monthly", products: .everywhere("monthly"))]),
                Offering(
                    identifier: "sale", packages: [.init(identifier: "$rc_monthly", products: .everywhere("sale"))]),
            ], current: "default", userInterface: shared,
            placements: .init(offerings: ["onboarding": "sale", "settings": nil], fallback: nil))
        let api = try KeyedAPI { $0.offerings = catalogue }
        let answer = api.call("GET", CatalogueRoutesTests.path, headers: ["X-Platform": "iOS"])
        let offering = try #require(answer.json["offerings"]?.arrayValue?.first)
        #expect(offering["paywall"] == template && offering["paywall_components"] == components)
        #expect(answer.json["offerings"]?.arrayValue?.last?["paywall"] == nil)
        #expect(answer.json["ui_config"] == shared)
        #expect(
            answer.json["placements"]
                == .object([
                    "fallback_offering_id": .string("default"),
                    "offering_ids_by_placement": .object(["onboarding": .string("sale"), "settings": .null]),
                ]))
        // Where no place is configured as the fallback, it is what the customer is shown.
        let sale = catalogue.document(platform: "ios", override: "sale")
        #expect(sale["placements"]?["fallback_offering_id"] == .string("sale"))
    }

    @Test func `Customer Center gets the usual page, or what is configured, and 304 where it has it`() throws {
        let path = "/v1/customercenter/somebody"
        let usual = try KeyedAPI().call("GET", path)
        #expect(usual.status == 200 && usual.json == CustomerCenter.document(nil).sortedByName)
        let page = JSON.object(["support": .object(["email": .string("help@example.com")])])
        let api = try KeyedAPI { $0.offerings = OfferingCatalogue(customerCenter: page) }
        let answer = api.call("GET", path, key: KeyedAPI.secretKey)
        #expect(answer.json["customer_center"]?["support"] == page["support"])
        #expect(answer.json["customer_center"]?["screens"] == CustomerCenter.usual["screens"]?.sortedByName)
        let tag = try #require(answer.header("ETag"))
        #expect(api.call("GET", path, headers: ["If-None-Match": tag]).status == 304)
        #expect(api.call("GET", path, key: "appl_unknown").status == 401)
    }

    @Test func `the map has every product with its entitlements`() throws {
        let answer = try KeyedAPI().call("GET", "/v1/product_entitlement_mapping", key: KeyedAPI.secretKey)
        #expect(
            answer.text == """
                {"product_entitlement_mapping":{"monthly":{"entitlements":["pro"],"product_identifier":"monthly"},\
                "yearly":{"entitlements":["gold","pro"],"product_identifier":"yearly"}}}

                """)
    }

    @Test func `what is not supported says so, with a code, and what an app needs not to stumble is there`() throws {
        let api = try KeyedAPI()
        for (method, path) in [
            ("POST", "/v1/customercenter/support/create-ticket"), ("POST", "/v1/config/app"),
            ("POST", "/auth/login"), ("GET", "/rcbilling/v1/subscribers/somebody/offering_products"),
            ("POST", "/v1/subscribers/redeem_purchase"),
        ] {
            let answer = api.call(method, path, method == "POST" ? .object([]) : nil)
            #expect(answer.status == 404 && answer.json["code"]?.intValue != nil)
            #expect(answer.json["message"]?.stringValue == "entitled does not support \(method) \(path).")
        }
        let reports = api.call("GET", "/v1/subscribers/somebody/health_report_availability", key: nil)
        #expect(reports.status == 200 && reports.json == .object(["report_logs": .bool(false)]))
        let currencies = api.call("GET", "/v1/subscribers/somebody/virtual_currencies")
        #expect(currencies.json == .object(["virtual_currencies": .object([])]))
    }

    /// An SDK keeps what is answered 404, and sends it again at every start.
    @Test(arguments: ["/v1/events", "/v1/diagnostics"])
    func `what SDKs report about themselves is accepted and discarded`(path: String) throws {
        let api = try KeyedAPI()
        for key in [KeyedAPI.publicKey, nil] {
            let answer = api.call("POST", path, .object(["events": .array([.object(["id": .string("1")])])]), key: key)
            #expect(answer.status == 200 && answer.json == .object([]))
        }
        #expect(api.call("GET", path).status == 405)
    }
}
