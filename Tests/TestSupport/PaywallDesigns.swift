import Base

/// Designs of paywalls in the form that RevenueCatUI reads: the members are those of its public models (purchases-ios 5.86,
/// Sources/Paywalls), the contents are made up.
package enum PaywallDesigns {
    package static func json(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

    /// A template of RevenueCat's, filled in.
    package static let template = """
        {"id": "pw_template", "template_name": "1", "asset_base_url": "https://assets.example.com", "revision": 3,
        "default_locale": "en_US", "zero_decimal_place_countries": {"apple": ["JPN"], "google": ["JP"]},
        "config": {"packages": ["$rc_monthly", "$rc_annual"], "default_package": "$rc_annual",
            "images": {"header": "header.jpg", "background": null, "icon": ""}, "images_heic": {"header": "header.heic"},
            "blurred_background_image": true, "display_restore_purchases": true,
            "tos_url": "https://example.com/terms", "privacy_url": null,
            "colors": {"light": {"background": "#FFFFFF", "text_1": "#000000", "accent_1": "#12AB34FF"}, "dark": null}},
        "localized_strings": {"en_US": {"title": "Everything", "call_to_action": "Continue", "subtitle": "For a year",
            "offer_details": "{{ sub_price_per_month }}", "offer_details_with_intro_offer": null,
            "features": [{"title": "No advertisements", "content": "None at all", "icon_id": "tick"}],
            "offer_overrides": {}}}}
        """

    /// A tree of components: a stack with a text, an image, a package, the purchase button and a link.
    package static let components = """
        {"id": "pw_components", "template_name": "components", "asset_base_url": "https://assets.example.com",
        "revision": 1, "default_locale": "en_US", "zero_decimal_place_countries": {"apple": []},
        "automatically_scale_font_size": true, "exit_offers": {"dismiss": {"offering_id": "sale"}},
        "components_localizations": {"en_US": {"title": "Everything", "monthly": "Each month", "buy": "Continue",
            "terms": "https://example.com/terms"}},
        "components_config": {"base": {
            "background": {"type": "color", "value": {"light": {"type": "hex", "value": "#FFFFFFFF"}}},
            "sticky_footer": {"type": "footer", "stack": STACK(BUY)},
            "stack": STACK(CONTENT)}}}
        """
        .replacing("STACK(BUY)", with: stack(buy))
        .replacing("STACK(CONTENT)", with: stack([text("title"), image, package, link].joined(separator: ",")))

    /// What the designs of all offerings share.
    package static let userInterface = """
        {"app": {"colors": {"primary": {"light": {"type": "hex", "value": "#12AB34"}, "dark": {"type": "linear",
            "degrees": 45, "points": [{"color": "#000000", "percent": 0}, {"color": "#FFFFFF80", "percent": 100}]}}},
            "fonts": {"body": {"ios": {"type": "name", "value": "Georgia"}, "android": {"type": "name", "value": "serif"}}}},
        "localizations": {"en_US": {"monthly": "monthly"}},
        "variable_config": {"variable_compatibility_map": {}, "function_compatibility_map": {}},
        "custom_variables": {"name": {"type": "string", "default_value": "you"}}}
        """

    private static let fill = #"{"width": {"type": "fill"}, "height": {"type": "fit"}}"#

    private static func stack(_ components: String) -> String {
        """
        {"type": "stack", "components": [\(components)], "size": \(fill), "spacing": 8.5, "padding": {"top": 16},
        "margin": {}, "dimension": {"type": "vertical", "alignment": "center", "distribution": "start"},
        "shape": {"type": "rectangle", "corners": {"top_leading": 8}}, "background": null}
        """
    }

    private static func text(_ name: String) -> String {
        """
        {"type": "text", "text_lid": "\(name)", "font_name": "body", "font_weight": "bold", "font_size": 24,
        "color": {"light": {"type": "alias", "value": "primary"}}, "horizontal_alignment": "leading", "size": \(fill),
        "padding": {}, "margin": {}, "overrides": [{"conditions": [{"type": "intro_offer"}],
            "properties": {"text_lid": "monthly"}}]}
        """
    }

    private static let image = """
        {"type": "image", "fit_mode": "fit", "size": \(fill), "mask_shape": {"type": "circle"}, "source": {"light": {
            "width": 100, "height": 50, "original": "https://assets.example.com/a.png",
            "heic": "https://assets.example.com/a.heic", "heic_low_res": "https://assets.example.com/a_low.heic",
            "webp": "https://assets.example.com/a.webp", "webp_low_res": "https://assets.example.com/a_low.webp"}}}
        """

    private static let package = """
        {"type": "package", "package_id": "$rc_monthly", "is_selected_by_default": true, "stack": \(stack(text("monthly")))}
        """

    private static let buy = #"{"type": "purchase_button", "stack": "# + stack(text("buy")) + "}"

    private static let link = """
        {"type": "button", "action": {"type": "navigate_to", "destination": "terms",
            "url": {"url_lid": "terms", "method": "in_app_browser"}}, "stack": \(stack(text("title")))}
        """
}
