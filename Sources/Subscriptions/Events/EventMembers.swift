import Base

/// The members of one event, without those that close it (`type`, `id`, `app_id`).
struct EventMembers {
    let draft: EventDraft
    let identity: EventIdentity

    private var transaction: TransactionFact { draft.period.transaction }

    func all(of body: EventBody) -> [JSON.Member] {
        // In the order that was seen of each.
        let subject = transaction.grant == nil ? ids + share + owner : share + owner + ids
        return period(body.catalogue) + subject + particulars + money(body.rates) + terms(body.terms) + discounts
    }

    /// The events about consent have fewer members.
    var consent: [JSON.Member] {
        members([
            "event_timestamp_ms": .int(draft.timestamp), "product_id": .string(transaction.productID),
            "period_type": .string(draft.period.type.rawValue), "purchased_at_ms": .int(transaction.purchaseDate),
            "expiration_at_ms": .integer(draft.expiration),
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

    /// Milliunits of the dollar and of the purchase's currency: nothing is zero in every currency, and without a signed
    /// price it is nil.
    private func prices(_ rates: DollarRates) -> (dollars: Int64?, local: Int64?) {
        let (charge, sign): (Charge?, Int64) =
            switch draft.payment {
            case .none: (nil, 1)
            case .received(let charge): (charge, 1)
            case .returned(let charge): (charge, -1)
            }
        guard let charge else { return (0, 0) }
        guard let currency = charge.currency else { return (nil, nil) }
        // Never negative, so that turning it round cannot overflow.
        let local = sign * charge.milliunits
        return (rates.milliunits(local, of: currency), local)
    }

    private func terms(_ seller: SellerTerms) -> [JSON.Member] {
        let isGrant = transaction.grant != nil
        let (commission, tax) = isGrant ? grantShares : storeShares(seller)
        return members([
            "subscriber_attributes": identity.attributes, "store": .string(isGrant ? "PROMOTIONAL" : "APP_STORE"),
            "takehome_percentage": isGrant ? .int(1) : takehome(seller),
            "offer_code": .text(transaction.offerIdentifier),
            "tax_percentage": tax, "commission_percentage": commission, "metadata": .null,
            "renewal_number": isGrant ? .null : .int(Int64(draft.period.number)),
        ])
    }

    /// As it was seen: zero where a grant is taken back, null elsewhere.
    private var grantShares: (commission: JSON, tax: JSON) {
        draft.type == .cancellation ? (.int(0), .int(0)) : (.null, .null)
    }

    private func storeShares(_ seller: SellerTerms) -> (commission: JSON, tax: JSON) {
        let shares = seller.shares(of: draft.period, in: draft.purchase.app)
        return (shares.commission.number, shares.tax.number)
    }

    /// What the commission leaves, before taxes.
    private func takehome(_ seller: SellerTerms) -> JSON {
        seller.shares(of: draft.period, in: draft.purchase.app).commission.rest.number
    }

    private var discounts: [JSON.Member] {
        switch draft.type {
        case .nonRenewingPurchase where transaction.grant == nil:
            // Consumers' strict schemas know it only where several were bought at once.
            noDiscount + (transaction.quantity == 1 ? [] : members(["quantity": .int(Int64(transaction.quantity))]))
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
