import Base
import Daemon
import EntitledApp
import Subscriptions
import Testing

/// Offerings, keys of apps and origins of pages in the configuration.
struct CatalogueConfigurationTests {
    private let bench = ConfigurationFixture()

    @Test func `offerings keep the order of their packages, and a product for all or by platform`() throws {
        let catalogue = try bench.parse(
            """
            { offerings: { default: { description: "The usual", metadata: { colour: "red" }, packages: [
                { id: "$rc_monthly", product: "pro_monthly" },
                { id: "$rc_annual", product: { ios: "pro_yearly", macos: "pro_yearly_mac" } },
                { id: "a", product: "b" } ] } } }
            """
        ).offerings
        #expect(catalogue.current == "default")
        let offering = try #require(catalogue.offerings.first)
        #expect(offering.packages.map(\.identifier) == ["$rc_monthly", "$rc_annual", "a"])
        #expect(offering.packages[1].products == .byPlatform(["ios": "pro_yearly", "macos": "pro_yearly_mac"]))
        #expect(offering.metadata == .object(["colour": .string("red")]))
        var other = bench
        other.environment = ["ENTITLED_OFFERINGS": "{ a: { packages: [{ id: 'p', product: 'q' }] } }"]
        #expect(try other.parse().offerings.current == "a")
    }

    @Test(arguments: [
        ("{ a: { packages: [] } }", "offerings.a.packages"),
        ("{ a: {} }", "offerings.a.packages"),
        ("{ a: { packages: [{ id: 'x' }] } }", "offerings.a.packages[0].product"),
        ("{ a: { packages: [{ product: 'x' }] } }", "offerings.a.packages[0].id"),
        ("{ a: { packages: [{ id: 'x', product: {} }] } }", "offerings.a.packages[0].product"),
        ("{ a: { packages: [{ id: 'x', product: { android: 'p' } }] } }", "offerings.a.packages[0].product.android"),
        ("{ a: { packages: [{ id: 'x', product: 'p' }, { id: 'x', product: 'q' }] } }", "offerings.a.packages[1].id"),
        ("{ a: { packages: [{ id: 'x', product: 'p' }], metadata: [] } }", "offerings.a.metadata"),
        ("{ a: { packages: [{ id: 'x', product: 'p' }], descripton: 'd' } }", "offerings.a.descripton"),
        ("[]", "offerings"),
    ])
    func `a mistake in an offering is named by its place`(offerings: String, key: String) throws {
        #expect(try bench.keys("{ offerings: \(offerings) }") == [key])
    }

    @Test func `which offering is current has to be clear`() throws {
        func keys(_ rest: String) throws -> [String] {
            let package = "{ packages: [{ id: 'x', product: 'p' }] }"
            return try bench.keys("{ offerings: { a: \(package), b: \(package) }\(rest) }")
        }
        #expect(try keys("") == ["current_offering"])
        #expect(try keys(", current_offering: 'c'") == ["current_offering"])
        #expect(try keys(", current_offering: 'b'").isEmpty)
        #expect(try bench.keys("{ current_offering: 'a' }") == ["current_offering"])
    }

    private func app(_ rest: String) -> String {
        "{ id: 'demo', bundle_id: 'com.example.app', environments: ['Sandbox']\(rest) }"
    }

    @Test func `an app has public keys of its own, which are shown nowhere and are in no other list`() throws {
        let text = "{ apps: [\(app(", public_keys: ['appl_of_the_app']"))] }"
        let configuration = try bench.parse(text)
        #expect(configuration.apps.first?.publicKeys.map(\.exposed) == ["appl_of_the_app"])
        #expect(!configuration.settings.contains { $0.value.text.contains("appl_of_the_app") })
        let twice =
            "{ apps: [\(app(", public_keys: ['appl_of_the_app']"))], api: { public_keys: ['appl_of_the_app'] } }"
        #expect(try bench.keys(twice) == ["api.public_keys"])
        let wrong = try bench.mistakes("{ apps: [\(app(", public_keys: ['short']"))] }")
        #expect(wrong.map(\.key) == ["apps[0].public_keys[0]"] && !wrong.contains { $0.description.contains("short") })
    }

    @Test func `apps can be read from a file that a variable names`() throws {
        var bench = bench
        bench.environment = ["ENTITLED_APPS_FILE": "/run/secrets/apps"]
        bench.file("/run/secrets/apps", "[\(app(", public_keys: ['appl_of_the_app']"))]\n")
        #expect(try bench.parse().apps.first?.publicKeys.count == 1)
        bench.environment["ENTITLED_APPS"] = "[]"
        #expect(try bench.keys() == ["apps"])
        bench.environment = ["ENTITLED_APPS_FILE": "/run/secrets/none"]
        #expect(try bench.keys() == ["apps"])
    }

    @Test(arguments: [
        ("https://app.example.com", true), ("http://localhost:3000", true), ("*", true), ("https://[::1]:8443", true),
        ("https://app.example.com/", false), ("app.example.com", false), ("https://", false),
        ("https://App.example.com", false), ("null", false),
    ])
    func `origins are as browsers send them`(origin: String, isGood: Bool) throws {
        #expect(try bench.keys("{ api: { cors_origins: ['\(origin)'] } }").isEmpty == isGood)
    }

    @Test func `what signs offers needs both its parts`() throws {
        var bench = bench
        bench.files["/k.p8"] = .denied
        let whole = "{ apps: [\(app(", subscription_offers: { key_id: 'K', private_key_file: '/k.p8' }"))] }"
        #expect(try bench.parse(whole).apps.first?.subscriptionOffers?.keyID == "K")
        let half = "{ apps: [\(app(", subscription_offers: { key_id: 'K' }"))] }"
        #expect(try bench.keys(half) == ["apps[0].subscription_offers.private_key_file"])
    }
}
