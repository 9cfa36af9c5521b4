import Base
import Postgres
import Queue
import Records
import Subscriptions

extension CustomerActions {
    package struct Transfer: Sendable {
        package let purchases: [PurchaseKey]
        /// Ids of the events that say so, by app and environment.
        package let events: [String]
    }

    /// Gives purchases of one customer to another, who is made if nobody has the id. What was granted stays.
    ///
    /// - Parameter only: original transaction ids; empty: everything they bought.
    /// - Throws: `Refusal` where the first id names nobody, or the second cannot name anybody.
    package func transfer(
        from: String, to: String, only: [String] = [], on connection: PostgresConnection
    ) throws -> Transfer {
        try holding({ try self.purchases(of: from, only, on: connection) }, on: connection) { purchases, now in
            let found = try CustomerStore.lock([from, to], on: connection)
            guard let source = found.first ?? nil else { throw Refusal.unknown(from) }
            if let target = found.last ?? nil, target == source { return Transfer(purchases: [], events: []) }
            if found.last == .some(nil) {
                if let why = AppUserID.objection(to: to) { throw Refusal.unusable(id: to, why: why) }
                try CustomerStore.makeAndHold([to], now: now, on: connection)
            }
            // What was moved before stays moved.
            let there = try PurchaseStore.owned(by: try ids(of: to, on: connection), on: connection)
            if let grant = purchases.first(where: \.isGrant) { throw Refusal.grantStays(grant.originalTransactionID) }
            let known = (purchases + there).map(\.originalTransactionID)
            if let missing = Set(only).subtracting(known).min() {
                throw Refusal.notTheirs(purchase: missing, customer: from)
            }
            return try move(purchases, .transfer, from: from, to: to, now: now, on: connection)
        }
    }

    private func purchases(
        of id: String, _ only: [String], on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        let owned = try PurchaseStore.owned(by: try ids(of: id, on: connection), on: connection)
        return only.isEmpty ? owned.filter { !$0.isGrant } : owned.filter { only.contains($0.originalTransactionID) }
    }

    /// Moves purchases whose lanes are held between customers who are locked, and says so to consumers.
    func move(
        _ purchases: [PurchaseKey], _ kind: ActionLog.Kind, from: String, to: String, now: Int64,
        on connection: PostgresConnection
    ) throws -> Transfer {
        guard !purchases.isEmpty else { return Transfer(purchases: [], events: []) }
        let names = JSON.array(
            purchases.map {
                .object([
                    "app": .string($0.app), "environment": .string($0.environment.rawValue),
                    "original_transaction_id": .string($0.originalTransactionID),
                ])
            })
        let action = try ActionLog.add(
            ActionLog.New(kind, from, other: to, detail: .object(["purchases": names])), by: origin, now: now,
            on: connection)
        try assign(purchases.map { ($0, to) }, action, now: now, on: connection)
        let (former, latter) = (try ids(of: from, on: connection), try ids(of: to, on: connection))
        var events: [NewEvent] = []
        for place in Place.places(of: purchases) {
            let event = TransferEvent(
                app: place.app, environment: place.environment, from: former, to: latter, action: action, at: now)
            let id = event.id(digest: CustomerActions.digest)
            events.append(
                NewEvent(
                    lane: place.lane, id: UUIDText.bytes(id) ?? [], type: EventType.transfer.rawValue,
                    app: place.app, environment: place.environment, originalTransactionID: nil,
                    body: event.json(id: id).bytes))
        }
        _ = try EventStore.insert(events, now: now, on: connection)
        return Transfer(purchases: purchases, events: events.map { UUIDText.upper($0.id) })
    }

    /// Writes down whose purchases are, where it outranks what was signed. Their lanes are held.
    func assign(
        _ owners: [(key: PurchaseKey, owner: String)], _ action: Int64, now: Int64, on connection: PostgresConnection
    ) throws {
        try FactStore.insert(
            owners.map { key, owner in
                FactStore.New(
                    key: key, seq: SequenceGenerator.least(at: now),
                    fact: FactRow(OwnerAssignment(owner: owner, at: now, action: action)))
            }, on: connection)
        try PurchaseStore.setOwners(owners, now: now, on: connection)
    }

    /// An app and environment with purchases, and the lane of one of them.
    private struct Place {
        let app: String
        let environment: StoreEnvironment
        let lane: Lane

        static func places(of purchases: [PurchaseKey]) -> [Place] {
            var known: Set<[String]> = []
            return purchases.filter { known.insert([$0.app, $0.environment.rawValue]).inserted }.map {
                Place(app: $0.app, environment: $0.environment, lane: $0.lane)
            }
        }
    }
}
