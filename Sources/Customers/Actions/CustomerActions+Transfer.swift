import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    package struct Transfer: Sendable {
        package let purchases: [PurchaseKey]
        /// Ids of the events that say so, by app and environment.
        package let events: [String]
    }

    /// Gives purchases of one customer to another, who is made if no customer has the id. What was granted stays.
    ///
    /// - Parameters:
    ///   - only: original transaction ids; empty: everything that they bought until now, heard of or not.
    ///   - apps: only what was bought in these; nil: in any.
    ///   - makesCustomer: whether the second customer is made if the id is new.
    /// - Throws: `Rejection` where the first id names no customer, or the second cannot name any.
    package func transfer(
        from: String, to: String, only: [String] = [], apps: Set<String>? = nil, makesCustomer: Bool = true,
        on connection: PostgresConnection
    ) throws -> Transfer {
        let isWhole = only.isEmpty && apps == nil
        return try holding({ try self.purchases(of: from, only, apps, on: connection) }, on: connection) { purchases in
            try settlement.hold(purchases, on: connection)
            let found = try lock([to, from], on: connection)
            guard let source = found.last else { throw Rejection.unknown(from) }
            // What a server commits later than the coordinator is seen once the customers are locked.
            if connection.isCluster, Set(try self.purchases(of: from, only, apps, on: connection)) != Set(purchases) {
                throw Overtaken()
            }
            if source == found.first { return Transfer(purchases: [], events: []) }
            if found.first == nil {
                guard makesCustomer else { throw Rejection.unknown(to) }
                if let why = AppUserID.objection(toNew: to) { throw Rejection.unusable(id: to, why: why) }
            }
            let now = try found.first == nil ? lockOrMake([to, from], on: connection).now : found.now
            // What was moved before stays moved.
            let there = try PurchaseTable.owned(by: try ids(of: to, on: connection), on: connection)
            if let grant = purchases.first(where: \.isGrant) { throw Rejection.grantStays(grant.originalTransactionID) }
            let known = (purchases + there).map(\.originalTransactionID)
            if let missing = Set(only).subtracting(known).min() {
                throw Rejection.notTheirs(purchase: missing, customer: from)
            }
            guard !purchases.isEmpty else { return Transfer(purchases: [], events: []) }
            let transfer = PurchaseTransfer(
                purchases: purchases, from: from, to: to, kind: .transfer, origin: origin, isWhole: isWhole)
            let action = try transfer.log(now: now, on: connection)
            let claims = try assign(purchases.map { ($0, to) }, action, now: now, on: connection)
            _ = try settlement.settle(claims, tells: false, by: origin, now: now, on: connection)
            let customers = try CustomerTable.load([from, to], on: connection)
            if isWhole {
                try AccountDue.note(Set(customers.values.flatMap(\.appUserIDs)), on: connection)
            }
            let events = try transfer.tell(customers, action: action, now: now, on: connection)
            return Transfer(purchases: purchases, events: events)
        }
    }

    private func purchases(
        of id: String, _ only: [String], _ apps: Set<String>?, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        let owned = try PurchaseTable.owned(by: try ids(of: id, on: connection), on: connection).filter {
            apps?.contains($0.app) ?? true
        }
        return only.isEmpty ? owned.filter { !$0.isGrant } : owned.filter { only.contains($0.originalTransactionID) }
    }
}
