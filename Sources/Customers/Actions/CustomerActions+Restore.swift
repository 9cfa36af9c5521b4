import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// Sets what becomes of a customer's purchases when others restore them; nil: what the configuration says. Of
    /// customers who become one the last word counts.
    ///
    /// - Returns: whether that is new.
    /// - Throws: `Rejection` where the id names no customer.
    package func setRestoreBehavior(
        _ behavior: RestoreBehavior?, of id: String, on connection: PostgresConnection
    ) throws -> Bool {
        try holding({ [] }, on: connection) { _ in
            let (root, now) = try lock(id, on: connection)
            guard root.restoreBehavior != behavior else { return false }
            let detail = JSON.object(["restore_behavior": .text(behavior?.rawValue)])
            try ActionTable.add(
                ActionTable.New(.restoreBehavior, id, detail: detail), by: origin, now: now, on: connection)
            try CustomerTable.setRestoreBehavior(behavior, of: root.originalAppUserID, on: connection)
            try AccountDue.note(Set(try ids(of: id, on: connection)), on: connection)
            return true
        }
    }

    /// Whether a claim would be let through at this moment; nothing changes. What no customer has, any may restore.
    ///
    /// - Parameter now: ms since 1970.
    package func mayRestore(
        _ purchase: PurchaseKey, by id: String, settings: RestoreSettings, now: Int64,
        on connection: PostgresConnection
    ) throws -> Bool {
        guard let owner = try PurchaseTable.owners([purchase], on: connection).first ?? nil,
            var facts = try FactTable.load([purchase], on: connection).first
        else { return true }
        let roots = try CustomerTable.roots(of: [owner, id], on: connection)
        if let former = roots.first ?? nil, former == roots.last ?? nil { return true }
        facts.insert(
            PurchasePost(
                by: id, .restore,
                behavior: settings.behavior(app: purchase.app, environment: purchase.environment, override: nil),
                at: now))
        guard let claims = PurchaseClaims(of: facts) else { return true }
        let expected = try settlement.expected([purchase: claims], now: now, on: connection)
        let name = AppUserID.canonical(id)
        if expected.owners[purchase].map(AppUserID.canonical) == name { return true }
        return expected.joins.values.contains { joins in
            joins.expected.subtracting(joins.found).contains { join in
                [join.one, join.other].map(AppUserID.canonical).contains(name)
            }
        }
    }
}
