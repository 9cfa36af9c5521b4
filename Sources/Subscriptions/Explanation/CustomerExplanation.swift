import Base

/// All that is to be said of a customer's state.
package struct CustomerExplanation: Sendable {
    package let profile: CustomerProfile
    /// Those of the catalogue, in the order of their names.
    package let entitlements: [EntitlementExplanation]
    package let purchases: [PurchaseExplanation]
    package let oneTimePurchases: [OneTimePurchase]

    /// - Parameter purchases: the customer's.
    package init(
        _ profile: CustomerProfile, _ purchases: [Purchase], catalogue: EntitlementCatalogue,
        sandboxRule: SandboxRule = .all, now: Int64
    ) {
        self.profile = profile
        let ordered = purchases.inOrderOfPurchase()
        let successors = ordered.successors
        let holdings = ordered.map(PurchaseSnapshot.init).holdings
        let granting = holdings.filter { sandboxRule.grants($0.key.environment, to: profile.appUserIDs) }
        let held = Holding.byEntitlement(granting, catalogue, at: now)
        let uncounted = Holding.byEntitlement(holdings, catalogue, at: now)
        let byKey = Dictionary(purchases.map { ($0.key, $0) }) { first, _ in first }
        entitlements = catalogue.products.keys.sorted().map { name in
            if let holding = held[name],
                let held = HeldPeriod(holding, byKey[holding.key], successor: successors[holding.key])
            {
                return EntitlementExplanation(
                    name, by: held, passedOver: holding.passedOver(among: granting, at: now), now: now)
            }
            guard let holding = uncounted[name] else { return EntitlementExplanation(name, never: .neverBought) }
            return EntitlementExplanation(
                name, never: .sandboxDoesNotCount, product: holding.productID, purchase: holding.key)
        }
        self.purchases = ordered.filter { !$0.latest.isOneTime }.map {
            PurchaseExplanation($0, successor: successors[$0.key], now: now)
        }
        oneTimePurchases = ordered.flatMap(OneTimePurchase.all).sorted {
            ($0.bought, $0.transactionID) < ($1.bought, $1.transactionID)
        }
    }

    /// `{NAME: {"active", "because", …}}`.
    package var entitlementsJSON: JSON {
        .object(entitlements.map { JSON.Member(name: $0.name, value: $0.json) })
    }
}
