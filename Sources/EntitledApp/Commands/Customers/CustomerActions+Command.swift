import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

extension CustomerActions {
    init(_ configuration: Configuration, _ context: CommandContext, reason: String?) {
        self.init(
            origin: .commandLine(context.environment, reason: reason), foldSettings: configuration.foldSettings)
    }
}

extension CustomerActions.Transfer {
    var document: JSON {
        .object(["moved": .array(purchases.map(\.document)), "events": .strings(events)])
    }

    func line(to id: String) -> String {
        guard !purchases.isEmpty else { return "nothing to move: \(Terminal.harmless(id)) has what there is" }
        let ids = purchases.map(\.originalTransactionID).joined(separator: ", ")
        return "\(Terminal.harmless(id)) has now: \(Terminal.harmless(ids))"
    }
}

extension PurchaseKey {
    var document: JSON {
        .object([
            "app": .string(app), "environment": .string(environment.rawValue),
            "original_transaction_id": .string(originalTransactionID),
        ])
    }
}
