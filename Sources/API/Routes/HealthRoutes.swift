import Base
import HTTP

/// Whether the service is there, as RevenueCat's SDKs ask: without a key, for a body of `""`.
package struct HealthRoutes: Sendable {
    package init() {}

    package var routes: [APIRoute] {
        [APIRoute("GET", "/v1/health", .open) { _ in .response(.document(200, .string(""))) }]
    }
}
