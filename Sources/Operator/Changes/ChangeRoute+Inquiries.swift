import Base
import Database
import Subscriptions

/// Paths by which operators ask Apple something.
extension ChangeRoute {
    static let inquiries = [
        ChangeRoute("/purchases/{app}/{environment}/{id}/status-looks", .statusPoll) { desk, values, _ in
            let environment = try values.environment()
            let purchase = try desk.purchase(
                PurchaseKey(app: values["app"], environment: environment, originalTransactionID: values["id"])
            ).row.purchase.key
            guard !purchase.isGrant else { throw DeskError.badRequest("A grant is not Apple's to know.") }
            return Subject(
                target: purchase.originalTransactionID,
                parameters: .object([
                    "app": .string(purchase.app), "environment": .string(environment.rawValue),
                ]))
        },
        ChangeRoute("/order-lookups", .orderLookup) { desk, values, body in
            let text = try values.values["order_id"] ?? body.text("order_id")
            guard let order = OrderID(text) else {
                throw DeskError.badRequest(
                    "\(text.prefix(64)) is no order number of Apple's: those are M and letters and digits.",
                    field: "order_id")
            }
            let app = try body.optionalText("app") ?? values.values["app"]
            if let app, !desk.settings.apps.contains(app) {
                throw DeskParameters.notOneOf(desk.settings.apps, app, "app")
            }
            return Subject(
                target: order.text, parameters: .object(["app": app.map { .string($0) }]))
        },
    ]
}
