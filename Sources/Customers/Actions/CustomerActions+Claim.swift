import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    package enum Claim: Sendable {
        /// It was theirs before.
        case theirs
        /// The owner and the customer who claims it are one now.
        case joined(Alias)
        case moved(Transfer)
    }

    /// A customer restores a purchase, as an app would do it for them: what then happens, the settings and the owner's own
    /// say.
    ///
    /// - Parameters:
    ///   - makesCustomer: whether the customer is made if no customer has the id.
    ///   - isRestore: false for a new purchase.
    /// - Throws: `Rejection` where there is no such purchase, or the behaviour lets it stay.
    package func claim(
        _ purchase: PurchaseKey, by id: String, settings: RestoreSettings, makesCustomer: Bool = true,
        isRestore: Bool = true, on connection: PostgresConnection
    ) throws -> Claim {
        if purchase.isGrant { throw Rejection.grantStays(purchase.originalTransactionID) }
        try requireUsable(id, on: connection)
        try respell(id, on: connection)
        return try holding({ [purchase] }, on: connection) { _ in
            try settlement.hold([purchase], on: connection)
            guard let owner = try PurchaseTable.owners([purchase], on: connection).first ?? nil else {
                throw Rejection.unknown(purchase.originalTransactionID)
            }
            if !makesCustomer, try lock([id, owner], on: connection).first == nil { throw Rejection.unknown(id) }
            let found = try lockOrMake([id, owner], on: connection)
            if found.first == found.last { return .theirs }
            let now = found.now
            let post = PurchasePost(
                by: id, isRestore ? .restore : .purchase,
                behavior: settings.behavior(app: purchase.app, environment: purchase.environment, override: nil),
                at: now)
            let outcome = try take([purchase: post], now: now, on: connection)
            if outcome.moved.contains(purchase) {
                return .moved(Transfer(purchases: Array(outcome.moved), events: outcome.transfers))
            }
            // A refused claim is no act that anything follows from: it leaves no trace.
            if let why = try refusal([purchase], by: id, on: connection) { throw why }
            try ActionTable.add(ActionTable.New(.claim, owner, other: id), by: origin, now: now, on: connection)
            return .joined(try alias(of: id, isNew: true, on: connection))
        }
    }

    /// Writes posts of purchases that have records, by a customer who is locked, and brings their owners to what follows.
    func take(
        _ posts: [PurchaseKey: PurchasePost], now: Int64, on connection: PostgresConnection
    ) throws -> OwnerSettlement.SettlementResult {
        try FactTable.insert(posts.map { CustomerActions.fact($1, of: $0) }, on: connection)
        let claims = try OwnerSettlement.claims(of: Array(posts.keys), on: connection)
        let outcome = try settlement.settle(claims, by: origin, now: now, on: connection)
        // What waits for the buyer's name has it now.
        try PurchaseTable.wakeWaiting(Array(posts.keys), at: now, on: connection)
        return outcome
    }

    static func fact(_ post: PurchasePost, of key: PurchaseKey) -> FactTable.New {
        FactTable.New(key: key, seq: SequenceGenerator.least(at: post.at), fact: FactRow(post))
    }

    /// Why some of these purchases are not the customer's, who posted them; nil: all are. Consumables are their buyer's, whichever
    /// customer posts them.
    package func refusal(
        _ keys: [PurchaseKey], by id: String, on connection: PostgresConnection
    ) throws -> Rejection? {
        let members = try AccountTable.members(keys, on: connection).values.filter {
            !($0.claims?.isConsumable ?? false)
        }
        let roots = try CustomerTable.roots(of: [id] + members.map(\.owner), on: connection)
        let own = roots.first ?? nil
        return roots.dropFirst().contains { $0 != nil && $0 != own }
            ? .restore("it is another customer's, and restore_behavior keeps it there") : nil
    }
}
