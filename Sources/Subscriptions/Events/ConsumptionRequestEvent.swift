import Base

/// The event that Apple asks how a purchase was used, which needs an answer in time (CONSUMPTION_REQUEST).
///
/// RevenueCat has none; the members that others have too are called as there.
package struct ConsumptionRequestEvent: Sendable, Equatable {
    package let purchase: PurchaseKey
    package let transactionID: String
    package let productID: String
    /// Apple's `consumptionRequestReason`, the last one.
    package let reason: String?
    /// ms since 1970, as the times below.
    package let asked: Int64
    package let deadline: Int64
    package let at: Int64

    package init(
        purchase: PurchaseKey, transactionID: String, productID: String, reason: String?, asked: Int64, deadline: Int64,
        at: Int64
    ) {
        self.purchase = purchase
        self.transactionID = transactionID
        self.productID = productID
        self.reason = reason
        self.asked = asked
        self.deadline = deadline
        self.at = at
    }

    /// An upper-case UUID of app, environment, transaction and when it was asked.
    package var id: String {
        let content = [
            EventType.consumptionRequest.rawValue, purchase.app, purchase.environment.rawValue,
            "asked/\(transactionID)/\(asked)",
        ]
        return EventID.uuid(hashing: content.joined(separator: "|"))
    }

    /// - Parameter id: the event's id.
    package func json(id: String, identity: EventIdentity) -> JSON {
        let pairs: KeyValuePairs<String, JSON> = [
            "event_timestamp_ms": .int(at), "product_id": .string(productID),
            "environment": .string(purchase.environment.eventName), "transaction_id": .string(transactionID),
            "original_transaction_id": .string(purchase.originalTransactionID),
            "app_user_id": .string(identity.appUserID), "aliases": .strings(identity.aliases),
            "original_app_user_id": .string(identity.originalAppUserID), "consumption_request_reason": .text(reason),
            "asked_at_ms": .int(asked), "deadline_at_ms": .int(deadline),
            "subscriber_attributes": identity.attributes, "store": .string("APP_STORE"),
        ]
        let members = pairs.map { JSON.Member(name: $0, value: $1) }
        return EventBody.envelope(members + EventBody.closing(.consumptionRequest, id: id, appID: purchase.app))
    }
}
