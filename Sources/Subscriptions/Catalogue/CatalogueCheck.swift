/// What does not fit together: entitlements, offerings, and the products that were bought.
package struct CatalogueCheck: Sendable {
    /// One thing that was found.
    package struct Finding: Sendable, Equatable {
        package enum Severity: String, Sendable {
            /// A paying customer gets nothing, or would.
            case error
            case warning
        }

        package let severity: Severity
        /// What kind of thing it is; stable, for machines.
        package let code: String
        /// The product, offering, package or entitlement that it is about.
        package let subject: String
        package let message: String
    }

    /// A product that purchases had.
    package struct Bought: Sendable, Hashable {
        package let productID: String
        /// Apple's `type`.
        package let kind: String

        package init(productID: String, kind: String) {
            self.productID = productID
            self.kind = kind
        }
    }

    private let entitlements: EntitlementCatalogue
    private let offerings: OfferingCatalogue
    private let durations: Set<String>

    /// - Parameter durations: the products that run for a time by the configuration.
    package init(entitlements: EntitlementCatalogue, offerings: OfferingCatalogue, durations: Set<String> = []) {
        self.entitlements = entitlements
        self.offerings = offerings
        self.durations = durations
    }

    /// Errors first, each kind in the order of its subjects.
    package func findings(_ bought: [Bought]) -> [Finding] {
        let all = products(bought) + endless(bought) + packages(bought) + designs() + unoffered() + current()
        return all.filter { $0.severity == .error } + all.filter { $0.severity == .warning }
    }

    private func isEntitled(_ product: String) -> Bool { !entitlements.entitlements(of: product).isEmpty }

    /// What was bought and gives nothing. Consumables may well be in no entitlement.
    private func products(_ bought: [Bought]) -> [Finding] {
        let kinds = Dictionary(grouping: bought, by: \.productID).mapValues { Set($0.map(\.kind)) }
        return kinds.sorted { $0.key < $1.key }.filter { !isEntitled($0.key) }.map { product, kinds in
            kinds == ["Consumable"]
                ? Finding(
                    severity: .warning, code: "consumable_without_entitlement", subject: product,
                    message: "\(product) was bought and is in no entitlement; fine, if your backend counts it")
                : Finding(
                    severity: .error, code: "product_without_entitlement", subject: product,
                    message: "\(product) was bought and is in no entitlement: add it to one in entitlements")
        }
    }

    /// Products that were sold for a time and give access without end.
    private func endless(_ bought: [Bought]) -> [Finding] {
        let sold = Set(bought.filter { $0.kind == "Non-Renewing Subscription" }.map(\.productID))
        return sold.sorted().filter { isEntitled($0) && !durations.contains($0) }.map { product in
            Finding(
                severity: .warning, code: "endless_subscription", subject: product,
                message:
                    "\(product) does not renew and gives access forever: give it a duration in products, if it has one"
            )
        }
    }

    private func packages(_ bought: [Bought]) -> [Finding] {
        let seen = Set(bought.map(\.productID))
        let consumables = Set(bought.filter { $0.kind == "Consumable" }.map(\.productID))
        let offered = offerings.offerings.flatMap { offering in
            offering.packages.flatMap { package in
                package.products.all.map { (product: $0, place: "\(offering.identifier), \(package.identifier)") }
            }
        }
        let places = Dictionary(grouping: offered, by: \.product).mapValues { Set($0.map(\.place)).sorted() }
        var findings: [Finding] = []
        for (product, places) in places.sorted(by: { $0.key < $1.key }) {
            let place = places.joined(separator: "; ")
            // Of a consumable it was said already.
            if !isEntitled(product), !consumables.contains(product) {
                findings.append(
                    Finding(
                        severity: .error, code: "offered_without_entitlement", subject: product,
                        message: "\(product) is offered (\(place)) and in no entitlement: who buys it gets nothing"))
            }
            if !seen.contains(product) {
                findings.append(
                    Finding(
                        severity: .warning, code: "offered_never_bought", subject: product,
                        message:
                            "\(product) is offered (\(place)) and was never bought: is it spelled as in App Store"
                            + " Connect?"))
            }
        }
        let names = Set(offerings.offerings.flatMap { $0.packages.map(\.identifier) })
        for name in names.sorted() where name.hasPrefix("$rc_") && !OfferingCatalogue.standardPackages.contains(name) {
            let known = OfferingCatalogue.standardPackages.joined(separator: ", ")
            findings.append(
                Finding(
                    severity: .error, code: "unknown_package", subject: name,
                    message:
                        "\(name) is not a package of RevenueCat; use one of \(known), or a name without $rc_")
            )
        }
        return findings
    }

    /// Designs that show a package which their offering lacks: apps leave it out.
    private func designs() -> [Finding] {
        offerings.offerings.flatMap { offering in
            let offered = Set(offering.packages.map(\.identifier))
            return offering.designedPackages.filter { !offered.contains($0) }.map { package in
                Finding(
                    severity: .warning, code: "paywall_package_not_offered", subject: package,
                    message:
                        "the paywall of the offering \(offering.identifier) shows \(package), which the offering lacks")
            }
        }
    }

    /// Entitlements that no offering leads to. Without any offering there is nothing to compare.
    private func unoffered() -> [Finding] {
        guard !offerings.offerings.isEmpty else { return [] }
        let offered = Set(offerings.offerings.flatMap { $0.packages.flatMap(\.products.all) })
        return entitlements.products.sorted { $0.key < $1.key }.filter { offered.isDisjoint(with: $0.value) }.map {
            Finding(
                severity: .warning, code: "entitlement_not_offered", subject: $0.key,
                message: "no product of the entitlement \($0.key) is in an offering")
        }
    }

    private func current() -> [Finding] {
        guard let current = offerings.current, !offerings.has(current) else { return [] }
        return [
            Finding(
                severity: .error, code: "unknown_current_offering", subject: current,
                message: "current_offering is \(current), and there is no such offering")
        ]
    }
}
