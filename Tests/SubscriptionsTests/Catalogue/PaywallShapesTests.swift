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

    // MARK: - Every component

    /// The types of purchases-ios 5.86 (`PaywallComponentBase.swift`), with the members without which it shows no paywall.
    private static let required: [String: Set<String>] = [
        "text": [
            "type", "text_lid", "font_weight", "color", "font_size", "horizontal_alignment", "size", "padding",
            "margin",
        ],
        "image": ["type", "source", "size", "fit_mode"],
        "icon": ["type", "base_url", "icon_name", "formats", "size", "color"],
        "video": ["type", "source", "show_controls", "auto_play", "loop", "mute_audio", "size", "fit_mode"],
        "stack": ["type", "components", "size", "dimension", "padding", "margin"],
        "button": ["type", "action", "stack"],
        "package": ["type", "package_id", "is_selected_by_default", "stack"],
        "purchase_button": ["type", "stack"], "sticky_footer": ["type", "stack"],
        "timeline": ["type", "size", "padding", "margin", "items"],
        "tabs": ["type", "size", "padding", "margin", "control", "tabs"], "tab_control": ["type"],
        "tab_control_button": ["type", "tab_id", "stack"],
        "tab_control_toggle": ["type", "thumb_color_on", "thumb_color_off", "track_color_on", "track_color_off"],
        "carousel": [
            "type", "pages", "page_alignment", "page_spacing", "page_peek", "initial_page_index", "loop",
        ],
        "countdown": ["type", "style", "count_from", "countdown_stack"],
        "web_view": ["type", "id", "protocol_version", "url", "size"], "fallback_header": ["type"],
    ]

    private struct Place {
        let path: [Step]
        let value: JSON
        /// Of the component, action or shape that it is a member of.
        let type: String?
        let name: String
    }

    private enum Step {
        case member(String)
        case element(Int)
    }

    private static func places(in json: JSON, _ path: [Step] = []) -> [Place] {
        switch json {
        case .array(let elements):
            elements.enumerated().flatMap { places(in: $1, path + [.element($0)]) }
        case .object(let members):
            members.flatMap { member -> [Place] in
                let inner = path + [.member(member.name)]
                return [
                    Place(path: inner, value: member.value, type: json["type"]?.stringValue, name: member.name)
                ] + places(in: member.value, inner)
            }
        default: []
        }
    }

    /// Nil takes the member away.
    private static func changed(_ json: JSON, _ path: ArraySlice<Step>, _ value: JSON?) -> JSON {
        guard let step = path.first else { return value ?? .null }
        switch (step, json) {
        case (.element(let place), .array(let elements)):
            return .array(
                elements.enumerated().map { $0 == place ? changed($1, path.dropFirst(), value) : $1 })
        case (.member(let name), .object(let members)):
            return .object(
                members.compactMap { member in
                    guard member.name == name else { return member }
                    if path.count == 1, value == nil { return nil }
                    return JSON.Member(name: name, value: changed(member.value, path.dropFirst(), value))
                })
        default: return json
        }
    }

    private static let stack: [Step] = ["components_config", "base", "stack", "components"].map { .member($0) }

    /// Each component of the design in a design of its own, and what else the design has; with the members of each.
    private static func parts() throws -> [(design: JSON, places: [Place])] {
        let whole = try PaywallDesigns.json(PaywallDesigns.everyComponent)
        let components = whole["components_config"]?["base"]?["stack"]?["components"]?.arrayValue ?? []
        let rest = changed(whole, stack[...], .array([]))
        return [(rest, places(in: rest))]
            + components.map { component in
                (changed(whole, stack[...], .array([component])), places(in: component, stack + [.element(0)]))
            }
    }

    /// What is in conditions that an SDK does not know, in states, and what may be a text as well as an image.
    private static func isFree(_ place: Place) -> Bool {
        let names = place.path.compactMap { if case .member(let name) = $0 { name } else { nil } }
        return place.type == "variable" && place.name != "type" || place.name == "picture"
            || names.dropLast().contains { ["state_updates", "state_declarations"].contains($0) }
                && place.name != "plan"
    }

    @Test func `a design with every component and every member is right`() throws {
        let design = try PaywallDesigns.json(PaywallDesigns.everyComponent)
        #expect(PaywallComponentShapes.paywall.flaws(in: design) == [])
        let types = Set(Self.places(in: design).compactMap(\.type))
        #expect(types.isSuperset(of: Self.required.keys))
    }

    @Test func `each member of each component is looked at: one of another kind is named`() throws {
        var count = 0
        for (design, places) in try Self.parts() {
            for place in places where !Self.isFree(place) {
                let wrong: JSON
                switch place.value {
                case .string, .bool: wrong = .array([])
                default: wrong = .string("wrong")
                }
                let text = place.path.map { if case .member(let name) = $0 { ".\(name)" } else { "[]" } }.joined()
                let flaws = PaywallComponentShapes.paywall.flaws(in: Self.changed(design, place.path[...], wrong))
                #expect(!flaws.isEmpty, "\(text) (\(place.type ?? "-"))")
                count += 1
            }
        }
        #expect(count > 2000)
    }

    @Test func `a component needs what an SDK needs, and nothing else`() throws {
        var found: [String: Set<String>] = [:]
        for (design, places) in try Self.parts() {
            for place in places {
                guard let type = place.type, Self.required[type] != nil else { continue }
                let flaws = PaywallComponentShapes.paywall.flaws(in: Self.changed(design, place.path[...], nil))
                if !flaws.isEmpty { found[type, default: []].insert(place.name) }
            }
        }
        #expect(found == Self.required)
    }

    @Test func `a document that is no object is one mistake`() {
        #expect(PaywallShapes.paywall.flaws(in: .array([])).map(\.place) == [""])
        #expect(PaywallComponentShapes.paywall.flaws(in: .string("x")).map(\.place) == [""])
    }
}
