/// Which purchases a history holds
/// (https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history). Lists: any of these; empty: all.
package struct TransactionFilter: Sendable, Equatable {
    package enum ProductType: String, Sendable, CaseIterable {
        case autoRenewable = "AUTO_RENEWABLE"
        case nonRenewable = "NON_RENEWABLE"
        case consumable = "CONSUMABLE"
        case nonConsumable = "NON_CONSUMABLE"
    }

    /// By the time of the last change.
    package enum Sort: String, Sendable, CaseIterable {
        case ascending = "ASCENDING"
        case descending = "DESCENDING"
    }

    /// Bought at or after it, and before it; ms since 1970.
    package var start: Int64?
    package var end: Int64?
    package var productIDs: [String] = []
    package var productTypes: [ProductType] = []
    package var subscriptionGroups: [String] = []
    /// PURCHASED or FAMILY_SHARED.
    package var ownership: String?
    package var sort: Sort?
    package var isRevoked: Bool?

    package init() {}

    /// In one order always: a revision belongs to the same query.
    var query: [(name: String, value: String)] {
        var query: [(name: String, value: String)] = []
        func add(_ name: String, _ values: [String]) { query += values.map { (name, $0) } }
        add("startDate", start.map { ["\($0)"] } ?? [])
        add("endDate", end.map { ["\($0)"] } ?? [])
        add("productId", productIDs)
        add("productType", productTypes.map(\.rawValue))
        add("subscriptionGroupIdentifier", subscriptionGroups)
        add("inAppOwnershipType", ownership.map { [$0] } ?? [])
        add("sort", sort.map { [$0.rawValue] } ?? [])
        add("revoked", isRevoked.map { ["\($0)"] } ?? [])
        return query
    }
}
