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
        (
            #""properties": {"text_lid": "monthly"}"#, #""properties": {"text_lid": "yearly"}"#,
            "\(tree)[0].overrides[0].properties.text_lid"
        ),
        (
            #""fit_mode": "fit", "size""#, #""fit_mode": "fit", "override_source_lid": "title", "size""#,
            "\(tree)[1].override_source_lid"
        ),
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

    @Test func `a missing text of a component is shown as an empty one, and other languages may lack more`() throws {
        let lacks = PaywallDesigns.components
            .replacing(#""text_lid": "title", "font_name""#, with: #""text_lid": "headline", "font_name""#)
            .replacing(
                #""en_US": {"title""#,
                with: #""de_DE": {"monthly": "Monatlich"}, "en_US": {"title""#)
        #expect(lacks != PaywallDesigns.components)
        #expect(try Self.places(PaywallComponentShapes.paywall, lacks) == [])
    }

    /// A design with this component before the image.
    private static func places(of component: String) throws -> [String] {
        let image = #"{"type": "image""#
        let text = PaywallDesigns.components.replacing(image, with: "\(component), \(image)")
        try #require(text != PaywallDesigns.components)
        return try places(PaywallComponentShapes.paywall, text)
            .map { $0.hasPrefix("\(tree)[1]") ? String($0.dropFirst("\(tree)[1]".count)) : $0 }
    }

    private static let extent = #"{"width": {"type": "fill"}, "height": {"type": "fit"}}"#
    private static let empty = """
        {"type": "stack", "components": [], "size": \(extent), "padding": {}, "margin": {},
        "dimension": {"type": "zlayer", "alignment": "center"}}
        """

    private static func button(_ name: String) -> String {
        """
        {"type": "button", "stack": \(empty), "action": {"type": "navigate_to", "destination": "terms",
            "url": {"url_lid": "\(name)", "method": "deep_link"}}}
        """
    }

    @Test(arguments: [
        (button("terms"), []), (button("imprint"), [".action.url.url_lid"]),
        (#"{"type": "confetti", "url": {"url_lid": "imprint"}, "fallback": \#(button("terms"))}"#, []),
        (#"{"type": "confetti", "fallback": \#(button("imprint"))}"#, [".fallback.action.url.url_lid"]),
    ])
    func `of a type that an SDK does not know it reads what is shown in its place`(component: String, places: [String])
        throws
    {
        #expect(try Self.places(of: component) == places)
    }

    private static func web(_ version: String, _ url: String = "https://example.com/web", _ more: String = "") -> String
    {
        """
        {"type": "web_view", "id": "w", "protocol_version": \(version), "url": "\(url)", "size": \(extent)\(more)}
        """
    }

    @Test(arguments: [
        (web("1"), []), (web("1", "https://example.com/web", #", "fallback": \#(button("imprint"))"#), []),
        (web(#""1""#), [".protocol_version"]), (web("1", "http://example.com"), [".url"]),
        (web("1", "https:///web"), [".url"]),
        (web("1", "https://example.com/{{ name }}"), [".url"]), (web("2"), [".fallback"]),
        (web("2", "of that version", #", "fallback": \#(button("terms"))"#), []),
        (web("2", "of that version", #", "fallback": \#(button("imprint"))"#), [".fallback.action.url.url_lid"]),
        (web("1").replacing(#""id": "w""#, with: #""id": " ""#), [".id"]),
    ])
    func `a web view of another version needs a fallback, and one of this version a URL`(
        component: String, places: [String]
    ) throws {
        #expect(try Self.places(of: component) == places)
    }

    private static let carouselType = #""type": "carousel""#

    private static func carousel(_ transition: String) -> String {
        """
        {"type": "carousel", "pages": [], "page_alignment": "top", "page_spacing": 0, "page_peek": 0,
        "initial_page_index": 0, "loop": true,
        "auto_advance": {"ms_time_per_page": 1, "ms_transition_time": 1, "transition_type": \(transition)}}
        """
    }

    private static func video(_ more: String) -> String {
        """
        {"type": "video", "source": {"light": {"width": 1, "height": 1, "url": "https://assets.example.com/a.mp4"}},
        "show_controls": true, "auto_play": true, "loop": true, "mute_audio": true, "size": \(extent), "fit_mode": "fit",
        \(more)}
        """
    }

    @Test(arguments: [
        (carousel("null"), []),
        (carousel("null").replacing(carouselType, with: #"\#(carouselType), "fallback": \#(button("imprint"))"#), []),
        (carousel(#""fade""#), []), (carousel(#""zoom""#), [".auto_advance.transition_type"]),
        (video(##""color_overlay": {"light": {"type": "hex", "value": "#00000080"}}"##), []),
        (video(#""color_overlay": {"light": "black"}"#), [".color_overlay.light"]),
        (video(#""override_source_lid": "film""#), []),
    ])
    func `a transition and a colour that an SDK cannot read are named`(component: String, places: [String]) throws {
        #expect(try Self.places(of: component) == places)
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
