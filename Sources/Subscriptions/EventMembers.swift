import Base

/// The members of one event, without those that close it (`type`, `id`, `app_id`).
struct EventMembers {
    let draft: EventDraft
    let identity: EventIdentity

    private var transaction: TransactionFact { draft.period.transaction }

    func all(catalogue: EntitlementCatalogue, rates: DollarRates) -> [JSON.Member] {
        // In the order that was seen of each.
        let subject = transaction.grant == nil ? ids + share + owner : share + owner + ids
        return period(catalogue) + subject + particulars + money(rates) + terms + discounts
    }

    /// The events about consent have fewer members.
    var consent: [JSON.Member] {
        members([
            "event_timestamp_ms": .int(draft.timestamp), "product_id": .string(transaction.productID),
            "environment": .string(draft.purchase.environment.eventName),
            "transaction_id": .string(transaction.transactionID),
            "original_transaction_id": .string(transaction.originalTransactionID), "country_code": country,
        ]) + owner
            + members([
                "currency": .text(transaction.currency), "subscriber_attributes": identity.attributes,
                "store": .string("APP_STORE"),
            ])
    }

    private func period(_ catalogue: EntitlementCatalogue) -> [JSON.Member] {
        let entitlements = catalogue.entitlements(of: transaction)
        return members([
            "event_timestamp_ms": .int(draft.timestamp), "product_id": .string(transaction.productID),
            "period_type": .string(draft.period.type.rawValue), "purchased_at_ms": .int(transaction.purchaseDate),
            "expiration_at_ms": .integer(draft.expiration),
            "environment": .string(draft.purchase.environment.eventName),
            "entitlement_id": .text(transaction.grant?.entitlement),
            "entitlement_ids": entitlements.isEmpty ? .null : .strings(entitlements),
            "presented_offering_id": .text(draft.period.presentedOffering),
        ])
    }

    private var ids: [JSON.Member] {
        members([
            "transaction_id": .string(transaction.transactionID),
            "original_transaction_id": .string(transaction.originalTransactionID),
        ])
    }

    private var share: [JSON.Member] {
        members([
            "is_family_share": transaction.grant == nil ? .bool(transaction.isFamilyShare) : .null,
            "country_code": country,
        ])
    }

    private var country: JSON { .text(transaction.storefront.flatMap(CountryCodes.alpha2)) }

    private var owner: [JSON.Member] {
        members([
            "app_user_id": .string(identity.appUserID), "aliases": .strings(identity.aliases),
            "original_app_user_id": .string(identity.originalAppUserID),
        ])
    }

    /// What only some types have.
    private var particulars: [JSON.Member] {
        switch draft.type {
        case .productChange: members(["new_product_id": .text(draft.newProductID)])
        case .cancellation: members(["cancel_reason": .text(draft.reason?.rawValue)])
        case .expiration: members(["expiration_reason": .text(draft.reason?.rawValue)])
        case .billingIssue: members(["grace_period_expiration_at_ms": .integer(draft.graceUntil)])
        default: []
        }
    }

    private func money(_ rates: DollarRates) -> [JSON.Member] {
        var output = members(["currency": .text(transaction.currency)])
        // Also where a trial is told after the period that it became.
        if draft.type == .renewal || draft.isTrialConversion {
            output += members(["is_trial_conversion": .bool(draft.isTrialConversion)])
        }
        let (dollars, local) = prices(rates)
        return output
            + members([
                "price": dollars.map(Money.number) ?? .null,
                "price_in_purchased_currency": local.map(Money.number) ?? .null,
            ])
    }

    /// Milliunits of the dollar and of the purchase's currency. Nothing is zero in every currency, and a family member
    /// pays nothing.
    private func prices(_ rates: DollarRates) -> (dollars: Int64?, local: Int64?) {
        guard draft.payment != .none, transaction.price != 0 else { return (0, 0) }
        guard let price = transaction.price else { return transaction.isFamilyShare ? (0, 0) : (nil, nil) }
        let local = draft.payment == .returned ? price.negatedClamping : price
        return (transaction.currency.flatMap { rates.milliunits(local, of: $0) }, local)
    }

    private var terms: [JSON.Member] {
        let isGrant = transaction.grant != nil
        // As it was seen: zero where a grant is taken back, null elsewhere.
        let share: JSON = isGrant && draft.type == .cancellation ? .int(0) : .null
        return members([
            "subscriber_attributes": identity.attributes, "store": .string(isGrant ? "PROMOTIONAL" : "APP_STORE"),
            "takehome_percentage": isGrant ? .int(1) : .null, "offer_code": .text(transaction.offerIdentifier),
            "tax_percentage": share, "commission_percentage": share, "metadata": .null,
            "renewal_number": isGrant ? .null : .int(Int64(draft.period.number)),
        ])
    }

    private var discounts: [JSON.Member] {
        switch draft.type {
        case .nonRenewingPurchase where transaction.grant == nil:
            noDiscount + members(["quantity": .int(Int64(transaction.quantity))])
        case .initialPurchase, .renewal, .nonRenewingPurchase: noDiscount
        default: []
        }
    }

    private var noDiscount: [JSON.Member] {
        members(["discount_percentage": .null, "discount_amount": .null, "discount_identifier": .null])
    }

    private func members(_ pairs: KeyValuePairs<String, JSON>) -> [JSON.Member] {
        pairs.map { JSON.Member(name: $0, value: $1) }
    }
}

extension Int64 {
    fileprivate var negatedClamping: Int64 { self == .min ? .max : -self }
}
