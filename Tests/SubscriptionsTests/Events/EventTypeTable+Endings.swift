import Subscriptions

/// Ends, prices, refunds, and what is about no subscription.
extension EventTypeTable {
    static let endRows: [Row] = [
        certain(
            25, "EXPIRED", "VOLUNTARY", "switched off before",
            [event(.expiration, .unsubscribe, ["price": "0", "expiration_at_ms": "T.expiresDate"])]),
        certain(
            26, "EXPIRED", "BILLING_RETRY", "no end was told", [event(.expiration, .billingError, ["price": "0"])]),
        inferred(
            27, "EXPIRED", "BILLING_RETRY", "the end was told", [],
            "Access ended with the failure or with its grace; the end of Apple's retries takes nothing away."),
        inferred(
            28, "EXPIRED", "PRICE_INCREASE", "no cancellation was told",
            [
                event(.cancellation, .priceIncrease, ["price": "0"]),
                event(.expiration, .priceIncrease, ["price": "0", "expiration_at_ms": "T.expiresDate"]),
            ],
            "Consumers that count cancellations by reason get one before every end, as with a switch-off and a failure to "
                + "charge; RevenueCat names a refused increase among the triggers of CANCELLATION."),
        inferred(
            28, "EXPIRED", "PRICE_INCREASE", "a cancellation was told",
            [event(.expiration, .priceIncrease, ["price": "0"])],
            "One loss is one CANCELLATION; the EXPIRATION has the reason that Apple gives at the end."),
        inferred(
            29, "EXPIRED", "PRODUCT_NOT_FOR_SALE", "the product is not sold any more",
            [event(.expiration, .unknown, ["price": "0"])],
            "Apple may have taken it off sale as well as the developer, so that DEVELOPER_INITIATED would be a guess."),
        inferred(
            30, "EXPIRED", nil, "another reason", [event(.expiration, .unknown, ["price": "0"])],
            "Apple gives none."),
    ]

    static let priceRows: [Row] = [
        inferred(
            31, "PRICE_INCREASE", "PENDING", "consent is needed", [event(.priceIncreaseConsentRequired)],
            "Of RevenueCat's types of 2026, which are not in its public documentation; a receiver may filter them."),
        inferred(
            32, "PRICE_INCREASE", "ACCEPTED", "consent was asked for", [event(.priceIncreaseConsentApproved)],
            "As row 31."),
        inferred(
            32, "PRICE_INCREASE", "ACCEPTED", "consent was not asked for", [],
            "Apple says ACCEPTED also where the customer is merely told; there is nothing that was approved."),
    ]

    static let refundRows: [Row] = [
        inferred(
            33, "REFUND", nil, "the latest period, which runs",
            [
                event(
                    .cancellation, .customerSupport,
                    ["price": "-T.price", "expiration_at_ms": "T.revocationDate", "renewal_number": "stored.number"]),
                event(.expiration, .customerSupport, ["price": "0", "expiration_at_ms": "T.revocationDate"]),
            ],
            "The cancellation is certain. Access ends, and every end is told; its reason is that of the refund."),
        inferred(
            33, "REFUND", nil, "the latest period, which is over",
            [event(.cancellation, .customerSupport, ["price": "-T.price"])],
            "Money went back; access had ended, and that was told."),
        inferred(
            33, "REFUND", nil, "the latest period, again after a reversal",
            [
                event(.cancellation, .customerSupport, ["price": "-T.price", "expiration_at_ms": "T.revocationDate"]),
                event(.expiration, .customerSupport, ["price": "0"]),
            ],
            "Each refund and each reversal is an event of its own, also where Apple signs the same date again."),
        certain(
            34, "REFUND", nil, "an earlier period", [],
            "Earlier is a period that another one had followed by `revocationDate`, however late either is heard of."),
        inferred(
            35, "REFUND", nil, "a period that an upgrade replaced", [],
            "Apple gives back what an upgrade left over; the subscription goes on, and its price is told in full."),
        certain(
            36, "REFUND", nil, "bought once",
            [event(.cancellation, .customerSupport, ["price": "-T.price", "expiration_at_ms": "T.revocationDate"])],
            "No EXPIRATION: what is bought once has no end that could be told. With a duration in the configuration it has one, "
                + "and EXPIRATION(CUSTOMER_SUPPORT) is told as in row 33."),
        inferred(
            36, "REFUND", nil, "a part of a consumable",
            [
                event(
                    .cancellation, .customerSupport,
                    ["price": "-T.price * T.revocationPercentage", "expiration_at_ms": "null"])
            ],
            "What went back is told, not more; the rest is the customer's, and stays in `non_subscriptions`."),
        inferred(
            36, "REFUND", nil, "another amount than was told", [event(.cancellation, .customerSupport)],
            "The `price` is the difference, and positive where less went back than was told: no REFUND_REVERSED, because "
                + "the refund stands."),
        inferred(37, "REFUND_DECLINED", nil, "nothing changes", [], "The purchase is as it was."),
        certain(
            38, "REFUND_REVERSED", nil, "the refund was told",
            [event(.refundReversed, nil, ["price": "T.price", "expiration_at_ms": "T.expiresDate"])],
            "The `price` is what was told as refunded."),
        inferred(
            38, "REFUND_REVERSED", nil, "the refund was of an earlier period", [],
            "The refund was not told (row 34); money that comes back untold would be counted twice."),
        inferred(
            38, "REFUND_REVERSED", nil, "what the family shared is given back",
            [
                event(
                    .refundReversed, nil,
                    ["price": "0", "is_family_share": "true", "expiration_at_ms": "T.expiresDate"])
            ],
            "The member's loss was told as an EXPIRATION; without an event no consumer would give the access back."),
        certain(
            39, "CONSUMPTION_REQUEST", nil, "Apple asks before it decides", [],
            "It is answered to Apple, where that is configured. Where a person is to answer, a worker sends CONSUMPTION_REQUEST."
        ),
    ]

    static let otherRows: [Row] = [
        certain(
            40, "RENEWAL_EXTENDED", nil, "the end was moved to later",
            [event(.subscriptionExtended, nil, ["price": "0", "expiration_at_ms": "T.expiresDate"])]),
        inferred(
            40, "RENEWAL_EXTENDED", nil, "from one past instant to another", [],
            "It gives no access any more, and the end was told: a second EXPIRATION would count one loss twice."
        ),
        inferred(
            41, "RENEWAL_EXTENSION", "SUMMARY", "a mass extension is done", [],
            "It is about no purchase; each subscription that was extended has its RENEWAL_EXTENDED."),
        inferred(41, "RENEWAL_EXTENSION", "FAILURE", "a mass extension left one out", [], "Nothing was moved."),
        inferred(
            42, "REVOKE", nil, "a member lost what the family shared",
            [
                event(
                    .expiration, .unknown,
                    ["price": "0", "is_family_share": "true", "expiration_at_ms": "T.revocationDate"])
            ],
            "The member gave nothing up and got nothing back, so that neither UNSUBSCRIBE nor a CANCELLATION is true."),
        certain(
            43, "ONE_TIME_CHARGE", nil, "bought once",
            [
                event(
                    .nonRenewingPurchase, nil,
                    ["price": "T.price", "expiration_at_ms": "null", "period_type": "NORMAL"])
            ]),
        inferred(
            43, "ONE_TIME_CHARGE", nil, "bought once, shared by the family",
            [event(.nonRenewingPurchase, nil, ["price": "0", "is_family_share": "true"])], "As row 5."),
        certain(44, "TEST", nil, "about no purchase", []),
        inferred(
            45, "EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", "a token that nothing was reported for", [],
            "It is about a token, not a purchase; reporting to Apple is the seller's."),
        inferred(45, "EXTERNAL_PURCHASE_TOKEN", "CREATED", "a new token", [], "As above."),
        inferred(45, "EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER", "a token that is active", [], "As above."),
        inferred(
            46, "METADATA_UPDATE", nil, "new metadata", [], "Names and descriptions are no part of an event."),
        inferred(
            46, "MIGRATION", nil, "taken over by Advanced Commerce", [],
            "The subscription goes on; what is charged next is told when it is charged."),
        inferred(
            46, "MIGRATION", nil, "to a new original transaction id",
            [event(.renewal, nil, ["is_trial_conversion": "false", "price": "T.price"])],
            "The new purchase names the one that it continues (previousOriginalTransactionId), so that no "
                + "customer is new: INITIAL_PURCHASE would be a second start. The former purchase is over, and of its end nothing is told once "
                + "the new one is known: the customer loses nothing."),
        inferred(
            46, "PRICE_CHANGE", nil, "another price from the next renewal on", [],
            "It was the seller's doing; what is charged is told when it is charged."),
        inferred(
            46, "RESCIND_CONSENT", nil, "a guardian withdrew consent to the app", [],
            "It is about the app on an account, and names no purchase."),
        inferred(
            47, "any", nil, "signed before what is known, about nothing new", [],
            "The newest signature counts for each transaction and for the renewal info: state never goes back. A transaction "
                + "or a refund that was not known is told, however late."),
        inferred(
            48, "any", nil, "a purchase heard of first by its renewal", [event(.renewal, nil, ["price": "T.price"])],
            "RevenueCat leaves unknown purchases out unless their tracking is on. It always is here: nothing else "
                + "tells us of purchases."),
        inferred(
            48, "any", nil, "a purchase heard of first when it is switched off",
            [event(.initialPurchase, nil, ["price": "T.price"]), event(.cancellation, .unsubscribe, ["price": "0"])],
            "As above: what its first notification carries is told as well as what it is about."),
        inferred(
            49, "any", nil, "a period that had begun by the date of a refund that was told",
            [
                event(.refundReversed, nil, ["price": "stored.price"]),
                event(.renewal, nil, ["price": "T.price"]),
            ],
            "The refund was of an earlier period, and would not have been told (row 34): so the sums are the same in every "
                + "order. It comes before the RENEWAL, which has the last word on access."),
    ]
}
