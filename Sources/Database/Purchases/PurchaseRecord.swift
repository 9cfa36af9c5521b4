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
    /// What its facts say of owners, which its owner follows from; nil: neither changes.
    package var claims: PurchaseClaims?
    /// When its first event is told at the latest, in ms since 1970; nil: it was told.
    package var tell: Int64?
    /// The id under which events named the owner, where that is another one of the same customer.
    package var told: String?

    package init(
        key: PurchaseKey, owner: String, productID: String, accessEnds: Int64?, graceEnds: Int64?, revoked: Int64?,
        willRenew: Bool, wake: Int64?, claims: PurchaseClaims? = nil, tell: Int64? = nil, told: String? = nil
    ) {
        self.key = key
        self.owner = owner
        self.productID = productID
        self.accessEnds = accessEnds
        self.graceEnds = graceEnds
        self.revoked = revoked
        self.willRenew = willRenew
        self.wake = wake
        self.claims = claims
        self.tell = tell
        self.told = told
    }

    package init(
        _ purchase: Purchase, owner: String, wake: Int64?, claims: PurchaseClaims? = nil, tell: Int64? = nil,
        told: String? = nil
    ) {
        self.init(
            key: purchase.key, owner: owner, productID: purchase.latest.productID, accessEnds: purchase.accessUntil,
            graceEnds: purchase.graceUntil, revoked: purchase.latest.revocation?.date, willRenew: purchase.willRenew,
            wake: wake, claims: claims, tell: tell, told: told)
    }
}

extension Purchase {
    /// The ids that it is found by beside its own: transactions, order lines, and the purchase that it continues.
    package var identifiers: Set<String> { identifiers(of: periods[...]) }

    /// Those that another state of it did not have.
    package func identifiers(since former: Purchase?) -> Set<String> {
        guard let former else { return identifiers }
        // Nearly always they differ in the last period, if at all.
        let same = zip(periods, former.periods).prefix {
            $0.transaction.transactionID == $1.transaction.transactionID
                && $0.transaction.webOrderLineItemID == $1.transaction.webOrderLineItemID
        }.count
        return identifiers(of: periods[same...])
            .subtracting(same == former.periods.count ? former.identifiers(of: []) : former.identifiers)
    }

    private func identifiers(of periods: ArraySlice<Period>) -> Set<String> {
        let ids = periods.flatMap {
            [$0.transaction.transactionID, $0.transaction.webOrderLineItemID].compactMap { $0 }
        }
        return Set(ids + (continuation.map { [PurchaseTable.continuation(of: $0.of)] } ?? [])).subtracting([
            key.originalTransactionID
        ])
    }
}
