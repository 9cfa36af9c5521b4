import HTTP

/// What RevenueCat's REST v1 does with purchases of other stores: there are none here.
package struct OtherStoreRoutes: Sendable {
    package init() {}

    package var routes: [APIRoute] {
        let subscriber = "/v1/subscribers/{app_user_id}"
        return [
            "\(subscriber)/subscriptions/{product_identifier}/revoke",
            "\(subscriber)/subscriptions/{product_identifier}/defer",
            "\(subscriber)/subscriptions/{product_identifier}/cancel",
            "\(subscriber)/transactions/{store_transaction_id}/refund",
        ].map { path in
            .unsupported("POST", path, .secretKey(.write)) { _ in
                "This is for purchases of Google Play and other stores. Apple alone refunds and cancels purchases of the App"
                    + " Store."
            }
        }
    }
}
