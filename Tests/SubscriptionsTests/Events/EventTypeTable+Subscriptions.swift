import Subscriptions

/// Subscriptions that begin, go on and change.
extension EventTypeTable {
    static let startRows: [Row] = [
        certain(
            1, "SUBSCRIBED", "INITIAL_BUY", "a free trial",
            [event(.initialPurchase, nil, ["period_type": "TRIAL", "price": "0", "renewal_number": "1"])]),
        certain(
            2, "SUBSCRIBED", "INITIAL_BUY", "an introductory price",
            [event(.initialPurchase, nil, ["period_type": "INTRO", "price": "T.price", "renewal_number": "1"])]),
        certain(
            3, "SUBSCRIBED", "INITIAL_BUY", "no offer",
            [event(.initialPurchase, nil, ["period_type": "NORMAL", "price": "T.price", "offer_code": "null"])]),
        inferred(
            4, "SUBSCRIBED", "INITIAL_BUY", "a free offer code",
            [
                event(
                    .initialPurchase, nil,
                    ["period_type": "TRIAL", "price": "0", "offer_code": "T.offerIdentifier"])
            ],
            "The event is certain, the period's type is not: what costs nothing is a trial, whatever offer made it so."),
        inferred(
            4, "SUBSCRIBED", "INITIAL_BUY", "a paid offer code",
            [
                event(
                    .initialPurchase, nil,
                    ["period_type": "INTRO", "price": "T.price", "offer_code": "T.offerIdentifier"])
            ],
            "The event is certain; a code is given to new customers as an introductory price is."),
        inferred(
            4, "SUBSCRIBED", "INITIAL_BUY", "a promotional offer",
            [event(.initialPurchase, nil, ["period_type": "NORMAL", "offer_code": "T.offerIdentifier"])],
            "The event is certain; the offer is the seller's to an existing customer, and so a price like another."),
        inferred(
            4, "SUBSCRIBED", "INITIAL_BUY", "a win-back offer",
            [event(.initialPurchase, nil, ["period_type": "NORMAL", "offer_code": "T.offerIdentifier"])],
            "As with a promotional offer."),
        inferred(
            5, "SUBSCRIBED", "INITIAL_BUY", "shared by the family",
            [event(.initialPurchase, nil, ["is_family_share": "true", "price": "0", "renewal_number": "1"])],
            "The member's access begins like any other; the member paid nothing, so that the price is 0 and not unknown."
        ),
        certain(
            6, "SUBSCRIBED", "RESUBSCRIBE", "lapsed, the same group",
            [event(.renewal, nil, ["is_trial_conversion": "false", "renewal_number": "stored.number + 1"])]),
        certain(
            6, "SUBSCRIBED", "RESUBSCRIBE", "lapsed after a trial",
            [event(.renewal, nil, ["is_trial_conversion": "true", "renewal_number": "stored.number + 1"])]),
        certain(
            7, "SUBSCRIBED", "INITIAL_BUY", "lapsed, another group",
            [event(.initialPurchase, nil, ["renewal_number": "1", "product_id": "T.productId"])],
            "Apple begins a new original transaction id, which is a purchase of its own; the old one stays ended."),
    ]

    static let renewalRows: [Row] = [
        certain(
            8, "DID_RENEW", nil, "after a paid period",
            [
                event(
                    .renewal, nil,
                    ["is_trial_conversion": "false", "price": "T.price", "renewal_number": "stored.number + 1"])
            ]),
        certain(
            9, "DID_RENEW", nil, "after a trial",
            [
                event(
                    .renewal, nil,
                    ["is_trial_conversion": "true", "period_type": "NORMAL", "renewal_number": "stored.number + 1"])
            ]),
        inferred(
            9, "SUBSCRIBED", "INITIAL_BUY", "a trial that is heard of after the period that followed it",
            [
                event(
                    .initialPurchase, nil,
                    ["is_trial_conversion": "true", "period_type": "TRIAL", "price": "0", "renewal_number": "1"])
            ],
            "The RENEWAL was told with is_trial_conversion false, and is not told again; without a word the conversion would "
                + "never be counted."),
        certain(
            10, "DID_RENEW", nil, "to another product, as chosen before",
            [event(.renewal, nil, ["product_id": "T.productId", "price": "T.price"])],
            "PRODUCT_CHANGE was told when it was chosen."),
        certain(
            11, "DID_RENEW", "BILLING_RECOVERY", "unpaid until now",
            [event(.renewal, nil, ["is_trial_conversion": "false", "expiration_at_ms": "T.expiresDate"])],
            "No UNCANCELLATION: the renewal says that the failure is over."),
    ]

    static let choiceRows: [Row] = [
        certain(
            12, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "on until now",
            [event(.cancellation, .unsubscribe, ["price": "0", "expiration_at_ms": "T.expiresDate"])]),
        inferred(
            12, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "a year paid by the month, which is not to go on",
            [event(.cancellation, .unsubscribe, ["price": "0", "expiration_at_ms": "T.expiresDate"])],
            "The customer cancelled, and stays bound: Apple charges for the months that are left, and each has its RENEWAL. "
                + "expiration_at_ms is the end of what is paid, as everywhere."),
        inferred(
            12, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "off already", [],
            "It was told when it was switched off; nothing has changed since."),
        inferred(
            13, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "a charge is being retried", [],
            "CANCELLATION(BILLING_ERROR) was told; a second one would count one loss twice."),
        inferred(
            13, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "refunded", [],
            "CANCELLATION(CUSTOMER_SUPPORT) was told, and Apple itself switches renewal off after a refund."),
        certain(
            14, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", "before the end",
            [event(.uncancellation, nil, ["price": "0", "expiration_at_ms": "T.expiresDate"])]),
        inferred(
            15, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", "after the end", [],
            "Nothing is to be had back by a switch; the purchase that follows is told as such."),
        certain(
            16, "DID_CHANGE_RENEWAL_PREF", "UPGRADE", "at once",
            [
                event(
                    .productChange, nil,
                    [
                        "product_id": "stored.productId", "new_product_id": "T.productId",
                        "expiration_at_ms": "stored.expiresDate", "price": "0",
                    ]),
                event(
                    .renewal, nil,
                    ["product_id": "T.productId", "price": "T.price", "renewal_number": "stored.number + 1"]),
            ]),
        inferred(
            16, "DID_CHANGE_RENEWAL_PREF", "UPGRADE", "at once, from one trial into another",
            [
                event(.productChange, nil, ["product_id": "stored.productId", "new_product_id": "T.productId"]),
                event(
                    .renewal, nil,
                    ["period_type": "TRIAL", "price": "0", "is_trial_conversion": "false"]),
            ],
            "A trial is converted where money begins. RevenueCat says that the period before was a trial, which here would "
                + "count a conversion without a payment, and the same customer twice."),
        certain(
            17, "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", "from the next renewal on",
            [
                event(
                    .productChange, nil,
                    [
                        "product_id": "T.productId", "new_product_id": "R.autoRenewProductId",
                        "expiration_at_ms": "T.expiresDate", "price": "0",
                    ])
            ]),
        inferred(
            18, "DID_CHANGE_RENEWAL_PREF", nil, "a pending change is taken back", [],
            "A change to the product that runs would be one without effect; receivers complain about those."),
    ]

    static let offerRows: [Row] = [
        inferred(
            19, "OFFER_REDEEMED", nil, "the same product, at once",
            [
                event(
                    .renewal, nil, ["offer_code": "T.offerIdentifier", "is_trial_conversion": "false"])
            ],
            "There is a new transaction: money came in for a new period of a subscription that existed."),
        inferred(
            19, "OFFER_REDEEMED", nil, "the same product, from the next renewal on", [],
            "Nothing was charged. The renewal that the offer is for has its `offer_code`."),
        inferred(
            19, "OFFER_REDEEMED", "INITIAL_BUY", "a first purchase, as told until 2024",
            [event(.initialPurchase, nil, ["offer_code": "T.offerIdentifier", "renewal_number": "1"])],
            "The transaction is the first of its chain, however the notification is called."),
        inferred(
            19, "OFFER_REDEEMED", "RESUBSCRIBE", "a resubscription, as told until 2024",
            [event(.renewal, nil, ["offer_code": "T.offerIdentifier", "renewal_number": "stored.number + 1"])],
            "As row 6: it is the same chain."),
        inferred(
            20, "OFFER_REDEEMED", "UPGRADE", "an upgrade by an offer",
            [
                event(
                    .productChange, nil,
                    ["product_id": "stored.productId", "new_product_id": "T.productId", "price": "0"]),
                event(.renewal, nil, ["product_id": "T.productId", "offer_code": "T.offerIdentifier"]),
            ],
            "As row 16, which it is but for its price."),
        inferred(
            21, "OFFER_REDEEMED", "DOWNGRADE", "a downgrade by an offer",
            [
                event(
                    .productChange, nil,
                    ["product_id": "T.productId", "new_product_id": "R.autoRenewProductId", "price": "0"])
            ],
            "As row 17; the renewal that follows has the `offer_code`."),
    ]

    static let failureRows: [Row] = [
        certain(
            22, "DID_FAIL_TO_RENEW", "GRACE_PERIOD", "in grace",
            [
                event(
                    .billingIssue, nil, ["grace_period_expiration_at_ms": "R.gracePeriodExpiresDate", "price": "0"]),
                event(.cancellation, .billingError, ["price": "0", "expiration_at_ms": "T.expiresDate"]),
            ]),
        certain(
            23, "DID_FAIL_TO_RENEW", nil, "without grace",
            [
                event(.billingIssue, nil, ["grace_period_expiration_at_ms": "null", "price": "0"]),
                event(.cancellation, .billingError, ["price": "0"]),
                event(.expiration, .billingError, ["price": "0", "expiration_at_ms": "T.expiresDate"]),
            ]),
        inferred(
            23, "DID_FAIL_TO_RENEW", nil, "without grace, before the period's end",
            [
                event(.billingIssue, nil, ["grace_period_expiration_at_ms": "null"]),
                event(.cancellation, .billingError, ["expiration_at_ms": "T.expiresDate"]),
            ],
            "Apple charges up to a day early, and the running period was paid: its EXPIRATION comes at its end."),
        certain(
            24, "GRACE_PERIOD_EXPIRED", nil, "still unpaid", [event(.expiration, .billingError, ["price": "0"])]),
    ]
}
