import Base
import HTTP

/// What RevenueCat's SDKs call and there is none of here: little answers that they are content with, and 404 with a
/// message that says so. They log it and go on.
package struct UnsupportedRoutes: Sendable {
    package init() {}

    package var routes: [APIRoute] {
        [
            APIRoute("GET", "/v1/subscribers/{app_user_id}/health_report_availability", .open) { _ in
                .response(.document(200, .object(["report_logs": .bool(false)])))
            },
            APIRoute("GET", "/v1/subscribers/{app_user_id}/virtual_currencies", .anyKey) { call in
                _ = try call.appUserID()
                return .response(.document(200, .object(["virtual_currencies": .object([])])))
            },
        ]
            + UnsupportedRoutes.discarded.map { path in
                APIRoute("POST", path, .open) { _ in .response(.document(200, .object([]))) }
            }
            + UnsupportedRoutes.paths.map { method, path in
                .unsupported(method, path, .open) { "entitled does not support \(method) \($0.head.path)." }
            }
    }

    /// Events of paywalls and diagnostics of the SDK itself, which nothing here reads. They are accepted and discarded: an
    /// SDK keeps what is answered 404 and sends it again at every start and flush.
    private static let discarded = ["/v1/events", "/v1/diagnostics"]

    /// Paywalls' and diagnostics' own hosts are here too: a proxy URL takes their place as well, on Apple's platforms.
    private static let paths: [(method: String, path: String)] = [
        ("GET", "/v1/subscribers/{app_user_id}/health_report"),
        ("GET", "/v1/subscribers/{app_user_id}/ads/reward_verifications/{transaction}"),
        ("POST", "/v1/subscribers/redeem_purchase"),
        ("POST", "/v1/customercenter/support/create-ticket"),
        ("POST", "/v1/config/{domain}"),
        ("POST", "/v1/auth/login"), ("POST", "/v1/auth/token"), ("POST", "/v1/auth/revoke"),
        ("POST", "/auth/login"), ("POST", "/auth/token"), ("POST", "/auth/revoke"),
        ("GET", "/v1/customer"), ("GET", "/v1/customer/offerings"), ("POST", "/v1/customer/intro_eligibility"),
        ("GET", "/v1/customer/customercenter"), ("GET", "/v1/customer/virtual_currencies"),
        ("GET", "/v1/customer/health_report"), ("POST", "/v1/customer/attributes"),
        ("POST", "/v1/customer/attribution"), ("POST", "/v1/customer/adservices_attribution"),
        ("POST", "/v1/customer/restore/eligibility"), ("GET", "/v1/receipts/amazon/{app_user_id}/{receipt_id}"),
        ("GET", "/rcbilling/v1/subscribers/{app_user_id}/offering_products"),
        ("GET", "/rcbilling/v1/subscribers/{app_user_id}/products"),
    ]
}
