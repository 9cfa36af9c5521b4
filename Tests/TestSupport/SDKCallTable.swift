/// Every call of RevenueCat's SDKs for the App Store and for Google Play: `HTTPRequestPath.swift` of purchases-ios 5.86
/// (ff486da, August 2026), `Endpoint.kt` of purchases-android 10.17 (4980371, August 2026); the hybrid SDKs (Flutter, React
/// Native, Capacitor, Unity) call through these two.
package enum SDKCallTable {
    package enum SDK: String, Sendable {
        case both = "iOS, Android"
        case apple = "iOS"
        case android = "Android"
    }

    package struct Call: Sendable {
        package let method: String
        /// As routes are written.
        package let path: String
        package let sdk: SDK
        /// When it is called.
        package let occasion: String
        /// The status that a customer's first such call gets.
        package let status: Int
        package let answer: String
        /// What the SDK does then.
        package let effect: String

        package init(
            _ method: String, _ path: String, _ sdk: SDK, _ occasion: String, _ status: Int, _ answer: String,
            _ effect: String
        ) {
            (self.method, self.path, self.sdk, self.occasion) = (method, path, sdk, occasion)
            (self.status, self.answer, self.effect) = (status, answer, effect)
        }
    }

    private static let subscriber = "/v1/subscribers/{app_user_id}"

    package static let calls =
        [
            Call(
                "GET", subscriber, .both, "start, foreground", 201, "200 or 201: the customer", "It caches the answer."),
            Call("GET", "\(subscriber)/offerings", .both, "start", 200, "200: the offerings", "It caches the answer."),
            Call(
                "GET", "/v1/product_entitlement_mapping", .both, "start", 200, "200: the map of products",
                "It computes entitlements by itself while no server answers."),
            Call(
                "GET", "\(subscriber)/health_report_availability", .apple, "start of a debug build", 200,
                "200: no report", "It asks for none."),
            Call(
                "GET", "\(subscriber)/health_report", .apple, "the app asks for it", 404, "404", "It shows the message."
            ),
            Call("GET", "/v1/health", .apple, "the app asks for it", 200, #"200: `""`"#, "It goes on."),
            Call(
                "POST", "/v1/config/{domain}", .both, "start", 404, "404",
                "It logs one error, and asks no more until the app starts again: offerings bring all that it needs."),
            Call(
                "POST", "/v1/receipts", .both, "purchase, restore, sync", 400,
                "200: the customer; Google Play's: 400, code 7000",
                "It finishes the transaction on every answer but 5xx."),
            Call("POST", "/v1/offers", .apple, "promotional offer", 400, "200: signatures", "It offers the discount."),
            Call(
                "POST", "\(subscriber)/intro_eligibility", .apple, "paywall, with StoreKit 1", 400,
                "200: true, false, null",
                "It shows the trial or not."),
            Call(
                "POST", "\(subscriber)/restore/eligibility", .apple, "the app asks for it", 400,
                "200: whether the purchase would be allowed", "It goes on."),
            Call("POST", "/v1/subscribers/identify", .both, "logIn", 400, "200 or 201: the customer", "It goes on."),
            Call(
                "POST", "\(subscriber)/alias", .android, "restore of an anonymous user", 400, "200: `{}`", "It goes on."
            ),
            Call(
                "POST", "\(subscriber)/attributes", .both, "attributes were set", 400, "200: the customer",
                "It marks them as synced, also after 400."),
            Call("POST", "\(subscriber)/attribution", .apple, "old attribution", 400, "200: `{}`", "It goes on."),
            Call(
                "POST", "\(subscriber)/adservices_attribution", .apple, "AdServices token", 400, "200: `{}`",
                "It goes on; nothing is stored."),
            Call(
                "POST", "/v1/events", .apple, "paywalls, Customer Center, advertisements", 200, "200: `{}`",
                "It deletes what it sent; nothing is stored."),
            Call("POST", "/v1/diagnostics", .apple, "diagnostics, where they are on", 200, "200: `{}`", "The same."),
            Call(
                "GET", "\(subscriber)/virtual_currencies", .both, "the app asks for it", 200, "200: none",
                "It shows no balance."),
            Call(
                "GET", "/v1/customercenter/{app_user_id}", .both, "Customer Center opens", 200, "200: the page",
                "It shows the page, without the management of tickets."),
            Call(
                "POST", "/v1/customercenter/support/create-ticket", .both, "a ticket in Customer Center", 404, "404",
                "It shows an error."),
            Call(
                "POST", "/v1/subscribers/redeem_purchase", .both, "link of a web purchase", 404, "404",
                "The redemption fails."),
            Call(
                "GET", "\(subscriber)/ads/reward_verifications/{transaction}", .both, "rewarded advertisement", 404,
                "404",
                "It ends its polling: the reward is not verified."),
            Call(
                "GET", "/rcbilling/v1/subscribers/{app_user_id}/offering_products", .apple,
                "web purchases in a paywall",
                404, "404", "The paywall shows no web products."),
            Call(
                "GET", "/rcbilling/v1/subscribers/{app_user_id}/products", .both, "the same", 404, "404", "The same."),
            Call(
                "GET", "/v1/receipts/amazon/{app_user_id}/{receipt_id}", .android, "purchase in Amazon's store", 404,
                "404",
                "The purchase fails: Amazon's are not known here."),
        ] + identity

    /// Only apps that log in with tokens of RevenueCat's identity service call these, and not before the first answers.
    private static let identity =
        ["/auth", "/v1/auth"].flatMap { prefix in
            ["login", "token", "revoke"].map { path in
                Call("POST", "\(prefix)/\(path)", .apple, "login with a token", 404, "404", "The login fails.")
            }
        }
        + [
            ("GET", "/v1/customer"), ("GET", "/v1/customer/offerings"), ("GET", "/v1/customer/customercenter"),
            ("GET", "/v1/customer/virtual_currencies"), ("GET", "/v1/customer/health_report"),
            ("POST", "/v1/customer/intro_eligibility"), ("POST", "/v1/customer/attributes"),
            ("POST", "/v1/customer/attribution"), ("POST", "/v1/customer/adservices_attribution"),
            ("POST", "/v1/customer/restore/eligibility"),
        ].map { method, path in
            Call(method, path, .apple, "after a login with a token", 404, "404", "Without a login it does not happen.")
        }

    package static let heading = "## Calls of the SDKs"

    /// The last section of `Apps.md`.
    package static var section: String {
        """
        \(heading)

        Every call of purchases-ios 5.86 and purchases-android 10.17, which the SDKs for Flutter, React Native, Capacitor and
        Unity go through, and its answer. None of these answers makes an SDK repeat the call by itself. A test makes each call.

        | call | SDK | when | answer | effect |
        |---|---|---|---|---|

        """
            + calls.map { call in
                "| `\(call.method) \(call.path)` | \(call.sdk.rawValue) | \(call.occasion) | \(call.answer) | \(call.effect) |\n"
            }.joined()
    }
}
