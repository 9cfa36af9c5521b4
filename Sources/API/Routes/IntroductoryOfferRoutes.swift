import Base
import Database
import HTTP
import Subscriptions

/// Whether a customer may still have a product's introductory offer, by what is known of their purchases.
package struct IntroductoryOfferRoutes: Sendable {
    /// Products that one question may name.
    private static let limit = 1000

    package init() {}

    package var routes: [APIRoute] {
        [
            APIRoute("POST", "/v1/subscribers/{app_user_id}/intro_eligibility", .anyKey) { call in
                let products = try IntroductoryOfferRoutes.products(of: call)
                let history = try IntroductoryOfferQuery.load(
                    try call.appUserID(), app: call.key?.app,
                    environment: IntroductoryOfferRoutes.environment(call), on: call.connection)
                var groups = try ProductTable.groups(of: products, app: call.key?.app, on: call.connection)
                groups.merge(history.groups) { _, own in own }
                return .response(
                    .document(
                        200,
                        .object(
                            products.map { product in
                                // Once a group; of a product whose group was not seen yet nothing can be said.
                                let isEligible = groups[product].map { !history.used.contains($0) }
                                return JSON.Member(name: product, value: isEligible.map { .bool($0) } ?? .null)
                            })))
            }
        ]
    }

    private static func products(of call: APICall) throws -> [String] {
        guard let elements = try call.json()["product_identifiers"]?.arrayValue, elements.count <= limit else {
            throw APIError.badRequest("product_identifiers must be a list of at most \(limit) strings.")
        }
        var products: Set<String> = []
        for element in elements {
            guard let text = element.stringValue, !text.utf8.contains(0) else {
                throw APIError.badRequest("product_identifiers must be a list of strings.")
            }
            products.insert(text)
        }
        return products.sorted()
    }

    /// What is used up in the sandbox is not in production.
    private static func environment(_ call: APICall) -> StoreEnvironment? {
        switch call.head.header("x-is-sandbox")?.lowercased() {
        case "true": .sandbox
        case "false": .production
        default: nil
        }
    }
}
