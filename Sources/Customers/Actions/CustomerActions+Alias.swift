import Base
import Database
import Postgres
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
    ///   - makesOther: whether the other id may be new; else it has to name a customer.
    ///   - joinsPersons: whether it may join two customers whom an app named.
    ///   - limit: how many ids the customer may have then; nil: any number.
    /// - Throws: `Rejection` where the first id names no customer, or the other names none and may not be new.
    package func alias(
        _ id: String, _ other: String, makesOther: Bool = true, joinsPersons: Bool = true, atMost limit: Int? = nil,
        on connection: PostgresConnection
    ) throws -> Alias {
        try holding({ [] }, on: connection) { _ in
            let found = try lock([id, other], on: connection)
            if !joinsPersons, let one = found.first, let two = found.last, one != two,
                !one.isAnonymous, !two.isAnonymous
            {
                throw Rejection.persons(id, other)
            }
            if let limit, found.first != found.last { try requireRoom(limit, id, other, on: connection) }
            if found.last == nil {
                if let why = AppUserID.objection(toNew: other) { throw Rejection.unusable(id: other, why: why) }
                if found.first == nil { throw Rejection.unknown(id) }
                guard makesOther else { throw Rejection.unknown(other) }
                try CustomerTable.make([other], now: found.now, on: connection)
            }
            return try join(id, other, .alias, on: connection)
        }
    }

    private func requireRoom(_ limit: Int, _ id: String, _ other: String, on connection: PostgresConnection) throws {
        let count = try ids(of: id, on: connection).count + max(1, try ids(of: other, on: connection).count)
        if count > limit { throw Rejection.tooManyIDs(id) }
    }

    func join(
        _ id: String, _ other: String, _ kind: ActionTable.Kind, on connection: PostgresConnection
    ) throws -> Alias {
        let found = try lock([id, other], on: connection)
        guard let one = found.first else { throw Rejection.unknown(id) }
        guard let two = found.last else { throw Rejection.unknown(other) }
        let isNew = one != two
        if isNew {
            let known = one.isAnonymous == two.isAnonymous ? [] : try told(one.isAnonymous ? id : other, on: connection)
            let original = try CustomerTable.unite(one, two, on: connection)
            try logJoin(kind, id, other, under: original, now: found.now, on: connection)
            try settlement.tell(known, now: found.now, on: connection)
        }
        return try alias(of: id, isNew: isNew, on: connection)
    }

    /// Writes down that two ids name one customer from now on.
    func logJoin(
        _ kind: ActionTable.Kind, _ id: String, _ other: String, under original: String, now: Int64,
        on connection: PostgresConnection
    ) throws {
        try ActionTable.add(.joining(kind, id, other, under: original), by: origin, now: now, on: connection)
        // An act that is judged already may be later than this one.
        try AccountDue.note(Set(try ids(of: id, on: connection)), on: connection)
    }

    /// A purchase of each app and environment of which events named an anonymous customer.
    private func told(_ id: String, on connection: PostgresConnection) throws -> [OwnerSettlement.Known] {
        let owned = try PurchaseTable.owned(by: try ids(of: id, on: connection), on: connection).filter { !$0.isGrant }
        let members = try AccountTable.members(owned, on: connection)
        var places: Set<AppScope> = []
        return owned.compactMap { key in
            guard let member = members[key], member.tell == nil,
                places.insert(AppScope(app: key.app, environment: key.environment)).inserted
            else { return nil }
            return OwnerSettlement.Known(id: member.owner, purchase: key)
        }
    }

    func alias(of id: String, isNew: Bool, on connection: PostgresConnection) throws -> Alias {
        guard let customer = try CustomerTable.load([id], on: connection)[id] else { throw Rejection.unknown(id) }
        return Alias(
            originalAppUserID: customer.originalAppUserID, appUserIDs: customer.appUserIDs, isNew: isNew)
    }
}
