import Base

/// What an app shows for sale together (RevenueCat: Offering).
package struct Offering: Sendable, Equatable {
    package let identifier: String
    package let description: String
    /// Whatever the app reads; nil where there is none.
    package let metadata: JSON?
    /// A template of RevenueCat's that is filled in (`PaywallShapes.paywall`); nil where there is none.
    package let paywall: JSON?
    /// A design of components (`PaywallComponentShapes.paywall`); nil where there is none.
    package let paywallComponents: JSON?
    /// In the order in which apps show them.
    package let packages: [Package]

    package init(
        identifier: String, description: String = "", metadata: JSON? = nil, paywall: JSON? = nil,
        paywallComponents: JSON? = nil, packages: [Package]
    ) {
        self.identifier = identifier
        self.description = description
        self.metadata = metadata
        self.paywall = paywall
        self.paywallComponents = paywallComponents
        self.packages = packages
    }

    /// The packages that its designs show, each once, in the order of their names.
    package var designedPackages: [String] {
        let tiers = (paywall?["config"]?["tiers"]?.arrayValue ?? []).flatMap { $0["packages"]?.arrayValue ?? [] }
        let listed = (paywall?["config"]?["packages"]?.arrayValue ?? []) + tiers
        let shown = PaywallComponentShapes.packages(in: paywallComponents ?? .null)
        return Set(listed.compactMap(\.stringValue) + shown).sorted()
    }

    /// One place in an offering, and the product that stands there.
    package struct Package: Sendable, Equatable {
        package let identifier: String
        package let products: Products

        package init(identifier: String, products: Products) {
            self.identifier = identifier
            self.products = products
        }
    }

    /// Product ids of a package.
    package enum Products: Sendable, Equatable {
        /// The same on each of Apple's platforms.
        case everywhere(String)
        /// By platform; it is on no other.
        case byPlatform([String: String])

        package var all: [String] {
            switch self {
            case .everywhere(let id): [id]
            case .byPlatform(let ids): ids.sorted { $0.key < $1.key }.map(\.value)
            }
        }

        /// - Parameter platform: in lower case.
        package func product(on platform: String) -> String? {
            switch self {
            case .everywhere(let id): OfferingCatalogue.applePlatforms.contains(platform) ? id : nil
            case .byPlatform(let ids): ids[platform]
            }
        }
    }
}

/// Everything that apps offer.
package struct OfferingCatalogue: Sendable, Equatable {
    /// What RevenueCat's SDKs call Apple's platforms (`X-Platform`), in lower case; `uikitformac` is Mac Catalyst.
    package static let applePlatforms = ["ios", "macos", "tvos", "watchos", "visionos", "uikitformac"]
    /// The other platforms that they name. Nothing of Apple's is sold there.
    package static let otherPlatforms = ["android", "amazon", "stripe", "web", "roku", "paddle"]
    /// Package identifiers with a meaning of their own: RevenueCat's, by length.
    package static let standardPackages = [
        "$rc_weekly", "$rc_monthly", "$rc_two_month", "$rc_three_month", "$rc_six_month", "$rc_annual", "$rc_lifetime",
    ]

    package let offerings: [Offering]
    /// What is shown to those for whom nothing else was chosen; nil where there is no offering.
    package let current: String?
    /// What the designs of all offerings share (`PaywallShapes.userInterface`); nil where there is none.
    package let userInterface: JSON?
    /// Which offering each place in an app shows; nil where no place is named.
    package let placements: Placements?
    /// The page on which customers help themselves (`CustomerCenterShapes.page`); nil: the usual one.
    package let customerCenter: JSON?

    /// Places in an app, by the names that it gives them.
    package struct Placements: Sendable, Equatable {
        /// Offerings by place; a place with nil shows none.
        package let offerings: [String: String?]
        /// What all other places show; nil: the customer's current offering.
        package let fallback: String?

        package init(offerings: [String: String?], fallback: String?) {
            self.offerings = offerings
            self.fallback = fallback
        }
    }

    package init(
        offerings: [Offering] = [], current: String? = nil, userInterface: JSON? = nil, placements: Placements? = nil,
        customerCenter: JSON? = nil
    ) {
        self.offerings = offerings
        self.current = current
        self.userInterface = userInterface
        self.placements = placements
        self.customerCenter = customerCenter
    }

    package func has(_ identifier: String) -> Bool { offerings.contains { $0.identifier == identifier } }

    /// The current offering of a customer.
    ///
    /// - Parameter override: what was chosen for the customer; counts while there is such an offering.
    package func shown(to override: String?) -> String? { override.flatMap { has($0) ? $0 : nil } ?? current }

    /// What an app is told (RevenueCat: `GET /v1/subscribers/{app_user_id}/offerings`).
    ///
    /// - Parameters:
    ///   - platform: in lower case. Packages without a product for it are left out.
    ///   - override: what was chosen for the customer; counts while there is such an offering.
    package func document(platform: String, override: String?) -> JSON {
        let chosen = shown(to: override)
        return .object([
            "current_offering_id": .text(chosen),
            "offerings": .array(
                offerings.map { offering in
                    .object([
                        "identifier": .string(offering.identifier), "description": .string(offering.description),
                        "metadata": offering.metadata ?? .null, "paywall": offering.paywall,
                        "paywall_components": offering.paywallComponents,
                        "packages": .array(
                            offering.packages.compactMap { package in
                                package.products.product(on: platform).map { id in
                                    .object([
                                        "identifier": .string(package.identifier),
                                        "platform_product_identifier": .string(id),
                                    ])
                                }
                            }),
                    ])
                }),
            "placements": placements.map { placements in
                .object([
                    "fallback_offering_id": .text(placements.fallback ?? chosen),
                    "offering_ids_by_placement": .object(
                        placements.offerings.sorted { $0.key < $1.key }.map { place, offering in
                            JSON.Member(name: place, value: .text(offering))
                        }),
                ])
            }, "ui_config": userInterface,
        ])
    }
}
