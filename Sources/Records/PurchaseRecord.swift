import Base
import Subscriptions

/// What the database says of a purchase, so that it can be found and woken: a function of its facts, its owner's id and
/// the time of looking.
package struct PurchaseRecord: Sendable, Equatable {
    package var key: PurchaseKey
    /// An app user id.
    package var owner: String
    package var productID: String
    /// ms since 1970, grace included; nil: never.
    package var accessEnds: Int64?
    package var graceEnds: Int64?
    package var revoked: Int64?
    package var willRenew: Bool
    /// When time alone will change something; nil for never.
    package var wake: Int64?

    package init(
        key: PurchaseKey, owner: String, productID: String, accessEnds: Int64?, graceEnds: Int64?, revoked: Int64?,
        willRenew: Bool, wake: Int64?
    ) {
        self.key = key
        self.owner = owner
        self.productID = productID
        self.accessEnds = accessEnds
        self.graceEnds = graceEnds
        self.revoked = revoked
        self.willRenew = willRenew
        self.wake = wake
    }

    package init(_ purchase: Purchase, owner: String, wake: Int64?) {
        self.init(
            key: purchase.key, owner: owner, productID: purchase.latest.productID, accessEnds: purchase.accessUntil,
            graceEnds: purchase.graceUntil, revoked: purchase.latest.revocation?.date, willRenew: purchase.willRenew,
            wake: wake)
    }
}

extension Purchase {
    /// The ids that it is found by: transactions, order lines, its own, and the purchase that it continues.
    package var identifiers: Set<String> {
        let ids = periods.map(\.transaction).flatMap { [$0.transactionID, $0.webOrderLineItemID].compactMap { $0 } }
        return Set(
            ids + [key.originalTransactionID] + (continuation.map { [PurchaseStore.continuation(of: $0.of)] } ?? []))
    }
}
