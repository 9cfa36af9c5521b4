/// The word of an app or a backend that a customer has a purchase (`POST /v1/receipts`, `entitled purchases claim`).
package struct PurchasePost: Sendable, Hashable {
    /// Why it was posted (RevenueCat: `initiation_source`).
    package enum Source: String, Sendable, CaseIterable {
        /// The customer bought it at that moment, or the app does not say.
        case purchase
        /// The customer restores what the Apple account bought.
        case restore
        /// StoreKit's queue brought it: a renewal, Ask to Buy, a purchase outside the app.
        case queue
    }

    package var appUserID: String
    package var source: Source
    /// Nil where the purchase as a whole was named.
    package var transactionID: String?
    /// The purchase date of the transaction, in ms.
    package var purchased: Int64?
    /// Whether Apple charged for the transaction by itself.
    package var isRenewal: Bool
    /// Whether it covers this purchase alone: a StoreKit 1 receipt covers what it lists, a StoreKit 2 transaction stands for
    /// its Apple account.
    package var isAlone: Bool
    /// What the configuration said when it was posted: a later configuration changes nothing of the past.
    package var behavior: RestoreBehavior
    /// When it was posted, in ms by the clock of the database.
    package var at: Int64
    /// Whether the id named a customer; set where a deletion put a pseudonym in its place.
    package var wasNamed: Bool?

    package init(
        by appUserID: String, _ source: Source, transactionID: String? = nil, purchased: Int64? = nil,
        isRenewal: Bool = false, isAlone: Bool = false, behavior: RestoreBehavior, at: Int64, wasNamed: Bool? = nil
    ) {
        self.appUserID = appUserID
        self.source = source
        self.transactionID = transactionID
        self.purchased = purchased
        self.isRenewal = isRenewal
        self.isAlone = isAlone
        self.behavior = behavior
        self.at = at
        self.wasNamed = wasNamed
    }

    /// When it counts, in ms: nothing is anyone's before it was bought, whatever two clocks say.
    package var counts: Int64 { purchased.map { Swift.max($0, at) } ?? at }
}
