import Subscriptions

/// Offers that are redeemed by a subscriber (OFFER_REDEEMED).
extension Life {
    /// For the product that runs, from the next renewal on: nothing is charged yet.
    mutating func redeemForNextRenewal(_ offer: Offer = .paidCode, at: Int64) -> Telling {
        var promised = latest
        Self.apply(offer, to: &promised)
        renewal.offerType = promised.offerType
        renewal.offerIdentifier = promised.offerIdentifier
        renewal.offerDiscountType = promised.offerDiscountType
        return notify("OFFER_REDEEMED", at: at)
    }

    /// For the product that runs, at once: a new transaction takes the running one's place.
    mutating func redeemAtOnce(_ offer: Offer = .paidCode, at: Int64) -> Telling {
        transactions[transactions.count - 1].isUpgraded = true
        addPeriod(from: at, to: at + period, offer: offer)
        return notify("OFFER_REDEEMED", at: at)
    }

    mutating func redeemUpgrade(
        to product: String, price: Int64, _ offer: Offer = .paidCode, at: Int64
    ) -> Telling {
        transactions[transactions.count - 1].isUpgraded = true
        (self.product, self.price) = (product, price)
        addPeriod(from: at, to: at + period, offer: offer)
        return notify("OFFER_REDEEMED", "UPGRADE", at: at)
    }

    mutating func redeemDowngrade(to product: String, price: Int64, at: Int64) -> Telling {
        self.price = price
        renewal.autoRenewProductID = product
        return notify("OFFER_REDEEMED", "DOWNGRADE", at: at)
    }

    /// As Apple told of a first purchase by an offer until January 2024.
    mutating func redeemToStart(_ offer: Offer = .paidCode, at: Int64) -> Telling {
        addPeriod(from: at, to: at + period, offer: offer)
        return notify("OFFER_REDEEMED", "INITIAL_BUY", at: at)
    }

    /// As Apple told of a lapsed customer's offer until January 2024.
    mutating func redeemToResubscribe(_ offer: Offer = .paidCode, at: Int64) -> Telling {
        renewal.recentSubscriptionStartDate = nil
        addPeriod(from: at, to: at + period, offer: offer)
        return notify("OFFER_REDEEMED", "RESUBSCRIBE", at: at)
    }
}
