/// What an app said of a transaction when it posted it. It is unsigned, so it stands in only for what Apple left out, and
/// for what Apple does not know.
package struct TransactionContext: Sendable, Hashable {
    package var transactionID: String
    /// Milliunits of `currency`, more than nothing: that something cost nothing is Apple's to say.
    package var price: Int64?
    /// ISO 4217.
    package var currency: String?
    /// The offering in which the customer saw the product (`presented_offering_identifier`).
    package var offering: String?
    /// Where the app showed it (`presented_placement_identifier`).
    package var placement: String?
    /// The revision and the id of the targeting rule that chose the offering.
    package var targetingRevision: Int64?
    package var targetingRule: String?
    /// When it was written down, in ms. What was said first counts.
    package var at: Int64
    /// The bytes that are kept.
    package var tie: [UInt8]

    package init(
        transactionID: String, price: Int64? = nil, currency: String? = nil, offering: String? = nil,
        placement: String? = nil, targetingRevision: Int64? = nil, targetingRule: String? = nil, at: Int64,
        tie: [UInt8] = []
    ) {
        self.transactionID = transactionID
        self.price = price
        self.currency = currency
        self.offering = offering
        self.placement = placement
        self.targetingRevision = targetingRevision
        self.targetingRule = targetingRule
        self.at = at
        self.tie = tie
    }
}

extension TransactionContext {
    /// Whether it says nothing.
    package var isEmpty: Bool { price == nil && offering == nil && placement == nil && targetingRule == nil }
}

extension PurchaseFacts {
    /// Whether it says something of its transaction that was not said before. Only what was said first counts, so all else
    /// may be dropped.
    package func isNews(_ context: TransactionContext) -> Bool {
        let before = contexts.filter { $0.transactionID == context.transactionID }
        func isNew<Value>(_ member: KeyPath<TransactionContext, Value?>) -> Bool {
            context[keyPath: member] != nil && before.allSatisfy { $0[keyPath: member] == nil }
        }
        return isNew(\.price) || isNew(\.offering) || isNew(\.placement) || isNew(\.targetingRule)
    }

    /// The given transactions, with the app's price where Apple signed none. A family member pays nothing, whatever the app
    /// says.
    func priced(_ transactions: [TransactionFact]) -> [TransactionFact] {
        let prices = contexts.inOrderOfSaying().filter { ($0.price ?? 0) > 0 && $0.currency != nil }
        guard !prices.isEmpty else { return transactions }
        let first = Dictionary(prices.map { ($0.transactionID, $0) }) { first, _ in first }
        return transactions.map { fact in
            guard fact.price == nil, !fact.isFamilyShare, let said = first[fact.transactionID] else { return fact }
            var priced = fact
            (priced.price, priced.currency) = (said.price, said.currency)
            priced.isPriceSigned = false
            return priced
        }
    }

    /// The offering of each transaction of which the app told one.
    var offerings: [String: String] {
        let said = contexts.inOrderOfSaying().compactMap { context in
            context.offering.map { (context.transactionID, $0) }
        }
        return Dictionary(said) { first, _ in first }
    }
}

extension Set<TransactionContext> {
    fileprivate func inOrderOfSaying() -> [TransactionContext] {
        sorted { left, right in
            left.at == right.at ? left.tie.lexicographicallyPrecedes(right.tie) : left.at < right.at
        }
    }
}
