import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// A user of one id on a device logs in with another: `LoginResolution` decides. An id that no customer has
    /// counts as what it looks like.
    ///
    /// - Returns: whether the other id is new.
    /// - Throws: `Rejection` where an id cannot name a customer.
    package func identify(_ current: String, as new: String, on connection: PostgresConnection) throws -> Bool {
        try requireUsable(current, on: connection)
        if current == new { return try admit(new, on: connection) }
        try requireUsable(new, on: connection)
        try respell(new, on: connection)
        // Most logins change nothing, and then need no locks.
        let found = try CustomerTable.roots(of: [current, new], on: connection)
        if CustomerActions.outcome(current, found) == .switched { return false }
        return try holding({ [] }, on: connection) { _ in
            var found = try lock([current, new], on: connection)
            let isNew = found.last == nil
            switch CustomerActions.outcome(current, found.roots) {
            case .switched: break
            case .created:
                if try CustomerTable.makeMissing([new], now: found.now, on: connection).isEmpty { throw Overtaken() }
            case .joined:
                if found.first == nil {
                    found = try lockOrMake([current, new], on: connection)
                    // Another transaction may have made it, and given it to a person.
                    guard CustomerActions.outcome(current, found.roots) == .joined, isNew == (found.last == nil) else {
                        throw Overtaken()
                    }
                }
                guard isNew else {
                    _ = try join(current, new, .identify, on: connection)
                    break
                }
                // As an alias at once: whatever the clocks say, the anonymous id was there before.
                guard let root = found.first,
                    try CustomerTable.alias(new, of: root, now: found.now, on: connection)
                else { throw Overtaken() }
                try logJoin(.identify, current, new, under: root.originalAppUserID, now: found.now, on: connection)
            }
            return isNew
        }
    }

    /// - Parameter found: whom the current id names and whom the other one.
    private static func outcome(_ current: String, _ found: [CustomerTable.LockedCustomer?]) -> LoginResolution {
        let (one, two) = (found.first ?? nil, found.last ?? nil)
        return LoginResolution.outcome(
            isSame: one != nil && one == two, isCurrentAnonymous: one?.isAnonymous ?? Owner.isAnonymous(current),
            target: two.map { LoginResolution.Target(hasAnonymousID: $0.hasAnonymousID) })
    }

    /// - Throws: `Rejection` where an id names no customer and cannot name one.
    func requireUsable(_ id: String, on connection: PostgresConnection) throws {
        if let why = AppUserID.objection(to: id) { throw Rejection.unusable(id: id, why: why) }
        guard let why = AppUserID.invisible(in: id) else { return }
        if try CustomerTable.known([id], on: connection).isEmpty { throw Rejection.unusable(id: id, why: why) }
    }

    /// Makes the customer of an id that an app uses, unless a customer has it.
    ///
    /// - Returns: whether it is new.
    /// - Throws: `Rejection` where it cannot name a customer.
    @discardableResult
    package func admit(_ id: String, on connection: PostgresConnection) throws -> Bool {
        try !admit([id], on: connection).isEmpty
    }

    /// The same for many at once, who wait for one commit together.
    ///
    /// - Returns: those who are new.
    package func admit(_ ids: Set<String>, on connection: PostgresConnection) throws -> Set<String> {
        var missing: [String: String] = [:]
        var spellings: [String] = []
        for id in ids.subtracting(try CustomerTable.known(ids, on: connection)).sorted() {
            if let why = AppUserID.objection(toNew: id) { throw Rejection.unusable(id: id, why: why) }
            let name = UUIDText.bytes(id) == nil ? id : id.lowercased()
            if missing[name] != nil {
                spellings.append(id)
            } else if try !respell(id, on: connection) {
                missing[name] = id
            }
        }
        var made: Set<String> = []
        if !missing.isEmpty {
            made = try holding({ [] }, on: connection) { _ in
                try CustomerTable.makeMissing(
                    Set(missing.values), isSeen: true, now: try connection.serverTime(), on: connection)
            }
        }
        // They name customers now.
        for id in spellings { made.formUnion(try admit([id], on: connection)) }
        return made
    }

    /// Apple writes account tokens in lower case, and apps write UUIDs as they like: in another case it is the same
    /// customer. All other ids that differ in case are different people's.
    ///
    /// - Returns: whether the id now names a customer who was known by another spelling of it.
    @discardableResult
    func respell(_ id: String, on connection: PostgresConnection) throws -> Bool {
        guard UUIDText.bytes(id) != nil, let known = try CustomerTable.find([id], on: connection)[id], known != id
        else { return false }
        do {
            return try alias(known, id, atMost: CustomerActions.mostIDs, on: connection).isNew
        } catch Rejection.unknown {
            // Deleted meanwhile.
            return false
        } catch Rejection.tooManyIDs {
            // No app writes one UUID in so many ways: further spellings are taken for another customer.
            return false
        }
    }
}
