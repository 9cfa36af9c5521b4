import Database

/// In which order one run asks about the accounts that are due. Pure.
enum LookOrder {
    /// Of eight turns while there are accounts of each kind: what one kind does not use is the others'. Restores come first,
    /// and no flood of them, or of accounts that are asked about in vain, keeps another kind waiting.
    private static let weights: [AccountLookTable.Turn: Int] = [.restore: 5, .again: 2, .first: 1]

    /// - Parameter due: of each kind, in its order.
    static func mixed<Item>(_ due: [AccountLookTable.Turn: [Item]], atMost limit: Int) -> [Item] {
        let kinds = AccountLookTable.Turn.allCases
        var taken: [AccountLookTable.Turn: Int] = [:]
        var order: [Item] = []
        while order.count < limit {
            // The kind that has had the least of its share.
            let open = kinds.filter { (taken[$0] ?? 0) < (due[$0]?.count ?? 0) }
            guard
                let kind = open.min(by: {
                    (taken[$0] ?? 0) * (weights[$1] ?? 1) < (taken[$1] ?? 0) * (weights[$0] ?? 1)
                }), let item = due[kind]?[taken[kind] ?? 0]
            else { break }
            order.append(item)
            taken[kind, default: 0] += 1
        }
        return order
    }
}
