extension SubscriberLife {
    /// The customer, or the store after a refund request, switches renewing off.
    @discardableResult
    package mutating func autoRenewOff(at: Int64) -> StoreNotification {
        running.isOn = false
        return notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", at: at)
    }

    @discardableResult
    package mutating func autoRenewOn(at: Int64) -> StoreNotification {
        running.isOn = true
        return notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", at: at)
    }

    /// Another product from the next renewal on.
    @discardableResult
    package mutating func downgrade(to product: StoreProduct, at: Int64) -> StoreNotification {
        choose(product)
        return notify("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", at: at)
    }

    /// Takes a downgrade back; `product` is what runs now.
    @discardableResult
    package mutating func keepPlan(_ product: StoreProduct, at: Int64) -> StoreNotification {
        choose(product)
        return notify("DID_CHANGE_RENEWAL_PREF", at: at)
    }

    /// An offer for the next period of the same product (OFFER_REDEEMED).
    @discardableResult
    package mutating func redeem(_ offer: StoreOffer, at: Int64) -> StoreNotification {
        running.offer = offer
        running.price = offer.price
        return notify("OFFER_REDEEMED", at: at)
    }

    /// An offer for another product from the next renewal on (OFFER_REDEEMED, DOWNGRADE).
    @discardableResult
    package mutating func redeemDowngrade(
        to product: StoreProduct, offer: StoreOffer = .code, at: Int64
    ) -> StoreNotification {
        choose(product)
        running.offer = offer
        running.price = offer.price
        return notify("OFFER_REDEEMED", "DOWNGRADE", at: at)
    }

    private mutating func choose(_ product: StoreProduct) {
        self.product = product
        running.nextProductID = product.id
        running.price = product.price
    }
}
