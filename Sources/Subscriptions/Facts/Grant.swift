import Base

/// Access that the seller gave a customer without the store: "promotional" in the event format. One version of it, as the
/// log keeps it; a revocation is a later version. It is unsigned, and no notification can carry it.
package struct Grant: Sendable, Hashable {
    /// Stands where a purchase has the id of its app; ids of configured apps have no `$`.
    package static let app = "$promotional"

    /// 32 lower-case hex digits: the transaction id, and the original one.
    package var id: String
    package var entitlement: String
    /// `rc_promo_<entitlement>_<duration>`.
    package var product: String
    /// When it was given, in ms since 1970.
    package var start: Int64
    /// Nil: without an end.
    package var end: Int64?
    /// When it was taken back, in ms.
    package var revoked: Int64?
    /// When this version was made, in ms.
    package var at: Int64
    /// The number in the log of the action that made this version.
    package var action: Int64

    package init(
        id: String, entitlement: String, product: String, start: Int64, end: Int64?, revoked: Int64? = nil, at: Int64,
        action: Int64
    ) {
        self.id = id
        self.entitlement = entitlement
        self.product = product
        self.start = start
        self.end = end
        self.revoked = revoked
        self.at = at
        self.action = action
    }
}

extension Grant {
    package static func key(_ id: String) -> PurchaseKey {
        PurchaseKey(app: app, environment: .production, originalTransactionID: id)
    }

    package var key: PurchaseKey { Grant.key(id) }

    /// Its newest version, if the purchase is one.
    package init?(_ purchase: Purchase) {
        let transaction = purchase.latest.transaction
        guard purchase.key.isGrant, let mark = transaction.grant else { return nil }
        self.init(
            id: transaction.transactionID, entitlement: mark.entitlement, product: transaction.productID,
            start: transaction.purchaseDate, end: transaction.expiresDate, revoked: transaction.revocationDate,
            at: transaction.signedDate, action: mark.action)
    }

    package func isRunning(at now: Int64) -> Bool {
        revoked == nil && end.map { now < $0 } ?? true
    }

    /// The version that takes it back: later than this one, whatever the clock says.
    package func revoked(at now: Int64, action: Int64) -> Grant {
        var grant = self
        (grant.revoked, grant.at, grant.action) = (now, max(now, at.later(by: 1)), action)
        return grant
    }
}

extension PurchaseKey {
    package var isGrant: Bool { app == Grant.app }
}

extension TransactionFact {
    /// What tells a grant from what Apple signed, whose facts never have it.
    package struct GrantMark: Sendable, Hashable {
        package var entitlement: String
        /// The number of the action that made this version.
        package var action: Int64

        package init(entitlement: String, action: Int64) {
            self.entitlement = entitlement
            self.action = action
        }
    }

    /// A grant costs nothing, in dollars.
    package init(_ grant: Grant, tie: [UInt8]) {
        self.init(
            transactionID: grant.id, originalTransactionID: grant.id, productID: grant.product,
            purchaseDate: grant.start, originalPurchaseDate: grant.start, expiresDate: grant.end,
            signedDate: grant.at, kind: "Promotional", price: 0, currency: "USD", revocationDate: grant.revoked,
            tie: tie)
        self.grant = GrantMark(entitlement: grant.entitlement, action: grant.action)
    }
}
