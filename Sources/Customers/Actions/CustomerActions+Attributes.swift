import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// Writes attributes that an app or a backend sent of a customer, who is made if no customer has the id. What is wrong does
    /// not keep the rest from being saved.
    ///
    /// - Parameter attributes: `{key: {"value", "updated_at_ms"}}`.
    /// - Returns: what was not taken; nil where it is no such object, and nothing was.
    /// - Throws: `Rejection` where the id cannot name a customer.
    package func setAttributes(
        _ attributes: JSON, of id: String, on connection: PostgresConnection
    ) throws -> [AttributePolicy.Fault]? {
        guard attributes.members != nil else { return nil }
        try admit(id, on: connection)
        return try holding({ [] }, on: connection) { _ in
            let now = try lockOrMake([id], on: connection).now
            let known = try AttributeTable.load(try ids(of: id, on: connection), own: id, on: connection)
            guard
                let decision = AttributePolicy.decide(attributes, known: known.all, own: known.own, now: now)
            else { return nil }
            try AttributeTable.write(decision, of: id, on: connection)
            return decision.faults
        }
    }
}
