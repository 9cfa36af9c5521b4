import Base
import Subscriptions
import TestSupport
import Testing

/// Which designs RevenueCatUI can read.
struct PaywallShapesTests {
    private static func places(_ shape: DocumentShape, _ text: String) throws -> [String] {
        shape.flaws(in: try PaywallDesigns.json(text)).map(\.place)
    }

    @Test(arguments: [
        (PaywallShapes.paywall, PaywallDesigns.template), (PaywallComponentShapes.paywall, PaywallDesigns.components),
        (PaywallShapes.userInterface, PaywallDesigns.userInterface),
    ])
    func `what RevenueCatUI reads is right`(shape: DocumentShape, design: String) throws {
        #expect(shape.flaws(in: try PaywallDesigns.json(design)) == [])
    }

    @Test(arguments: [
        (#""template_name": "1""#, #""template_name": null"#, ".template_name"),
        (#""asset_base_url": "https://assets.example.com""#, #""asset_base_url": "assets""#, ".asset_base_url"),
        (##""accent_1": "#12AB34FF""##, ##""accent_1": "#12AB3""##, ".config.colors.light.accent_1"),
        (#""blurred_background_image": true"#, #""blurred_background_image": 1"#, ".config.blurred_background_image"),
        (#""title": "Everything""#, #""headline": "Everything""#, ".localized_strings.en_US.title"),
        (#"{"title": "No advertisements""#, #"{"name": "No""#, ".localized_strings.en_US.features[0].title"),
        (
            #""zero_decimal_place_countries": {"apple""#, #""zero_decimal_place_countries": {"ios""#,
            ".zero_decimal_place_countries.apple"
        ),
        (#""packages": ["$rc_monthly", "$rc_annual"]"#, #""packages": "$rc_monthly""#, ".config.packages"),
    ])
    func `what is wrong with a template is named by its member`(right: String, wrong: String, place: String) throws {
        let text = PaywallDesigns.template.replacing(right, with: wrong)
        #expect(try Self.places(PaywallShapes.paywall, text) == [place])
    }

    @Test func `a template without any language is refused`() throws {
        var members = try PaywallDesigns.json(PaywallDesigns.template).members ?? []
        members = members.map { $0.name == "localized_strings" ? .init(name: $0.name, value: .object([])) : $0 }
        #expect(PaywallShapes.paywall.flaws(in: .object(members)).map(\.place) == [".localized_strings"])
    }

    private static let tree = ".components_config.base.stack.components"

    @Test(arguments: [
        (#""font_weight": "bold""#, #""font_weight": "heavy""#, "\(tree)[0].font_weight"),
        (#""text_lid": "title", "font_name""#, #""text_lid": "headline", "font_name""#, "\(tree)[0].text_lid"),
        (#""type": "image", "fit_mode": "fit""#, #""type": "image""#, "\(tree)[1].fit_mode"),
        (#""heic": "https://assets.example.com/a.heic""#, #""heic": null"#, "\(tree)[1].source.light.heic"),
        (#""package_id": "$rc_monthly""#, #""package": "$rc_monthly""#, "\(tree)[2].package_id"),
        (#""is_selected_by_default": true"#, #""is_selected_by_default": "yes""#, "\(tree)[2].is_selected_by_default"),
        (#""url_lid": "terms""#, #""url_lid": "imprint""#, "\(tree)[3].action.url.url_lid"),
        (
            #""type": "purchase_button""#, #""type": "buy_now""#,
            ".components_config.base.sticky_footer.stack.components[0].fallback"
        ),
        (#""default_locale": "en_US""#, #""default_locale": "de_DE""#, ".default_locale"),
        (
            #""dismiss": {"offering_id": "sale"}"#, #""dismiss": {"offering": "sale"}"#,
            ".exit_offers.dismiss.offering_id"
        ),
    ])
    func `what is wrong with a tree of components is named by its place in it`(
        right: String, wrong: String, place: String
    ) throws {
        let text = PaywallDesigns.components.replacing(right, with: wrong)
        let places = try Self.places(PaywallComponentShapes.paywall, text)
        #expect(places.contains(place), "\(places)")
    }

    @Test func `a type that an SDK does not know needs a fallback that it does`() throws {
        let known = PaywallDesigns.components.replacing(
            #"{"type": "purchase_button", "stack""#,
            with: #"{"type": "confetti", "fallback": {"type": "tab_control"}, "stack""#)
        #expect(try Self.places(PaywallComponentShapes.paywall, known) == [])
    }

    @Test(arguments: [
        (#""variable_config""#, #""variables""#, ".variable_config"),
        (#""ios": {"type": "name""#, #""ios": {"type": "file""#, ".app.fonts.body.ios.type"),
        (#""percent": 100"#, #""percent": "all""#, ".app.colors.primary.dark.points[1].percent"),
        (#""default_value": "you""#, #""default": "you""#, ".custom_variables.name.default_value"),
    ])
    func `what is wrong with the shared part is named by its member`(right: String, wrong: String, place: String) throws
    {
        let text = PaywallDesigns.userInterface.replacing(right, with: wrong)
        #expect(try Self.places(PaywallShapes.userInterface, text) == [place])
    }

    @Test func `a document that is no object is one mistake`() {
        #expect(PaywallShapes.paywall.flaws(in: .array([])).map(\.place) == [""])
        #expect(PaywallComponentShapes.paywall.flaws(in: .string("x")).map(\.place) == [""])
    }
}
