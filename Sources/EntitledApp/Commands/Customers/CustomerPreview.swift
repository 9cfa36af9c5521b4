import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// A customer in a few lines, for the question before a change that cannot be undone.
struct CustomerPreview {
    private let id: String
    private let found: CustomerQuery.Found?
    private let explanation: CustomerExplanation?

    /// Purchases of one customer that are listed.
    private static let mostPurchases = 10

    init(_ id: String, _ configuration: Configuration, on connection: PostgresConnection) throws {
        self.id = id
        found = try CustomerQuery.find(id, foldSettings: configuration.foldSettings, on: connection)
        explanation = found.map { found in
            let customer = found.customer
            let profile = CustomerProfile(
                originalAppUserID: customer.originalAppUserID, appUserIDs: customer.appUserIDs,
                firstSeen: customer.firstSeen, lastSeen: found.lastSeen)
            return CustomerExplanation(
                profile, found.purchases, catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule,
                now: SystemClock().now())
        }
    }

    /// The customer's ids, entitlements that are active, and purchases.
    func lines(_ terminal: Terminal) -> [String] {
        guard let found, let explanation else { return ["customer      \(id), new"] }
        let active = explanation.entitlements.filter(\.isActive).map { "entitlement   \($0.name) \($0.sentence)" }
        return [
            "customer      \(found.customer.originalAppUserID), first seen \(terminal.time(found.customer.firstSeen))",
            "ids           \(found.customer.appUserIDs.joined(separator: ", "))",
        ] + active + purchases { _ in true }
    }

    /// One entitlement.
    func lines(ofEntitlement name: String) -> [String] {
        (explanation?.entitlements ?? []).filter { $0.name == name }.map { "\(id) has \($0.name) \($0.sentence)" }
    }

    /// The purchases that a transfer moves.
    ///
    /// - Parameter ids: original transaction ids; empty: all.
    func lines(ofTransferOf ids: [String]) -> [String] {
        let moved = purchases { !$0.isGrant && (ids.isEmpty || ids.contains($0.originalTransactionID)) }
        return moved.isEmpty ? ["purchase      none"] : moved
    }

    private func purchases(_ isWanted: (PurchaseKey) -> Bool) -> [String] {
        let all = (found?.purchases ?? []).filter { isWanted($0.key) }.map { purchase in
            let place = purchase.key.isGrant ? "" : ", \(purchase.key.app), \(purchase.key.environment.rawValue)"
            return "purchase      \(purchase.latest.productID), \(purchase.key.originalTransactionID)\(place)"
        }
        guard all.count > CustomerPreview.mostPurchases else { return all }
        return all.prefix(CustomerPreview.mostPurchases)
            + ["purchase      … and \(all.count - CustomerPreview.mostPurchases) more"]
    }
}
