import Subscriptions

/// What Apple asks about one transaction before it decides on a refund: the newest request, with what was decided.
package struct RefundRequestSummary: Sendable, Equatable {
    package struct Key: Sendable, Hashable {
        package let purchase: PurchaseKey
        package let transactionID: String

        package init(purchase: PurchaseKey, transactionID: String) {
            self.purchase = purchase
            self.transactionID = transactionID
        }
    }

    package let key: Key
    package let productID: String
    package let request: ConsumptionRequest
    /// The word of what Apple decided on it.
    package let decision: String?
}

extension RefundRequestSummary {
    /// One for each transaction of the purchase that was ever asked about.
    package static func questions(_ facts: PurchaseFacts, of purchase: PurchaseKey) -> [RefundRequestSummary] {
        let history = PurchaseHistory(of: facts)
        let products = Dictionary(facts.transactions.map { ($0.transactionID, $0.productID) }) { first, _ in first }
        let newest = Dictionary(history.consumptionRequests.map { ($0.transactionID, $0) }) { _, later in later }
        return newest.values.sorted { $0.transactionID < $1.transactionID }.map { request in
            let decision = history.refundDecisions.first {
                $0.transactionID == request.transactionID && $0.signed == request.closed
            }
            return RefundRequestSummary(
                key: Key(purchase: purchase, transactionID: request.transactionID),
                productID: products[request.transactionID] ?? "", request: request, decision: decision?.kind.rawValue)
        }
    }
}
