/// Whether a subscription gave access at an instant, grace included, by what is known of it now.
package struct SubscriptionActivity {
    private let stretches: [AccessHistory.Stretch]

    /// - Parameter foldSettings: what the configuration adds to facts.
    package init(of facts: PurchaseFacts, key: PurchaseKey, foldSettings: FoldSettings) {
        let purchase = Purchase(folding: facts, key: key, foldSettings: foldSettings)
        stretches = purchase.map { AccessHistory(of: $0, facts, foldSettings: foldSettings).stretches } ?? []
    }

    /// - Parameters:
    ///   - instant: ms.
    ///   - transaction: the id of one that does not count; nil: all do.
    package func isActive(at instant: Int64, leavingOut transaction: String?) -> Bool {
        stretches.contains { stretch in
            stretch.state != .billingRetry && stretch.period.id != transaction && stretch.begins <= instant
                && stretch.ends.map { instant < $0 } ?? true
        }
    }
}
