import Base
import Subscriptions

/// A purchase as the outcome of a change names it.
extension PurchaseKey {
    package init?(named json: JSON) {
        guard let app = json["app"]?.stringValue, let id = json["original_transaction_id"]?.stringValue,
            let environment = json["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
        else { return nil }
        self.init(app: app, environment: environment, originalTransactionID: id)
    }

    package var named: JSON {
        .object([
            "app": .string(app), "environment": .string(environment.rawValue),
            "original_transaction_id": .string(originalTransactionID),
        ])
    }
}
