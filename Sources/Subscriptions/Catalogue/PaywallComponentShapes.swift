import Base

/// The tree of components of a paywall (`paywall_components` of an offering), as purchases-ios 5.86 decodes it
/// (`Sources/Paywalls/Components`).
package enum PaywallComponentShapes {
    private typealias Member = DocumentShape.Member

    /// `paywall_components` of an offering.
    package static let paywall = DocumentShape.object(
        PaywallShapes.common + [
            .required("default_locale", .text), .required("components_config", .object(.required("base", base))),
            .required("components_localizations", .map(of: .map(of: .either(.text, themed(imageFiles))), atLeast: 1)),
            .optional("automatically_scale_font_size", .flag), .optional("state_declarations", .map(of: .object())),
        ]
    ).and { document, place in unknownTexts(in: document, at: place) }

    private static let base = DocumentShape.object(
        .required("stack", stack), .required("background", background),
        .optional("header", .object(.required("stack", stack))),
        .optional("sticky_footer", .object(.required("stack", stack))))

    /// A member that names a text or an image of `components_localizations`.
    private struct Reference {
        let place: String
        let name: String
        let isImage: Bool
    }

    /// Texts and images that components need and the default language lacks: an app shows no paywall then. The text of a component
    /// itself is not among them: where it is missing, the SDKs show an empty one. An app in another language that lacks something
    /// shows no paywall either, which is no reason to start without all of them.
    private static func unknownTexts(in document: JSON, at place: String) -> [DocumentShape.Flaw] {
        let language = document["default_locale"]?.stringValue ?? ""
        guard let texts = document["components_localizations"]?[language] else {
            return [
                .init(
                    place: "\(place).default_locale", found: .string(language),
                    allowed: "a language of components_localizations")
            ]
        }
        let needed = references(in: document["components_config"] ?? .null, "\(place).components_config")
        return needed.compactMap { reference in
            let entry = texts[reference.name]
            guard reference.isImage ? entry?.members == nil : entry?.stringValue == nil else { return nil }
            let kind = reference.isImage ? "an image" : "a text"
            return .init(
                place: reference.place, found: .string(reference.name),
                allowed: "\(kind) of components_localizations.\(language)")
        }
    }

    /// - Parameters:
    ///   - component: the type of the component in which `json` lies.
    ///   - isChange: whether `json` is what conditions put in the place of members of the component.
    private static func references(
        in json: JSON, _ place: String, component: String? = nil, isChange: Bool = false
    ) -> [Reference] {
        if let elements = json.arrayValue {
            return elements.enumerated().flatMap {
                references(in: $1, "\(place)[\($0)]", component: component, isChange: isChange)
            }
        }
        let type = json["type"]?.stringValue
        let isComponent = type.map { components[$0] != nil } ?? false
        // Of a component that an SDK does not know, it reads what it shows in its place, and of others never that.
        if !isComponent || isNewWebView(json), let shown = json["fallback"] {
            return references(in: shown, "\(place).fallback")
        }
        let (component, isChange) = isComponent ? (type, false) : (component, isChange)
        return (json.members ?? []).flatMap { member -> [Reference] in
            let inner = "\(place).\(member.name)"
            switch (member.name, member.value) {
            case ("text_lid", .string(let name)):
                return isChange ? [Reference(place: inner, name: name, isImage: false)] : []
            case ("url_lid", .string(let name)): return [Reference(place: inner, name: name, isImage: false)]
            case ("override_source_lid", .string(let name)):
                return component == "image" ? [Reference(place: inner, name: name, isImage: true)] : []
            case ("fallback", _) where isComponent && type != "countdown": return []
            default:
                return references(
                    in: member.value, inner, component: component, isChange: isChange || member.name == "properties")
            }
        }
    }

    /// The packages that components show, in the order of the document.
    static func packages(in json: JSON) -> [String] {
        switch json {
        case .array(let elements): elements.flatMap(packages)
        case .object(let members):
            (json["type"] == .string("package") ? [json["package_id"]?.stringValue].compactMap(\.self) : [])
                + members.flatMap { packages(in: $0.value) }
        default: []
        }
    }

    /// The colours of `ui_config` that a design names, each once.
    package static func colorAliases(in json: JSON) -> Set<String> {
        switch json {
        case .array(let elements): Set(elements.flatMap(colorAliases))
        case .object(let members):
            Set(
                (json["type"] == .string("alias") ? [json["value"]?.stringValue].compactMap(\.self) : [])
                    + members.flatMap { colorAliases(in: $0.value) })
        default: []
        }
    }

    // MARK: - Looks

    private static func themed(_ shape: DocumentShape) -> DocumentShape {
        .object(.required("light", shape), .optional("dark", shape))
    }

    private static let points = DocumentShape.list(
        of: .object(.required("color", PaywallShapes.hexColor), .required("percent", .integer)))

    static let colorScheme = themed(
        .byType([
            "hex": .object(.required("value", PaywallShapes.hexColor)), "alias": .object(.required("value", .text)),
            "linear": .object(.required("degrees", .integer), .required("points", points)),
            "radial": .object(.required("points", points)),
        ]))

    private static let imageFiles = DocumentShape.object(
        .required("width", .integer), .required("height", .integer), .required("original", PaywallShapes.url),
        .required("heic", PaywallShapes.url), .required("heic_low_res", PaywallShapes.url),
        .optional("webp", PaywallShapes.url), .optional("webp_low_res", PaywallShapes.url))

    private static let videoFiles = DocumentShape.object(
        .required("width", .integer), .required("height", .integer), .required("url", PaywallShapes.url),
        .optional("url_low_res", PaywallShapes.url))

    private static let extent = DocumentShape.byType([
        "fit": .object(.optional("default", .integer)), "fill": .object(),
        "fixed": .object(.required("value", .integer)), "relative": .object(.required("value", .number)),
    ])

    private static let size = DocumentShape.object(.required("width", extent), .required("height", extent))

    private static let padding = DocumentShape.object(
        .optional("top", .number), .optional("bottom", .number), .optional("leading", .number),
        .optional("trailing", .number))

    private static let border = DocumentShape.object(.required("color", colorScheme), .required("width", .number))

    private static let shadow = DocumentShape.object(
        .required("color", colorScheme), .required("radius", .number), .required("x", .number),
        .required("y", .number))

    private static let corners = DocumentShape.object(
        .optional("top_leading", .number), .optional("top_trailing", .number), .optional("bottom_leading", .number),
        .optional("bottom_trailing", .number))

    private static let shape = DocumentShape.byType([
        "rectangle": .object(.optional("corners", corners)), "pill": .object(),
    ])

    private static let mask = DocumentShape.byType([
        "rectangle": .object(.optional("corners", corners)), "circle": .object(), "concave": .object(),
        "convex": .object(),
    ])

    private static let fitMode = DocumentShape.word("fit", "fill")
    private static let horizontal = DocumentShape.word("leading", "center", "trailing")
    private static let vertical = DocumentShape.word("top", "center", "bottom")
    private static let alignment = DocumentShape.word(
        "center", "leading", "trailing", "top", "bottom", "top_leading", "top_trailing", "bottom_leading",
        "bottom_trailing")
    private static let distribution = DocumentShape.word(
        "start", "center", "end", "space_between", "space_around", "space_evenly")

    private static let dimension = DocumentShape.byType([
        "vertical": .object(.required("alignment", horizontal), .required("distribution", distribution)),
        "horizontal": .object(.required("alignment", vertical), .required("distribution", distribution)),
        "zlayer": .object(.required("alignment", alignment)),
    ])

    private static let background = DocumentShape.byType([
        "color": .object(.required("value", colorScheme)),
        "image": .object(
            .required("value", themed(imageFiles)), .required("fit_mode", fitMode),
            .optional("color_overlay", colorScheme)),
        "video": .object(
            .required("value", themed(videoFiles)), .required("fallback_image", themed(imageFiles)),
            .required("fit_mode", fitMode), .required("loop", .flag), .required("mute_audio", .flag),
            .optional("color_overlay", colorScheme)),
    ])

    private static let overrides = DocumentShape.list(
        of: .object(
            .required("conditions", .list(of: .object(.required("type", .text)))), .required("properties", .object())))

    /// Members of most components, which none needs.
    private static let usual: [Member] = [
        .optional("name", .text), .optional("visible", .flag), .optional("border", border),
        .optional("shadow", shadow), .optional("overrides", overrides), .optional("background_color", colorScheme),
    ]

    private static let box: [Member] = [
        .required("size", size), .required("padding", padding), .required("margin", padding),
    ]

    private static let looseBox: [Member] = [
        .required("size", size), .optional("padding", padding), .optional("margin", padding),
    ]

    // MARK: - Components

    /// Any of them; in itself again.
    private static let component: DocumentShape = .later("a component with a type") { byType }

    private static let stack: DocumentShape = .later("a stack of components") { stackObject }

    private static let stackObject: DocumentShape = .object(
        usual + box + [
            .required("components", .list(of: component)), .required("dimension", dimension),
            .optional("spacing", .number), .optional("background", background), .optional("shape", shape),
            .optional("overflow", .text),
            .optional(
                "badge",
                .object(
                    .required("style", .word("edge_to_edge", "overlay", "nested")),
                    .required("alignment", alignment), .required("stack", stack))),
        ])

    private static let text = DocumentShape.object(
        usual + box + [
            .required("text_lid", .text), .required("color", colorScheme),
            .required("font_size", .either(.number, fontSize)), .required("font_weight", fontWeight),
            .required("horizontal_alignment", horizontal), .optional("font_name", .text),
            .optional("font_weight_int", .integer),
        ])

    private static let fontWeight = DocumentShape.word(
        "extra_light", "thin", "light", "regular", "medium", "semibold", "bold", "extra_bold", "black")
    private static let fontSize = DocumentShape.word(
        "heading_xxl", "heading_xl", "heading_l", "heading_m", "heading_s", "heading_xs", "body_xl", "body_l",
        "body_m", "body_s")

    private static let image = DocumentShape.object(
        usual + looseBox + [
            .required("source", themed(imageFiles)), .required("fit_mode", fitMode),
            .optional("override_source_lid", .text), .optional("mask_shape", mask),
            .optional("color_overlay", colorScheme),
        ])

    private static let icon = DocumentShape.object(
        usual + looseBox + [
            .required("base_url", .text), .required("icon_name", .text), .required("color", colorScheme),
            .required(
                "formats",
                .object(
                    .required("svg", .text), .required("png", .text), .required("heic", .text),
                    .required("webp", .text))),
            .optional(
                "icon_background",
                .object(.required("color", colorScheme), .required("shape", mask), .optional("border", border))),
        ])

    private static let video = DocumentShape.object(
        usual + looseBox + [
            .required("source", themed(videoFiles)), .optional("fallback_source", themed(imageFiles)),
            .required("show_controls", .flag), .required("auto_play", .flag), .required("loop", .flag),
            .required("mute_audio", .flag), .required("fit_mode", fitMode), .optional("mask_shape", mask),
            .optional("color_overlay", colorScheme),
        ])

    private static let link = DocumentShape.object(
        .required("url", .object(.required("url_lid", .text), .required("method", .text))))

    /// A type that an SDK does not know does nothing.
    private static let action = DocumentShape.byType(
        [
            "navigate_to": .object(.required("destination", .text)).and { json, place in
                switch json["destination"]?.stringValue {
                case "terms", "privacy_policy", "url", "web_paywall_link": link.flaws(in: json, at: place)
                case "sheet": sheet.flaws(in: json, at: place)
                default: []
                }
            }
        ], other: .object())

    private static let sheet = DocumentShape.object(
        .optional(
            "sheet",
            .object(
                .required("id", .text), .required("stack", stack), .required("background_blur", .flag),
                .optional("size", size))))

    private static let button = DocumentShape.object(
        usual + [.required("action", action), .required("stack", stack)])

    private static let packageChoice = DocumentShape.object(
        usual + [
            .required("package_id", .text), .required("is_selected_by_default", .flag), .required("stack", stack),
        ])

    private static let onlyStack = DocumentShape.object(usual + [.required("stack", stack)])

    private static let timeline = DocumentShape.object(
        usual + box + [
            .required(
                "items",
                .list(
                    of: .object(
                        .required("title", text), .optional("description", text), .required("icon", icon),
                        .optional(
                            "connector",
                            .object(
                                .required("width", .number), .required("color", colorScheme),
                                .required("margin", padding))))))
        ])

    private static let tabs = DocumentShape.object(
        usual + box + [
            .required(
                "control", .object(.required("type", .word("buttons", "toggle")), .required("stack", stack))),
            .required("tabs", .list(of: .object(.required("id", .text), .required("stack", stack)))),
            .optional("default_tab_id", .text), .optional("background", background), .optional("shape", shape),
        ])

    private static let tabToggle = DocumentShape.object(
        .required("thumb_color_on", colorScheme), .required("thumb_color_off", colorScheme),
        .required("track_color_on", colorScheme), .required("track_color_off", colorScheme))

    private static let pageIndicator = DocumentShape.object(
        .required("width", .integer), .required("height", .integer), .required("color", colorScheme))

    private static let carousel = DocumentShape.object(
        usual + [
            .required("pages", .list(of: stack)), .required("page_alignment", vertical),
            .required("page_spacing", .integer), .required("page_peek", .integer),
            .required("initial_page_index", .integer), .required("loop", .flag),
            .optional(
                "auto_advance",
                .object(
                    .required("ms_time_per_page", .integer), .required("ms_transition_time", .integer),
                    .optional("transition_type", .word("fade", "slide")))),
            .optional(
                "page_control",
                .object(
                    .required("position", .text), .required("spacing", .integer),
                    .required("active", pageIndicator), .required("default", pageIndicator))),
            .optional("size", size), .optional("padding", padding), .optional("margin", padding),
            .optional("background", background), .optional("shape", shape),
        ])

    private static let countdown = DocumentShape.object(
        usual + [
            .required("style", .byType(["date": .object(.required("date", .text))])),
            .required("count_from", .word("days", "hours", "minutes")), .required("countdown_stack", stack),
            .optional("end_stack", stack), .optional("fallback", stack),
        ])

    private static let webAddress = DocumentShape.text("an https URL without variables") { text in
        let host = text.dropFirst("https://".count).prefix { !"/?#".contains($0) }
        return text.lowercased().hasPrefix("https://") && !host.isEmpty && !text.contains("{{")
            && !text.utf8.contains { $0 <= 0x20 || $0 == 0x7f }
    }

    /// An SDK treats other versions of the protocol as types that it does not know.
    private static func isNewWebView(_ json: JSON) -> Bool {
        guard json["type"] == .string("web_view"), let version = json["protocol_version"]?.intValue else {
            return false
        }
        return version != 1
    }

    private static let webView = DocumentShape.object(.required("protocol_version", .integer)).and { json, place in
        let shape: DocumentShape = isNewWebView(json) ? unknown : webViewOfVersion1
        return shape.flaws(in: json, at: place)
    }

    private static let webViewOfVersion1 = DocumentShape.object(
        usual + [
            .required("id", .text("a text that is not blank") { !$0.allSatisfy(\.isWhitespace) }),
            .required("url", webAddress), .required("size", size),
        ])

    /// An SDK shows the fallback of a type that it does not know.
    private static let unknown = DocumentShape.object(.required("fallback", component))

    private static let byType: DocumentShape = .byType(components, other: unknown)

    private static let components: [String: DocumentShape] = [
        "text": text, "image": image, "icon": icon, "video": video, "stack": stack, "button": button,
        "package": packageChoice, "purchase_button": onlyStack, "sticky_footer": onlyStack, "timeline": timeline,
        "tabs": tabs, "tab_control": .object(),
        "tab_control_button": .object(.required("tab_id", .text), .required("stack", stack)),
        "tab_control_toggle": tabToggle, "carousel": carousel, "countdown": countdown, "web_view": webView,
        "fallback_header": .object(),
    ]
}
