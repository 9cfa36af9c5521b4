import Base

/// Which products give which entitlements.
package struct EntitlementCatalogue: Sendable, Equatable {
    /// Product ids by entitlement.
    package let products: [String: Set<String>]
    private let entitlements: [String: [String]]

    package init(_ products: [String: [String]] = [:]) {
        self.products = products.mapValues(Set.init)
        var entitlements: [String: Set<String>] = [:]
        for (entitlement, ids) in products {
            for id in ids { entitlements[id, default: []].insert(entitlement) }
        }
        self.entitlements = entitlements.mapValues { $0.sorted() }
    }

    /// A text that two catalogues share only if they are the same.
    package var stamp: String {
        products.map { JSON.strings([$0.key] + $0.value.sorted()).text }.sorted().joined(separator: "\n")
    }

    /// In the order of their names.
    package func entitlements(of productID: String) -> [String] {
        entitlements[productID] ?? []
    }

    /// What a transaction gives: a grant its own entitlement, whether it is configured or not.
    package func entitlements(of transaction: TransactionFact) -> [String] {
        transaction.grant.map { [$0.entitlement] } ?? entitlements(of: transaction.productID)
    }
}
