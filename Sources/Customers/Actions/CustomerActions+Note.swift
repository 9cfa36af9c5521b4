import Base
import Database
import Postgres

extension CustomerActions {
    /// Notes something on a customer, in the name of whom the actions are.
    ///
    /// - Throws: `Rejection` where the id names no customer.
    package func note(_ text: String, about id: String, on connection: PostgresConnection) throws -> CustomerNote {
        try holding({ [] }, on: connection) { _ in
            // A deletion waits for this, or this finds no customer.
            let found = try lock(id, on: connection)
            return try CustomerNoteTable.add(
                text, to: id, by: origin.actor, now: found.now, on: connection)
        }
    }
}
