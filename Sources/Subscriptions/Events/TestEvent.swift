import Base

/// The event that an operator sends to see whether an endpoint listens. It is about no customer.
package enum TestEvent {
    /// How long the made-up period lasts, in ms.
    private static let lasts: Int64 = 2 * .hour

    /// - Parameters:
    ///   - id: an upper-case UUID.
    ///   - now: ms; the event's timestamp, and the start of the made-up period.
    ///   - customer: an app user id; by default a UUID, as RevenueCat's test events have, which is the event's.
    package static func json(id: String, appID: String, now: Int64, customer: String? = nil) -> JSON {
        let customer = customer ?? id
        let pairs: KeyValuePairs<String, JSON> = [
            "event_timestamp_ms": .int(now), "product_id": .string("test_product"), "period_type": .string("NORMAL"),
            "purchased_at_ms": .int(now), "expiration_at_ms": .int(now.later(by: lasts)),
            "environment": .string(StoreEnvironment.sandbox.eventName), "entitlement_id": .null,
            "entitlement_ids": .null, "presented_offering_id": .null, "transaction_id": .null,
            "original_transaction_id": .null, "is_family_share": .null, "country_code": .string("US"),
            "app_user_id": .string(customer), "aliases": .strings([customer]),
            "original_app_user_id": .string(customer), "currency": .null, "price": .null,
            "price_in_purchased_currency": .null, "subscriber_attributes": .object([]), "store": .string("APP_STORE"),
            "takehome_percentage": .null, "offer_code": .null, "tax_percentage": .null,
            "commission_percentage": .null, "metadata": .null, "renewal_number": .null,
        ]
        let members = pairs.map { JSON.Member(name: $0, value: $1) }
        return EventBody.envelope(members + EventBody.closing(.test, id: id, appID: appID))
    }
}
