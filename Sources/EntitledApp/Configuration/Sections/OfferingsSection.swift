import Base
import Daemon
import Subscriptions

extension Configuration {
    /// What apps show for sale, from the keys of the document itself and `placements`.
    static func offerings(_ section: ConfigurationSection) -> OfferingCatalogue {
        let offerings = section.value(
            "offerings", .offerings, default: [],
            example: #"{ default: { packages: [{ id: "$rc_monthly", product: "pro_monthly" }] } }"#,
            "Offerings that apps show: their packages in order, and the product of each, for every"
                + " platform or by platform (ios, macos, tvos, watchos, visionos, uikitformac). `metadata` is for the app;"
                + " `paywall` and `paywall_components` are designs that RevenueCatUI shows. Each of the three is JSON, or the"
                + " path of a JSON file.")
        let chosen = section.value(
            "current_offering", .optional(.name("the name of an offering")), default: nil,
            "The offering that is current; not set: the one called default, else the only one.")
        let userInterface = section.value(
            "ui_config", .optional(.design(PaywallShapes.userInterface)), default: nil,
            "Colours, fonts and words that the paywall_components of all offerings share, as JSON or the path of a JSON file."
        )
        let placements = section.section(
            "placements", "Offering of each placement in an app.", Configuration.placements)
        let customerCenter = section.value(
            "customer_center", .optional(.design(CustomerCenterShapes.page)), default: nil,
            example: #"{ support: { email: "help@example.com" } }"#,
            "Customer Center of RevenueCat's SDKs: `appearance`, `screens`, `localization`, `support` and `change_plans`, as JSON"
                + " or the path of a JSON file. What is missing in it gets the default: a page in English, without an"
                + " address for support."
        )
        let usual = offerings.first { $0.identifier == "default" } ?? (offerings.count == 1 ? offerings.first : nil)
        return OfferingCatalogue(
            offerings: offerings, current: chosen ?? usual?.identifier, userInterface: userInterface,
            placements: placements, customerCenter: customerCenter)
    }

    private static func placements(_ section: ConfigurationSection) -> OfferingCatalogue.Placements? {
        let offerings = section.value(
            "offerings",
            .map(
                "an object of placements, each with an offering or null",
                of: .optional(.name("the name of an offering"))),
            default: [:], example: #"{ onboarding: "default", settings: null }"#,
            "Offerings by placement identifier; null: none.")
        let fallback = section.value(
            "fallback", .optional(.name("the name of an offering")), default: nil,
            "Offering of all other placements; not set: the customer's current one.")
        guard !offerings.isEmpty || fallback != nil else { return nil }
        return OfferingCatalogue.Placements(offerings: offerings, fallback: fallback)
    }
}
