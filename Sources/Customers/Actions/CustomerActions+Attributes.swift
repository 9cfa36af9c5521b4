import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// Writes attributes that an app or a backend sent of a customer, who is made if no customer has the id. What is wrong does
    /// not keep the rest from being saved.
    ///
    /// - Parameters:
    ///   - attributes: `{key: {"value", "updated_at_ms"}}`.
    ///   - makesCustomer: whether the customer is made if the id is new.
    ///   - takesPart: whether what is right is saved where something is wrong.
    /// - Returns: what was not taken; nil where it is no such object, and nothing was.
    /// - Throws: `Rejection` where the id cannot name a customer, or names none and none is to be made.
    package func setAttributes(
        _ attributes: JSON, of id: String, makesCustomer: Bool = true, takesPart: Bool = true,
        on connection: PostgresConnection
    ) throws -> [AttributePolicy.Fault]? {
        guard attributes.members != nil else { return nil }
        if makesCustomer { try admit(id, on: connection) }
        return try holding({ [] }, on: connection) { _ in
            let now = try makesCustomer ? lockOrMake([id], on: connection).now : lock(id, on: connection).now
            let known = try AttributeTable.load(try ids(of: id, on: connection), own: id, on: connection)
            guard
                let decision = AttributePolicy.decide(attributes, known: known.all, own: known.own, now: now)
            else { return nil }
            guard takesPart || decision.faults.isEmpty else { return decision.faults }
            try AttributeTable.write(decision, of: id, on: connection)
            return decision.faults
        }
    }

    /// Makes a customer with attributes, in one transaction.
    ///
    /// - Returns: false where a customer has the id, and nothing was done.
    /// - Throws: `Rejection` where the id cannot name a customer.
    package func make(
        _ id: String, attributes: JSON?, on connection: PostgresConnection
    ) throws -> Bool {
        try holding({ [] }, on: connection) { _ in
            guard try lock([id], on: connection).first == nil else { return false }
            if let why = AppUserID.objection(toNew: id) { throw Rejection.unusable(id: id, why: why) }
            let now = try connection.serverTime()
            // Another transaction may have made it meanwhile.
            guard try !CustomerTable.makeMissing([id], now: now, on: connection).isEmpty else { return false }
            let none = CustomerAttributes()
            if let attributes, let decision = AttributePolicy.decide(attributes, known: none, own: none, now: now) {
                try AttributeTable.write(decision, of: id, on: connection)
            }
            return true
        }
    }
}
