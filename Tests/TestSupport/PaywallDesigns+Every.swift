extension PaywallDesigns {
    /// A tree with every type of component and every member that purchases-ios 5.86 reads of it (Sources/Paywalls/Components);
    /// the contents are made up.
    package static let everyComponent = """
        {"id": "pw_every", "template_name": "components", "asset_base_url": "https://assets.example.com", "revision": 7,
        "default_locale": "en_US", "zero_decimal_place_countries": {"apple": ["JPN"]},
        "automatically_scale_font_size": false, "exit_offers": {"dismiss": {"offering_id": "sale"}},
        "state_declarations": {"plan": {"type": "string", "default": "year"}},
        "components_localizations": {"en_US": {"words": "Words", "address": "https://example.com/terms",
            "picture": {"light": \(images), "dark": \(images)}}},
        "components_config": {"base": {
            "background": {"type": "video", "value": {"light": \(films), "dark": \(films)},
                "fallback_image": {"light": \(images)}, "fit_mode": "fill", "loop": true, "mute_audio": true,
                "color_overlay": \(colour)},
            "header": {"stack": \(plain)}, "sticky_footer": {"stack": \(plain)},
            "stack": \(stack("[\(everything.joined(separator: ",\n"))]"))}}}
        """

    private static let everything = [
        words, picture, icon, film, stack("[]"), button("navigate_back"), link("terms"), link("privacy_policy"),
        link("url"),
        link("web_paywall_link"), sheet, package, purchase("in_app_checkout", ""),
        purchase("web_checkout", #", "auto_dismiss": true, "open_method": "in_app_browser""#),
        purchase("web_product_selection", #", "auto_dismiss": true, "open_method": "external_browser""#),
        purchase(
            "custom_web_checkout",
            #", "custom_url": {"url_lid": "address", "package_param": "p"}, "auto_dismiss": true, "open_method": "deep_link""#
        ),
        #"{"type": "sticky_footer", "stack": \#(plain)}"#, timeline, tabs("buttons"), tabs("toggle"), carousel,
        countdown, web,
        #"{"type": "fallback_header"}"#, #"{"type": "confetti", "fallback": {"type": "fallback_header"}}"#,
    ]

    private static let colour = """
        {"light": {"type": "hex", "value": "#12AB34"}, "dark": {"type": "radial",
            "points": [{"color": "#000000", "percent": 0}, {"color": "#FFFFFF80", "percent": 100}]}}
        """
    private static let gradient = """
        {"light": {"type": "alias", "value": "primary"}, "dark": {"type": "linear", "degrees": 45,
            "points": [{"color": "#000000", "percent": 0}]}}
        """
    private static let images = """
        {"width": 100, "height": 50, "original": "https://assets.example.com/a.png",
        "heic": "https://assets.example.com/a.heic", "heic_low_res": "https://assets.example.com/b.heic",
        "webp": "https://assets.example.com/a.webp", "webp_low_res": "https://assets.example.com/b.webp"}
        """
    private static let films = """
        {"width": 100, "height": 50, "url": "https://assets.example.com/a.mp4",
        "url_low_res": "https://assets.example.com/b.mp4", "checksum": {"algo": "sha256", "value": "00"},
        "checksum_low_res": {"algo": "sha256", "value": "01"}}
        """
    private static let size = #"{"width": {"type": "fixed", "value": 40}, "height": {"type": "fit", "default": 20}}"#
    private static let loose = #"{"width": {"type": "relative", "value": 0.5}, "height": {"type": "fill"}}"#
    private static let space = #"{"top": 1, "bottom": 2, "leading": 3.5, "trailing": 4}"#
    private static let border = #"{"color": \#(colour), "width": 1.5}"#
    private static let shadow = #"{"color": \#(colour), "radius": 2, "x": 1, "y": -1}"#
    private static let shape = """
        {"type": "rectangle", "corners": {"top_leading": 1, "top_trailing": 2, "bottom_leading": 3, "bottom_trailing": 4}}
        """

    private static func overrides(_ properties: String) -> String {
        """
        [{"conditions": [{"type": "compact"}, {"type": "intro_offer"},
            {"type": "variable", "operator": "=", "variable": "plan", "value": "year"}], "properties": {\(properties)}}]
        """
    }

    private static let frame = """
        "name": "n", "visible": true, "size": \(size), "padding": \(space), "margin": \(space)
        """

    /// Without what it need not have.
    private static let plain = """
        {"type": "stack", "components": [], "size": \(loose), "padding": {}, "margin": {},
        "dimension": {"type": "horizontal", "alignment": "top", "distribution": "space_between"}}
        """

    private static func stack(_ components: String) -> String {
        let badge = #"{"style": "overlay", "alignment": "top_trailing", "stack": \#(plain)}"#
        let layers = #"{"type": "zlayer", "alignment": "bottom_leading"}"#
        let looks = """
            "spacing": 8.5, "background_color": \(colour), "background": {"type": "color", "value": \(gradient)},
            "shape": \(shape), "border": \(border), "shadow": \(shadow), "badge": \(badge), "overflow": "scroll"
            """
        return """
            {"type": "stack", \(frame), "components": \(components), \(looks),
            "dimension": {"type": "vertical", "alignment": "center", "distribution": "start"},
            "overrides": \(overrides("\(frame), \(looks), \"dimension\": \(layers)"))}
            """
    }

    private static let words: String = {
        let looks = """
            "text_lid": "words", "font_name": "body", "font_weight": "extra_bold", "font_weight_int": 800,
            "color": \(colour), "horizontal_alignment": "trailing", "background_color": \(colour)
            """
        return """
            {"type": "text", \(frame), \(looks), "font_size": "heading_xl",
            "overrides": \(overrides("\(frame), \(looks), \"font_size\": 12.5"))}
            """
    }()

    private static let picture: String = {
        let looks = """
            "source": {"light": \(images), "dark": \(images)}, "fit_mode": "fit", "override_source_lid": "picture",
            "mask_shape": {"type": "concave"}, "color_overlay": \(colour), "border": \(border), "shadow": \(shadow)
            """
        return #"{"type": "image", \#(frame), \#(looks), "overrides": \#(overrides("\(frame), \(looks)"))}"#
    }()

    private static let iconLooks = """
        "base_url": "https://assets.example.com/icons", "icon_name": "star", "color": \(colour),
        "formats": {"svg": "a.svg", "png": "a.png", "heic": "a.heic", "webp": "a.webp"},
        "icon_background": {"color": \(colour), "shape": {"type": "circle"}, "border": \(border), "shadow": \(shadow)}
        """
    private static let icon =
        #"{"type": "icon", \#(frame), \#(iconLooks), "overrides": \#(overrides("\(frame), \(iconLooks)"))}"#

    private static let film: String = {
        let looks = """
            "source": {"light": \(films)}, "fallback_source": {"light": \(images)}, "show_controls": false,
            "auto_play": true, "loop": true, "mute_audio": true, "fit_mode": "fill", "mask_shape": {"type": "convex"},
            "color_overlay": \(colour), "border": \(border), "shadow": \(shadow)
            """
        return #"{"type": "video", \#(frame), \#(looks), "overrides": \#(overrides("\(frame), \(looks)"))}"#
    }()

    private static func button(_ action: String, _ more: String = "") -> String {
        """
        {"type": "button", "name": "n", "id": "b", "visible": true, "action": {"type": "\(action)"\(more)},
        "stack": \(plain), "state_updates": [{"set": "plan", "to": "month"}], "transition": {"type": "fade",
            "displacement_strategy": "lazy", "animation": {"type": "ease_in", "ms_delay": 1, "ms_duration": 2}},
        "overrides": \(overrides(#""visible": false"#))}
        """
    }

    private static func link(_ destination: String) -> String {
        button(
            "navigate_to",
            #", "destination": "\#(destination)", "url": {"url_lid": "address", "method": "in_app_browser"}"#)
    }

    private static let sheet = button(
        "navigate_to",
        """
        , "destination": "sheet", "sheet": {"id": "s", "name": "n", "stack": \(plain), "background_blur": true, "size": \(size)}
        """)

    private static let package = """
        {"type": "package", "package_id": "$rc_monthly", "is_selected_by_default": true, "name": "n", "id": "p",
        "visible": true, "apple_promo_offer_product_code": "half", "haptic_feedback_enabled": true, "stack": \(plain),
        "overrides": \(overrides(#""visible": false"#))}
        """

    private static func purchase(_ method: String, _ more: String) -> String {
        """
        {"type": "purchase_button", "name": "n", "action": "in_app_checkout", "method": {"type": "\(method)"\(more)},
        "stack": \(plain)}
        """
    }

    private static let timeline: String = {
        let connector = #"{"width": 2, "color": \#(colour), "margin": \#(space)}"#
        let spacing = """
            "icon_alignment": "title", "item_spacing": 1.5, "text_spacing": 2, "column_gutter": 3
            """
        return """
            {"type": "timeline", \(frame), \(spacing), "items": [{"title": \(words), "description": \(words), "icon": \(icon),
            "connector": \(connector), "overrides": \(overrides("\"visible\": true, \"connector\": \(connector)"))}],
            "overrides": \(overrides("\(frame), \(spacing)"))}
            """
    }()

    private static func tabs(_ control: String) -> String {
        let looks = """
            "background": {"type": "image", "value": {"light": \(images)}, "fit_mode": "fit", "color_overlay": \(colour)},
            "shape": {"type": "pill"}, "border": \(border), "shadow": \(shadow)
            """
        let inside =
            control == "toggle"
            ? """
            {"type": "tab_control_toggle", "name": "n", "haptic_feedback_enabled": true, "thumb_color_on": \(colour),
            "thumb_color_off": \(colour), "track_color_on": \(colour), "track_color_off": \(colour)}
            """
            : """
            {"type": "tab_control_button", "name": "n", "tab_id": "t", "haptic_feedback_enabled": true, "stack": \(plain)}
            """
        return """
            {"type": "tabs", \(frame), \(looks), "control": {"type": "\(control)", "stack": \(stack("[\(inside)]"))},
            "tabs": [{"id": "t", "name": "n", "stack": \(stack(#"[{"type": "tab_control"}]"#))}], "default_tab_id": "t",
            "state_updates": [{"set": "plan", "to": "$value"}], "overrides": \(overrides("\(frame), \(looks)"))}
            """
    }

    private static let carousel: String = {
        let dot = #"{"width": 4, "height": 5, "color": \#(colour), "stroke_color": \#(colour), "stroke_width": 0.5}"#
        let looks = """
            "page_alignment": "bottom", "page_spacing": 1, "page_peek": 2, "initial_page_index": 0, "loop": true,
            "auto_advance": {"ms_time_per_page": 1000, "ms_transition_time": 100, "transition_type": "fade"},
            "page_control": {"position": "top", "spacing": 3, "active": \(dot), "default": \(dot), "padding": \(space),
                "margin": \(space), "background_color": \(colour), "shape": \(shape), "border": \(border), "shadow": \(shadow)},
            "background": {"type": "color", "value": \(colour)}, "shape": \(shape), "border": \(border), "shadow": \(shadow)
            """
        return """
            {"type": "carousel", \(frame), \(looks), "pages": [\(plain)], "state_updates": [{"set": "plan", "to": 1}],
            "overrides": \(overrides("\(frame), \(looks)"))}
            """
    }()

    private static let countdown: String = {
        let style = #""style": {"type": "date", "date": "2026-12-24T18:00:00Z"}"#
        return """
            {"type": "countdown", "name": "n", \(style), "count_from": "hours", "countdown_stack": \(plain), "end_stack": \(plain),
            "fallback": \(plain), "overrides": \(overrides(style))}
            """
    }()

    private static let web = """
        {"type": "web_view", "id": "w", "name": "n", "visible": true, "protocol_version": 1,
        "url": "https://example.com/page", "size": \(size), "overrides": \(overrides(#""visible": false"#))}
        """
}
