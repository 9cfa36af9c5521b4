import Base

/// What an app shows for sale together (RevenueCat: Offering).
package struct Offering: Sendable, Equatable {
    package let identifier: String
    package let description: String
    /// Whatever the app reads; nil where there is none.
    package let metadata: JSON?
    /// In the order in which apps show them.
    package let packages: [Package]

    package init(identifier: String, description: String = "", metadata: JSON? = nil, packages: [Package]) {
        self.identifier = identifier
        self.description = description
        self.metadata = metadata
        self.packages = packages
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

    package init(offerings: [Offering] = [], current: String? = nil) {
        self.offerings = offerings
        self.current = current
    }

    package func has(_ identifier: String) -> Bool { offerings.contains { $0.identifier == identifier } }

    /// What an app is told (RevenueCat: `GET /v1/subscribers/{app_user_id}/offerings`).
    ///
    /// - Parameters:
    ///   - platform: in lower case. Packages without a product for it are left out.
    ///   - override: what was chosen for the customer; counts while there is such an offering.
    package func document(platform: String, override: String?) -> JSON {
        let chosen = override.flatMap { has($0) ? $0 : nil } ?? current
        return .object([
            "current_offering_id": .text(chosen),
            "offerings": .array(
                offerings.map { offering in
                    .object([
                        "identifier": .string(offering.identifier), "description": .string(offering.description),
                        "metadata": offering.metadata ?? .null,
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
        ])
    }
}
