/// The events that this module derives, in the event format's words.
package enum EventType: String, Sendable, CaseIterable {
    case test = "TEST"
    case initialPurchase = "INITIAL_PURCHASE"
    case renewal = "RENEWAL"
    case nonRenewingPurchase = "NON_RENEWING_PURCHASE"
    case productChange = "PRODUCT_CHANGE"
    case cancellation = "CANCELLATION"
    case uncancellation = "UNCANCELLATION"
    case billingIssue = "BILLING_ISSUE"
    case expiration = "EXPIRATION"
    case refundReversed = "REFUND_REVERSED"
    case subscriptionExtended = "SUBSCRIPTION_EXTENDED"
    case transfer = "TRANSFER"
    /// Only for endpoints that ask for it.
    case subscriberAlias = "SUBSCRIBER_ALIAS"
    case priceIncreaseConsentRequired = "PRICE_INCREASE_CONSENT_REQUIRED"
    case priceIncreaseConsentApproved = "PRICE_INCREASE_CONSENT_APPROVED"
    /// For apps whose consumption requests an operator or a backend answers, and endpoints that ask for it.
    case consumptionRequest = "CONSUMPTION_REQUEST"
}

extension EventType {
    /// Whether an endpoint gets it that does not name its types: RevenueCat sends new projects no SUBSCRIBER_ALIAS, and
    /// has no CONSUMPTION_REQUEST.
    package var isForAll: Bool { self != .subscriberAlias && self != .consumptionRequest }
}

/// Values of `cancel_reason` and `expiration_reason` that the App Store gives cause for.
package enum EventReason: String, Sendable, CaseIterable {
    case unsubscribe = "UNSUBSCRIBE"
    case billingError = "BILLING_ERROR"
    case priceIncrease = "PRICE_INCREASE"
    case customerSupport = "CUSTOMER_SUPPORT"
    /// Only of grants.
    case developerInitiated = "DEVELOPER_INITIATED"
    case unknown = "UNKNOWN"
}
