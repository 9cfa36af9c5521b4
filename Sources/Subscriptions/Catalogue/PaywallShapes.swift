import Base

/// What RevenueCat's SDKs insist on in the designs that come with offerings: the public models of purchases-ios 5.86
/// (`Sources/Paywalls/PaywallData.swift`, `Sources/Networking/Responses/RevenueCatUI`). An app shows the built-in paywall in
/// place of one that it cannot read, and no offering at all beside a `ui_config` that it cannot read.
package enum PaywallShapes {
    static let url = DocumentShape.text("a URL with a scheme, as https://assets.example.com") { text in
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return false }
        return !text.utf8.contains { $0 <= 0x20 || $0 == 0x7f } && text[colon...].utf8.count > 1
    }

    /// `#RRGGBB` or `#RRGGBBAA`.
    static let hexColor = DocumentShape.text("a colour, as #RRGGBB or #RRGGBBAA") { text in
        text.hasPrefix("#") && [7, 9].contains(text.utf8.count)
            && text.utf8.dropFirst().allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xdf)
            }
    }

    private static let exitOffers = DocumentShape.object(
        .optional("dismiss", .object(.required("offering_id", .text))))

    private static let countries = DocumentShape.object(.required("apple", .list(of: .text)))

    /// Members that both kinds of designs have.
    static let common: [DocumentShape.Member] = [
        .optional("id", .text), .required("template_name", .text), .required("asset_base_url", url),
        .optional("revision", .integer), .optional("zero_decimal_place_countries", countries),
        .optional("exit_offers", exitOffers),
    ]

    // MARK: - paywall

    /// `paywall` of an offering: one of RevenueCat's templates, filled in.
    package static let paywall = DocumentShape.object(
        common + [
            .optional("default_locale", .text), .required("config", configuration),
            .required("localized_strings", .map(of: strings)),
            .optional("localized_strings_by_tier", .map(of: .map(of: strings))),
        ]
    ).and { document, place in
        // Android takes the first where none fits, whether there is one or not.
        let isFilled = ["localized_strings", "localized_strings_by_tier"].contains { name in
            document[name]?.members?.isEmpty == false
        }
        guard !isFilled else { return [] }
        return [
            .init(
                place: "\(place).localized_strings", found: .object([]), allowed: "the texts of at least one language")
        ]
    }

    private static let images = DocumentShape.object(
        .optional("header", .text), .optional("background", .text), .optional("icon", .text))

    private static let colors = DocumentShape.object(
        .required("light", .map(of: .either(.null, hexColor))), .optional("dark", .map(of: .either(.null, hexColor))))

    private static let configuration = DocumentShape.object(
        .optional("packages", .list(of: .text)), .optional("default_package", .text),
        .optional(
            "tiers",
            .list(
                of: .object(
                    .required("id", .text), .required("packages", .list(of: .text)),
                    .required("default_package", .text)))),
        .optional("images", images), .optional("images_heic", images), .optional("images_heic_low_res", images),
        .optional("images_webp", images), .optional("images_by_tier", .map(of: images)),
        .required("colors", colors), .optional("colors_by_tier", .map(of: colors)),
        .optional("blurred_background_image", .flag), .optional("display_restore_purchases", .flag),
        .optional("tos_url", .text), .optional("privacy_url", .text))

    private static let strings = DocumentShape.object(
        .required("title", .text), .required("call_to_action", .text), .optional("subtitle", .text),
        .optional("call_to_action_with_intro_offer", .text), .optional("offer_details", .text),
        .optional("offer_details_with_intro_offer", .text), .optional("offer_name", .text),
        .optional("tier_name", .text),
        .optional(
            "features",
            .list(
                of: .object(.required("title", .text), .optional("content", .text), .optional("icon_id", .text)))),
        .optional(
            "offer_overrides",
            .map(
                of: .object(
                    .optional("offer_details", .text), .optional("offer_details_with_intro_offer", .text),
                    .optional("offer_name", .text), .optional("offer_badge", .text)))))

    // MARK: - ui_config

    /// `ui_config` of the answer: what the designs of all offerings share.
    package static let userInterface = DocumentShape.object(
        .required(
            "app",
            .object(
                .required("colors", .map(of: PaywallComponentShapes.colorScheme)),
                .required(
                    "fonts", .map(of: .object(.required("ios", font), .optional("android", font)))))),
        .required("localizations", .map(of: .map(of: .text))),
        .required(
            "variable_config",
            .object(
                .required("variable_compatibility_map", .map(of: .text)),
                .required("function_compatibility_map", .map(of: .text)))),
        .optional(
            "custom_variables",
            .map(of: .object(.required("type", .text), .required("default_value", .text)))))

    private static let font = DocumentShape.object(
        .required("type", .word("name", "google_fonts")), .required("value", .text), .optional("url", .text),
        .optional("hash", .text), .optional("family", .text))
}
