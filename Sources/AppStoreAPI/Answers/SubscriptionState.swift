import AppStore

/// How a subscription stands (https://developer.apple.com/documentation/appstoreserverapi/status). Others are kept.
package struct SubscriptionStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let active = SubscriptionStatus(rawValue: 1)
    package static let expired = SubscriptionStatus(rawValue: 2)
    package static let billingRetry = SubscriptionStatus(rawValue: 3)
    package static let gracePeriod = SubscriptionStatus(rawValue: 4)
    package static let revoked = SubscriptionStatus(rawValue: 5)

    package static let known = [active, expired, billingRetry, gracePeriod, revoked]

    /// One word; the number of one that is not known.
    package var word: String {
        switch self {
        case .active: "active"
        case .expired: "expired"
        case .billingRetry: "billing_retry"
        case .gracePeriod: "grace_period"
        case .revoked: "revoked"
        default: "\(rawValue)"
        }
    }
}

/// One subscription of a customer, as Apple sees it now
/// (https://developer.apple.com/documentation/appstoreserverapi/lasttransactionsitem).
package struct SubscriptionState: Sendable {
    /// The subscription group.
    package let group: String?
    package let status: SubscriptionStatus
    package let originalTransactionID: String
    /// The last one.
    package let transaction: SignedItem<TransactionPayload>
    package let renewal: SignedItem<RenewalInfoPayload>?

    init(
        _ answer: StatusAnswer.Last, group: String?, _ place: String, _ reader: AnswerReader
    ) throws(ServerAPIError) {
        transaction = try reader.transaction(answer.signedTransactionInfo, "\(place).signedTransactionInfo")
        if let signed = answer.signedRenewalInfo {
            renewal = try reader.renewal(signed, "\(place).signedRenewalInfo")
        } else {
            renewal = nil
        }
        // What is not signed must fit what is.
        let id = answer.originalTransactionID
        guard transaction.payload.originalTransactionId == id,
            renewal.map({ $0.payload.originalTransactionId == id }) ?? true
        else { throw .malformed("\(place) names another subscription than what is signed in it") }
        self.group = group
        status = SubscriptionStatus(rawValue: answer.status)
        originalTransactionID = id
    }
}
