import Base

/// The page of RevenueCat's SDKs on which customers help themselves: they restore, cancel, ask for a refund, change plans.
package enum CustomerCenter {
    /// The screens that SDKs know: of customers with a subscription, and of those without.
    package static let screens = ["MANAGEMENT", "NO_ACTIVE"]

    /// What an app is told (RevenueCat: `GET /v1/customercenter/{app_user_id}`).
    ///
    /// - Parameter page: as configured (`CustomerCenterShapes.page`): each member is passed on as it is, and what it does not
    ///   have is the usual. Nil: the usual page.
    package static func document(_ page: JSON?) -> JSON {
        let given = page?.members ?? []
        let names = Set(given.filter { $0.value != .null }.map(\.name))
        let rest = (usual.members ?? []).filter { !names.contains($0.name) }
        return .object([
            "customer_center": .object(given.filter { names.contains($0.name) } + rest),
            "last_published_app_version": .null, "itunes_track_id": .null,
        ])
    }

    /// SDKs have the other words in the language of the device, and colours of their own.
    package static let usual: JSON = .object([
        "appearance": .object(["light": .object([]), "dark": .object([])]),
        "screens": .object([
            "MANAGEMENT": .object([
                "type": .string("MANAGEMENT"), "title": .string("Manage subscription"), "subtitle": .null,
                "paths": .array([missing, changePlans, refund, cancel]), "offering": .null,
            ]),
            "NO_ACTIVE": .object([
                "type": .string("NO_ACTIVE"), "title": .string("No active subscription"),
                "subtitle": .string("A purchase that is missing here can be restored."), "paths": .array([missing]),
                "offering": .null,
            ]),
        ]),
        "localization": .object(["locale": .string("en_US"), "localized_strings": .object([])]),
        "support": .object([
            "email": .string(""), "should_warn_customer_to_update": .bool(false),
            "display_virtual_currencies": .bool(false),
        ]),
        "change_plans": .array([]),
    ])

    private static let missing = path("missing", "MISSING_PURCHASE", "Restore a missing purchase")
    private static let changePlans = path("plans", "CHANGE_PLANS", "Change plan")
    private static let refund = path("refund", "REFUND_REQUEST", "Request a refund")
    private static let cancel = path("cancel", "CANCEL", "Cancel subscription")

    private static func path(_ id: String, _ type: String, _ title: String) -> JSON {
        .object(["id": .string(id), "type": .string(type), "title": .string(title)])
    }
}
