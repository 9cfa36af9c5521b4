/// What a request for a transaction history asks for
/// (https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history).
struct TransactionHistoryFilter {
    private static let kinds = [
        "AUTO_RENEWABLE": StoreProduct.Kind.subscription, "NON_RENEWABLE": .nonRenewing, "CONSUMABLE": .consumable,
        "NON_CONSUMABLE": .nonConsumable,
    ]

    private let start: Int64
    private let end: Int64
    private let products: [String]
    private let kinds: [String]
    private let groups: [String]
    private let ownership: String?
    private let isRevoked: Bool?
    let isDescending: Bool

    init(_ request: StoreRequest) throws(StoreRejection) {
        func date(_ name: String, _ fallback: Int64, _ code: Int64) throws(StoreRejection) -> Int64 {
            guard let text = request.value(name) else { return fallback }
            guard let date = Int64(text) else { throw StoreRejection(code) }
            return date
        }
        start = try date("startDate", .min, 4_000_015)
        end = try date("endDate", .max, 4_000_016)
        guard start < end else { throw StoreRejection(4_000_013) }
        products = request.values("productId")
        groups = request.values("subscriptionGroupIdentifier")
        ownership = request.value("inAppOwnershipType")
        guard ["PURCHASED", "FAMILY_SHARED", nil].contains(ownership) else { throw StoreRejection(4_000_026) }
        let sort = request.value("sort") ?? "ASCENDING"
        guard ["ASCENDING", "DESCENDING"].contains(sort) else { throw StoreRejection(4_000_021) }
        isDescending = sort == "DESCENDING"
        var kinds: [String] = []
        for name in request.values("productType") {
            guard let kind = TransactionHistoryFilter.kinds[name] else { throw StoreRejection(4_000_022) }
            kinds.append(kind.rawValue)
        }
        self.kinds = kinds
        // Apple's Python library writes a capital.
        switch request.value("revoked")?.lowercased() {
        case nil: isRevoked = nil
        case "true": isRevoked = true
        case "false": isRevoked = false
        default: throw StoreRejection(4_000_030)
        }
    }

    func fits(_ transaction: LedgerTransaction) -> Bool {
        func isAmong(_ list: [String], _ name: String) -> Bool {
            list.isEmpty || transaction.text(name).map(list.contains) == true
        }
        return (start..<end).contains(transaction.purchased) && isAmong(products, "productId") && isAmong(kinds, "type")
            && isAmong(groups, "subscriptionGroupIdentifier")
            && (ownership == nil || transaction.text("inAppOwnershipType") == ownership)
            && (isRevoked == nil || (transaction.integer("revocationDate") != nil) == isRevoked)
    }
}
