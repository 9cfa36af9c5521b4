import Base

/// What RevenueCat's SDKs insist on in the page of Customer Center: the public models of purchases-ios
/// (`Sources/Networking/Responses/CustomerCenterConfigResponse.swift`) and purchases-android
/// (`purchases/customercenter/CustomerCenterConfigData.kt`). An app shows an error in place of a page that it cannot read.
package enum CustomerCenterShapes {
    /// `customer_center` of the answer. What it does not have is that of `CustomerCenter.usual`.
    package static let page = DocumentShape.object(
        .optional("appearance", .object(.required("light", colors), .required("dark", colors))),
        .optional("screens", screens),
        .optional(
            "localization", .object(.required("locale", .text), .required("localized_strings", .map(of: .text)))),
        .optional("support", support),
        .optional(
            "change_plans",
            .list(
                of: .object(
                    .required("group_id", .text), .required("group_name", .text),
                    .required(
                        "products",
                        .list(of: .object(.required("product_id", .text), .required("selected", .flag))))))))

    private static let colors = DocumentShape.object(
        ["accent_color", "text_color", "background_color", "button_text_color", "button_background_color"].map {
            .optional($0, PaywallShapes.hexColor)
        })

    /// An app for Apple's platforms ends when it is told of two screens that it does not know.
    private static let screens = DocumentShape.map(of: screen).and { document, place in
        (document.members ?? []).flatMap { member -> [DocumentShape.Flaw] in
            let (type, allowed) = (member.value["type"] ?? .null, CustomerCenter.screens.joined(separator: ", "))
            guard CustomerCenter.screens.contains(member.name) else {
                return [.init(place: "\(place).\(member.name)", found: member.value, allowed: "one of: \(allowed)")]
            }
            guard type != .string(member.name) else { return [] }
            return [.init(place: "\(place).\(member.name).type", found: type, allowed: member.name)]
        }
    }

    private static let screen = DocumentShape.object(
        .required("type", .text), .required("title", .text), .optional("subtitle", .text),
        .required("paths", .list(of: path)),
        .optional(
            "offering",
            .object(
                .required("type", .word("CURRENT", "SPECIFIC")), .optional("offering_id", .text),
                .optional("button_text", .text))))

    /// An app passes over a path with an address that it cannot open.
    private static let path = DocumentShape.object(
        .required("id", .text), .required("title", .text), .required("type", .text), .optional("url", .text),
        .optional("open_method", .word("IN_APP", "EXTERNAL")), .optional("promotional_offer", promotionalOffer),
        .optional(
            "feedback_survey",
            .object(
                .required("title", .text),
                .required(
                    "options",
                    .list(
                        of: .object(
                            .required("id", .text), .required("title", .text),
                            .optional("promotional_offer", promotionalOffer)))))),
        .optional("refund_window", .text), .optional("action_identifier", .text)
    ).and { document, place in
        guard document["type"] == .string("CUSTOM_URL") else { return [] }
        return [("url", PaywallShapes.url), ("open_method", DocumentShape.text)].flatMap { name, shape in
            shape.flaws(in: document[name] ?? .null, at: "\(place).\(name)")
        }
    }

    private static let promotionalOffer = DocumentShape.object(
        .required("ios_offer_id", .text), .required("eligible", .flag), .required("title", .text),
        .required("subtitle", .text), .required("product_mapping", .map(of: .text)),
        .optional(
            "cross_product_promotions",
            .map(
                of: .object(
                    .required("store_offer_identifier", .text), .required("target_product_id", .text)))))

    private static let support = DocumentShape.object(
        [
            .required("email", .text),
            .optional(
                "support_tickets",
                .object(
                    .required("allow_creation", noTickets),
                    .required("customer_type", .word("active", "not_active", "all", "none")),
                    .optional("customer_details", .map(of: .flag)))),
        ]
            + [
                "should_warn_customer_to_update", "display_purchase_history_link", "display_user_details_section",
                "display_virtual_currencies", "should_warn_customers_about_multiple_subscriptions",
            ].map { .optional($0, .flag) })

    /// `POST /v1/customercenter/support/create-ticket` takes none.
    private static let noTickets = DocumentShape.flag.and { document, place in
        document == .bool(false) ? [] : [.init(place: place, found: document, allowed: "false: no tickets are taken")]
    }
}
