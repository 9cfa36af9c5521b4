import Base
import Crypto

extension V2Document {
    /// Offerings of the configuration, in its order.
    ///
    /// - Parameter showsPackages: `expand=items.package`. Their products are left out, because the configuration says of none
    ///   whether it is a subscription.
    package static func offerings(
        _ catalogue: OfferingCatalogue, project: String, showsPackages: Bool
    ) -> [Item] {
        catalogue.offerings.map { offering in
            let url =
                "\(V2Place.url(ofProject: project))/offerings/\(PercentEncoding.encode(offering.identifier))/packages"
            return Item(
                id: offering.identifier,
                json: .object([
                    "created_at": .int(0), "display_name": .string(name(offering)),
                    "id": .string(offering.identifier),
                    "is_current": .bool(offering.identifier == catalogue.current),
                    "lookup_key": .string(offering.identifier), "metadata": offering.metadata ?? .null,
                    "object": .string("offering"),
                    "packages": showsPackages ? list(packages(offering), url: url) : nil,
                    "project_id": .string(project),
                ]))
        }
    }

    private static func name(_ offering: Offering) -> String {
        offering.description.isEmpty ? offering.identifier : offering.description
    }

    /// Ids of packages are of one offering each, as RevenueCat's.
    private static func packages(_ offering: Offering) -> [JSON] {
        offering.packages.enumerated().map { place, package in
            let digest = Digest.sha256(Array("\(offering.identifier)|\(package.identifier)".utf8))
            return .object([
                "created_at": .int(0), "display_name": .string(package.identifier),
                "id": .string("pkge" + Hex.encode(digest.prefix(8))), "lookup_key": .string(package.identifier),
                "object": .string("package"), "position": .int(Int64(place) + 1),
            ])
        }
    }
}
