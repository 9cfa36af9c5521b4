extension SubscriberLife {
    /// The price of the next period rises if the customer agrees (PRICE_INCREASE, PENDING). In milliunits.
    @discardableResult
    package mutating func askPriceConsent(_ price: Int64, at: Int64) -> StoreNotification {
        running.priceIncreaseStatus = 0
        running.price = price
        return notify("PRICE_INCREASE", "PENDING", at: at)
    }

    /// The customer agreed, or was informed where that suffices.
    @discardableResult
    package mutating func acceptPrice(_ price: Int64, at: Int64) -> StoreNotification {
        product.price = price
        running.priceIncreaseStatus = 1
        running.price = price
        return notify("PRICE_INCREASE", "ACCEPTED", at: at)
    }

    /// The seller gives some days more (RENEWAL_EXTENDED).
    @discardableResult
    package mutating func extend(days: Int64, at: Int64) -> StoreNotification {
        let ends = expires &+ days &* StoreProduct.day
        change(.latest) { $0.expires = ends }
        running.renews = ends
        return notify("RENEWAL_EXTENDED", at: at)
    }

    /// An extension for all subscribers did not work for this one (RENEWAL_EXTENSION, FAILURE).
    @discardableResult
    package mutating func failExtension(at: Int64) -> StoreNotification {
        notify("RENEWAL_EXTENSION", "FAILURE", at: at)
    }

    /// What the Advanced Commerce API changed: METADATA_UPDATE, MIGRATION or PRICE_CHANGE.
    @discardableResult
    package mutating func changeCommerce(_ type: String, at: Int64) -> StoreNotification {
        change(.latest) { $0.hasCommerceInfo = true }
        return notify(type, at: at)
    }
}
