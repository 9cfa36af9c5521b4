import Subscriptions

/// The members of RevenueCat's published sample events, as facts: RevenueCat/docs (2026-02 and 2026-08) for the App Store; of
/// PRODUCT_CHANGE those for Google Play, as there is no other; of TEST the one that its dashboard sent in August 2026. A test
/// compares them with the samples where these are at hand.
enum RevenueCatMembers {
    /// JSON kinds of a member in the samples of a type.
    struct Member: Equatable {
        let name: String
        let kinds: Set<String>
        /// Whether some of the samples lack it.
        let isSometimesMissing: Bool
    }

    private static let letters: [Character: String] = [
        "0": "null", "b": "boolean", "n": "number", "s": "string", "a": "array", "o": "object",
    ]

    static let byType: [EventType: [Member]] = texts.mapValues { $0.split(separator: " ").map(member) }

    static func member(_ word: some StringProtocol) -> Member {
        let parts = word.split(separator: ":")
        return Member(
            name: String(parts[0]), kinds: Set(parts[1].compactMap { letters[$0] }),
            isSometimesMissing: parts[1].hasSuffix("?"))
    }

    /// The kinds of what is in lists, and of the members of each attribute.
    static let inner: [String: Set<String>] = [
        "aliases": ["string"], "entitlement_ids": ["string"], "transferred_from": ["string"],
        "transferred_to": ["string"], "experiments": ["object"],
        "subscriber_attributes": ["value string", "updated_at_ms number"],
    ]

    /// Members with their kinds; `?` where some samples lack it.
    private static let texts: [EventType: String] = [
        .test: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0 entitlement_ids:0 presented_offering_id:0 transaction_id:0 \
        original_transaction_id:0 is_family_share:0 country_code:s app_user_id:s aliases:a \
        original_app_user_id:s currency:0 price:0 price_in_purchased_currency:0 subscriber_attributes:o \
        store:s takehome_percentage:0 offer_code:0 tax_percentage:0 commission_percentage:0 metadata:0 \
        renewal_number:0 type:s id:s app_id:s
        """,
        .initialPurchase: """
        aliases:a app_id:s app_user_id:s commission_percentage:n country_code:s currency:s entitlement_id:0s \
        entitlement_ids:a environment:s event_timestamp_ms:n expiration_at_ms:n id:s is_family_share:b \
        offer_code:0s original_app_user_id:s original_transaction_id:s period_type:s \
        presented_offering_id:0s price:n price_in_purchased_currency:n product_id:s purchased_at_ms:n \
        store:s subscriber_attributes:o takehome_percentage:n tax_percentage:n transaction_id:s type:s \
        experiments:a?
        """,
        .renewal: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0 entitlement_ids:a presented_offering_id:0 transaction_id:s \
        original_transaction_id:s is_family_share:b country_code:s app_user_id:s aliases:a \
        original_app_user_id:s currency:s is_trial_conversion:b price:n price_in_purchased_currency:n \
        subscriber_attributes:o store:s takehome_percentage:n tax_percentage:n commission_percentage:n \
        offer_code:0 type:s id:s app_id:s experiments:a
        """,
        .nonRenewingPurchase: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:0 environment:s \
        entitlement_id:0 entitlement_ids:a presented_offering_id:s transaction_id:s \
        original_transaction_id:s is_family_share:b country_code:s app_user_id:s aliases:a \
        original_app_user_id:s currency:s price:n price_in_purchased_currency:n subscriber_attributes:o \
        store:s takehome_percentage:n tax_percentage:n commission_percentage:n offer_code:0 type:s id:s \
        app_id:s experiments:a
        """,
        .productChange: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:s entitlement_ids:a presented_offering_id:s transaction_id:s \
        original_transaction_id:s app_user_id:s aliases:a offer_code:0 original_app_user_id:s \
        new_product_id:s currency:s price:n price_in_purchased_currency:n subscriber_attributes:o store:s \
        takehome_percentage:n tax_percentage:n commission_percentage:n type:s id:s experiments:a \
        is_family_share:b? country_code:s? app_id:s?
        """,
        .cancellation: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0s entitlement_ids:a presented_offering_id:0s transaction_id:s \
        original_transaction_id:s app_user_id:s aliases:a offer_code:0s original_app_user_id:s \
        cancel_reason:s currency:s price:n price_in_purchased_currency:n subscriber_attributes:o store:s \
        takehome_percentage:n tax_percentage:n commission_percentage:n type:s id:s experiments:a \
        is_family_share:b? country_code:s? app_id:s?
        """,
        .uncancellation: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0 entitlement_ids:a presented_offering_id:s transaction_id:s \
        original_transaction_id:s is_family_share:b country_code:s app_user_id:s aliases:a \
        original_app_user_id:s currency:s price:n price_in_purchased_currency:n subscriber_attributes:o \
        store:s takehome_percentage:n offer_code:0 tax_percentage:n commission_percentage:n type:s id:s \
        app_id:s experiments:a
        """,
        .billingIssue: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:s entitlement_ids:a presented_offering_id:s transaction_id:s \
        original_transaction_id:s app_user_id:s aliases:a offer_code:s original_app_user_id:s currency:s \
        price:n price_in_purchased_currency:n subscriber_attributes:o store:s takehome_percentage:n \
        tax_percentage:n commission_percentage:n type:s id:s experiments:a grace_period_expiration_at_ms:n? \
        is_family_share:b? country_code:s? app_id:s?
        """,
        .expiration: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0 entitlement_ids:a presented_offering_id:0 transaction_id:s \
        original_transaction_id:s is_family_share:b country_code:s app_user_id:s aliases:a \
        original_app_user_id:s expiration_reason:s currency:s price:n price_in_purchased_currency:n \
        subscriber_attributes:o store:s takehome_percentage:n offer_code:0 tax_percentage:n \
        commission_percentage:n type:s id:s app_id:s experiments:a
        """,
        .refundReversed: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0 entitlement_ids:a presented_offering_id:0 transaction_id:s \
        original_transaction_id:s is_family_share:b country_code:s app_user_id:s aliases:a \
        original_app_user_id:s currency:s price:n price_in_purchased_currency:n subscriber_attributes:o \
        store:s takehome_percentage:n offer_code:0 tax_percentage:n commission_percentage:n metadata:0 \
        renewal_number:n type:s id:s app_id:s experiments:a
        """,
        .subscriptionExtended: """
        event_timestamp_ms:n product_id:s period_type:s purchased_at_ms:n expiration_at_ms:n environment:s \
        entitlement_id:0 entitlement_ids:a presented_offering_id:0 transaction_id:s \
        original_transaction_id:s is_family_share:b country_code:s app_user_id:s aliases:a \
        original_app_user_id:s currency:s price:n price_in_purchased_currency:n subscriber_attributes:o \
        store:s takehome_percentage:n offer_code:0 tax_percentage:n commission_percentage:n type:s id:s \
        app_id:s experiments:a
        """,
        .transfer: """
        app_id:s event_timestamp_ms:n id:s store:s transferred_from:a transferred_to:a type:s environment:s
        """,
    ]
}
