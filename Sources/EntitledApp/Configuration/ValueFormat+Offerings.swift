import Base
import CLI
import Daemon
import Subscriptions

extension ValueFormat where Value == [Offering] {
    /// Offerings by name. Packages are a list, because their order is what apps show and objects have none.
    static var offerings: ValueFormat<[Offering]> {
        let allowed =
            "an object of offerings, each { description, metadata, paywall, paywall_components, packages: [{ id:"
            + " \"$rc_monthly\", product: \"pro_monthly\" }] }"
        let name = JSON.object(["type": .string("string"), "minLength": .int(1)])
        let platforms = OfferingCatalogue.applePlatforms.map { JSON.Member(name: $0, value: name) }
        let product = JSON.object([
            "anyOf": .array([
                name,
                .object([
                    "type": .string("object"), "minProperties": .int(1), "properties": .object(platforms),
                    "additionalProperties": .bool(false),
                ]),
            ])
        ])
        let package = JSON.object([
            "type": .string("object"), "properties": .object(["id": name, "product": product]),
            "required": .strings(["id", "product"]), "additionalProperties": .bool(false),
        ])
        let offering = JSON.object([
            "type": .string("object"),
            "properties": .object([
                "description": .object(["type": .string("string")]),
                "metadata": ValueFormat<JSON>.documentSchema, "paywall": ValueFormat<JSON>.documentSchema,
                "paywall_components": ValueFormat<JSON>.documentSchema,
                "packages": .object(["type": .string("array"), "minItems": .int(1), "items": package]),
            ]), "required": .strings(["packages"]), "additionalProperties": .bool(false),
        ])
        return ValueFormat(
            allowed: allowed, schema: .object(["type": .string("object"), "additionalProperties": offering]),
            fromText: jsonFromText,
            write: { offerings in .object(offerings.map { .init(name: $0.identifier, value: .object([])) }) }
        ) { json, surroundings in
            guard let members = json.members else { return .wrong(json, allowed) }
            var reader = OfferingReader(surroundings: surroundings)
            let offerings = members.sorted { $0.name < $1.name }.compactMap { reader.offering($0.name, $0.value) }
            return reader.flaws.isEmpty ? .value(offerings) : .flawed(reader.flaws)
        }
    }
}

/// Reads offerings out of a document and collects all that is wrong with them.
private struct OfferingReader {
    let surroundings: ConfigurationContext
    private(set) var flaws: [ValueReading<[Offering]>.Flaw] = []

    mutating func offering(_ name: String, _ json: JSON) -> Offering? {
        let place = ".\(name)"
        guard !name.isEmpty else { return refuse("", .string(""), "names that are not empty") }
        guard let members = json.members else { return refuse(place, json, "an object with packages") }
        checkNames(members, ["description", "metadata", "paywall", "paywall_components", "packages"], place)
        var description = ""
        switch json["description"] {
        case nil, .null: break
        case .string(let text): description = text
        case .some(let other): refuse("\(place).description", other, "a text")
        }
        let metadata = design("metadata", .object(), of: json, place)
        let paywall = design("paywall", PaywallShapes.paywall, of: json, place)
        let components = design("paywall_components", PaywallComponentShapes.paywall, of: json, place)
        guard let elements = json["packages"]?.arrayValue, !elements.isEmpty else {
            return refuse(
                "\(place).packages", json["packages"] ?? .null,
                "a list (at least 1) of { id, product }, in the order shown")
        }
        var packages: [Offering.Package] = []
        for (index, element) in elements.enumerated() {
            guard let package = package(element, "\(place).packages[\(index)]") else { continue }
            if packages.contains(where: { $0.identifier == package.identifier }) {
                refuse("\(place).packages[\(index)].id", .string(package.identifier), "each package once")
            }
            packages.append(package)
        }
        return Offering(
            identifier: name, description: description, metadata: metadata, paywall: paywall,
            paywallComponents: components, packages: packages)
    }

    /// A document of the offering: in the configuration, or in a file.
    private mutating func design(_ name: String, _ shape: DocumentShape, of json: JSON, _ place: String) -> JSON? {
        guard let given = json[name], given != .null else { return nil }
        switch ValueFormat<JSON>.design(shape).read(given, surroundings) {
        case .value(let document): return document
        case .flawed(let found):
            flaws += found.map {
                .init(
                    place: Terminal.harmless("\(place).\(name)\($0.place)"), found: $0.found, reason: $0.reason,
                    allowed: $0.allowed)
            }
            return nil
        }
    }

    private mutating func package(_ json: JSON, _ place: String) -> Offering.Package? {
        guard let members = json.members else {
            return refuse(place, json, "an object { id: \"$rc_monthly\", product: \"pro_monthly\" }")
        }
        checkNames(members, ["id", "product"], place)
        let id = name(json["id"], "\(place).id", "a package: one of RevenueCat's, such as \"$rc_monthly\", or your own")
        let products = products(json["product"], "\(place).product")
        guard let id, let products else { return nil }
        return Offering.Package(identifier: id, products: products)
    }

    private mutating func products(_ json: JSON?, _ place: String) -> Offering.Products? {
        guard let members = json?.members else {
            return name(json, place, "a product id, or an object with one for each platform").map { .everywhere($0) }
        }
        guard !members.isEmpty else { return refuse(place, .object([]), "a product id for at least one platform") }
        checkNames(members, OfferingCatalogue.applePlatforms, place)
        var products: [String: String] = [:]
        for member in members {
            products[member.name] = name(member.value, "\(place).\(member.name)", "a product id")
        }
        return .byPlatform(products)
    }

    private mutating func name(_ json: JSON?, _ place: String, _ allowed: String) -> String? {
        guard let text = json?.stringValue, !text.isEmpty,
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
        else { return refuse(place, json ?? .null, allowed) }
        return text
    }

    private mutating func checkNames(_ members: [JSON.Member], _ known: [String], _ place: String) {
        for member in members where !known.contains(member.name) {
            refuse("\(place).\(member.name)", .string(member.name), "one of: \(known.joined(separator: ", "))")
        }
    }

    private mutating func refuse<Result>(_ place: String, _ found: JSON, _ allowed: String) -> Result? {
        flaws.append(.init(place: Terminal.harmless(place), found: found, allowed: allowed))
        return nil
    }

    private mutating func refuse(_ place: String, _ found: JSON, _ allowed: String) {
        flaws.append(.init(place: Terminal.harmless(place), found: found, allowed: allowed))
    }
}
