import Base
import Postgres
import Queue
import Records
import Subscriptions

extension CustomerActions {
    package struct Alias: Sendable, Equatable {
        /// The id that the customer is known by from now on.
        package let originalAppUserID: String
        package let appUserIDs: [String]
        /// False if both ids named this customer before.
        package let isNew: Bool
    }

    /// Makes one customer of those whom two ids name. The other id may be new. It cannot be undone.
    ///
    /// - Parameters:
    ///   - joinsPersons: whether it may join two customers whom somebody named.
    ///   - limit: how many ids the customer may have then; nil: any number.
    /// - Throws: `Refusal` where the first id names nobody, or the other cannot name anybody.
    package func alias(
        _ id: String, _ other: String, joinsPersons: Bool = true, atMost limit: Int? = nil,
        on connection: PostgresConnection
    ) throws -> Alias {
        try holding({ try pinned(id, other, on: connection) }, on: connection) { purchases, now in
            let found = try CustomerStore.lock([id, other], on: connection)
            if !joinsPersons, let one = found.first ?? nil, let two = found.last ?? nil, one != two,
                !one.isAnonymous, !two.isAnonymous
            {
                throw Refusal.persons(id, other)
            }
            if let limit, found.first != found.last { try requireRoom(limit, id, other, on: connection) }
            if found.last == .some(nil) {
                if let why = AppUserID.objection(to: other) { throw Refusal.unusable(id: other, why: why) }
                if found.first == .some(nil) { throw Refusal.unknown(id) }
                try CustomerStore.make([other], now: now, on: connection)
            }
            return try join(id, other, .alias, pinning: purchases, now: now, on: connection)
        }
    }

    private func requireRoom(_ limit: Int, _ id: String, _ other: String, on connection: PostgresConnection) throws {
        let count = try ids(of: id, on: connection).count + max(1, try ids(of: other, on: connection).count)
        if count > limit { throw Refusal.tooManyIDs(id) }
    }

    /// Purchases that have their anonymous owners from what was signed, or rather from its lack of a token. Joined to
    /// somebody they stay with them, whatever token is signed later.
    func pinned(_ id: String, _ other: String, on connection: PostgresConnection) throws -> [PurchaseKey] {
        let ids = try self.ids(of: id, on: connection) + (try self.ids(of: other, on: connection))
        return try PurchaseStore.owned(by: ids.filter(Owner.isAnonymous), on: connection)
    }

    /// - Parameter pinning: the purchases of anonymous ids on either side; their lanes are held.
    func join(
        _ id: String, _ other: String, _ kind: ActionLog.Kind, pinning purchases: [PurchaseKey], now: Int64,
        on connection: PostgresConnection
    ) throws -> Alias {
        let found = try CustomerStore.lock([id, other], on: connection)
        guard let one = found.first ?? nil else { throw Refusal.unknown(id) }
        guard let two = found.last ?? nil else { throw Refusal.unknown(other) }
        let isNew = one != two
        if isNew {
            let original = try CustomerStore.unite(one, two, on: connection)
            let isNamed = !(one.isAnonymous && two.isAnonymous)
            try note(
                .joining(kind, id, other, under: original), pinning: isNamed ? purchases : [], now: now, on: connection)
        }
        guard let customer = try CustomerStore.load([id], on: connection)[id] else { throw Refusal.unknown(id) }
        return Alias(
            originalAppUserID: customer.originalAppUserID, appUserIDs: customer.appUserIDs, isNew: isNew)
    }

    /// Writes down that two ids were joined, and that purchases stay with who has them.
    func note(
        _ action: ActionLog.New, pinning purchases: [PurchaseKey], now: Int64, on connection: PostgresConnection
    ) throws {
        let action = try ActionLog.add(action, by: origin, now: now, on: connection)
        let owners = try PurchaseStore.owners(purchases, on: connection)
        try assign(
            zip(purchases, owners).compactMap { key, owner in owner.map { (key, $0) } }, action, now: now,
            on: connection)
    }
}
