import Base
import Daemon
import EntitledApp
import Subscriptions
import TestSupport
import Testing

/// Designs of paywalls and places for offerings in the configuration.
struct PaywallConfigurationTests {
    private static let package = "packages: [{ id: '$rc_monthly', product: 'p' }]"

    private func bench(_ files: [String: String] = [:]) -> ConfigurationFixture {
        var bench = ConfigurationFixture()
        for (path, text) in files { bench.file(path, text) }
        return bench
    }

    @Test func `designs stand in the configuration or in files`() throws {
        let bench = bench([
            "/srv/paywalls/components.json": PaywallDesigns.components,
            "/etc/entitled/ui.json": PaywallDesigns.userInterface, "/srv/meta.json": #"{"colour": "red"}"#,
        ])
        let catalogue = try bench.parse(
            """
            { offerings: { default: { metadata: 'meta.json', paywall: \(PaywallDesigns.template),
                paywall_components: 'paywalls/components.json', \(Self.package) } }, ui_config: '/etc/entitled/ui.json' }
            """
        ).offerings
        let offering = try #require(catalogue.offerings.first)
        #expect(offering.metadata == .object(["colour": .string("red")]))
        #expect(offering.paywall == (try PaywallDesigns.json(PaywallDesigns.template)))
        #expect(offering.paywallComponents == (try PaywallDesigns.json(PaywallDesigns.components)))
        #expect(catalogue.userInterface == (try PaywallDesigns.json(PaywallDesigns.userInterface)))
        #expect(catalogue.placements == nil)
        #expect(offering.designedPackages == ["$rc_annual", "$rc_monthly"])
    }

    @Test func `a mistake in a design names the member and the file`() throws {
        let bench = bench([
            "/srv/pay.json": PaywallDesigns.template.replacing(#""call_to_action""#, with: #""cta""#),
            "/srv/broken.json": "{\"a\":\n }", "/srv/list.json": "[]",
        ])
        let mistakes = try bench.mistakes(
            """
            { offerings: { a: { paywall: 'pay.json', \(Self.package) }, b: { paywall: 'none.json', \(Self.package) },
                c: { metadata: 'broken.json', paywall: 7, \(Self.package) },
                d: { metadata: 'list.json', paywall: { template_name: 5 }, \(Self.package) } }, current_offering: 'a' }
            """)
        let texts = Dictionary(mistakes.map { ($0.key, $0.description) }) { first, _ in first }
        #expect(
            texts["offerings.a.paywall.localized_strings.en_US.call_to_action"]?.contains("in /srv/pay.json") == true)
        #expect(texts["offerings.b.paywall"]?.contains("there is no such file") == true)
        #expect(texts["offerings.c.metadata"]?.contains("not JSON: line 2") == true)
        #expect(texts["offerings.c.paywall"] != nil)
        #expect(texts["offerings.d.metadata"]?.contains("in /srv/list.json") == true)
        #expect(texts["offerings.d.paywall.template_name"]?.contains("a text") == true)
    }

    @Test func `of a document that is another one altogether only some is reported`() throws {
        let features = (0..<50).map { _ in "{}" }.joined(separator: ",")
        let text = PaywallDesigns.template.replacing(#""features": ["#, with: #""features": [\#(features),"#)
        let bench = bench(["/srv/pay.json": text])
        #expect(try bench.keys("{ offerings: { a: { paywall: 'pay.json', \(Self.package) } } }").count == 10)
    }

    @Test func `components need what all designs share, and every colour that they name`() throws {
        let bench = bench([
            "/srv/pay.json": PaywallDesigns.components, "/srv/ui.json": PaywallDesigns.userInterface,
            "/srv/grey.json": PaywallDesigns.userInterface.replacing(#""primary""#, with: #""grey""#),
        ])
        func keys(_ rest: String) throws -> [String] {
            try bench.keys("{ offerings: { a: { paywall_components: 'pay.json', \(Self.package) } }\(rest) }")
        }
        #expect(try keys("") == ["ui_config"])
        #expect(try keys(", ui_config: 'ui.json'") == [])
        #expect(try keys(", ui_config: 'grey.json'") == ["ui_config.app.colors"])
        // A design that is refused is judged once.
        #expect(try keys(", ui_config: 'none.json'") == ["ui_config"])
    }

    @Test func `places show offerings that there are`() throws {
        let bench = bench()
        func catalogue(_ placements: String) -> String {
            "{ offerings: { a: { \(Self.package) }, b: { \(Self.package) } }, current_offering: 'a', placements: \(placements) }"
        }
        let places = try bench.parse(catalogue("{ offerings: { onboarding: 'b', settings: null }, fallback: 'a' }"))
            .offerings.placements
        #expect(places == .init(offerings: ["onboarding": "b", "settings": nil], fallback: "a"))
        #expect(try bench.parse(catalogue("{ offerings: {} }")).offerings.placements == nil)
        #expect(
            try bench.keys(catalogue("{ offerings: { onboarding: 'c' }, fallback: 'd' }"))
                == ["placements.offerings.onboarding", "placements.fallback"])
        #expect(try bench.keys(catalogue("{ offerings: { onboarding: 5 } }")) == ["placements.offerings.onboarding"])
        #expect(try bench.keys(catalogue("{ onboarding: 'a' }")) == ["placements.onboarding"])
    }

    @Test func `Customer Center stands in the configuration or in a file, and a mistake is named`() throws {
        let bench = bench([
            "/srv/center.json": #"{ "support": { "email": "help@example.com" } }"#,
            "/srv/wrong.json": #"{ "support": { "email": 5 } }"#,
        ])
        let wanted = JSON.object(["support": .object(["email": .string("help@example.com")])])
        #expect(try bench.parse("{ customer_center: 'center.json' }").offerings.customerCenter == wanted)
        #expect(
            try bench.parse("{ customer_center: { support: { email: 'help@example.com' } } }").offerings.customerCenter
                == wanted)
        #expect(try bench.parse("{}").offerings.customerCenter == nil)
        let mistake = try #require(try bench.mistakes("{ customer_center: 'wrong.json' }").first)
        #expect(mistake.key == "customer_center.support.email" && mistake.description.contains("in /srv/wrong.json"))
    }

    @Test func `a variable of the environment names a file too`() throws {
        var bench = bench(["/srv/ui.json": PaywallDesigns.userInterface])
        bench.environment = ["ENTITLED_UI_CONFIG": "ui.json"]
        #expect(try bench.parse().offerings.userInterface != nil)
        bench.environment = ["ENTITLED_UI_CONFIG": PaywallDesigns.userInterface]
        #expect(try bench.parse().offerings.userInterface != nil)
    }
}
