import Base
import Postgres
import Subscriptions

/// A customer: one person, under every id that names them.
package struct Customer: Sendable, Equatable {
    /// The first id of all.
    package let originalAppUserID: String
    /// Every id, in the order in which they were given.
    package let appUserIDs: [String]
    /// Milliseconds.
    package let firstSeen: Int64

    package init(originalAppUserID: String, appUserIDs: [String], firstSeen: Int64) {
        self.originalAppUserID = originalAppUserID
        self.appUserIDs = appUserIDs
        self.firstSeen = firstSeen
    }
}

/// Customers and their ids in the database. Customers are in no lane: rows are made with `ON CONFLICT DO NOTHING`, and
/// locked in the order of their ids, after the fence.
package enum CustomerStore {
    /// Exact ids come before ids that differ in case, and of those the oldest.
    private static let find = """
        SELECT t.wanted, a.id FROM unnest($1::text[]) AS t(wanted)
        CROSS JOIN LATERAL (
            SELECT id FROM entitled.app_user_id WHERE lower(id) = lower(t.wanted)
            ORDER BY (id = t.wanted) DESC, first_seen_ms, id LIMIT 1
        ) a
        """

    /// The ids under which customers know these tokens; those that nobody has are not in the answer.
    package static func find(_ tokens: Set<String>, on connection: PostgresConnection) throws -> [String: String] {
        guard !tokens.isEmpty else { return [:] }
        var found: [String: String] = [:]
        for row in try connection.query(find, [.texts(tokens.sorted())]) {
            found[try row.text(0)] = try row.text(1)
        }
        return found
    }

    private static let make = """
        WITH wanted AS MATERIALIZED (SELECT id FROM unnest($1::text[]) AS t(id) ORDER BY id),
        named AS (
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            SELECT id, id, $2 FROM wanted ON CONFLICT DO NOTHING RETURNING id
        )
        INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
        SELECT id, $2 FROM named ORDER BY id ON CONFLICT DO NOTHING
        """

    /// Makes a customer for each id that names nobody yet.
    package static func make(_ ids: Set<String>, now: Int64, on connection: PostgresConnection) throws {
        guard !ids.isEmpty else { return }
        _ = try connection.query(make, [.texts(ids.sorted()), .int8(now)])
    }

    private static let select = """
        SELECT t.wanted, c.original_app_user_id, c.first_seen_ms, every.id
        FROM unnest($1::text[]) AS t(wanted)
        JOIN entitled.app_user_id named ON named.id = t.wanted
        JOIN entitled.customer c ON c.original_app_user_id = named.original_app_user_id
        JOIN entitled.app_user_id every ON every.original_app_user_id = c.original_app_user_id
        ORDER BY t.wanted, every.first_seen_ms, every.id <> c.original_app_user_id, every.id
        """

    /// The customers whom these ids name, by the id that was asked for.
    package static func load(_ ids: Set<String>, on connection: PostgresConnection) throws -> [String: Customer] {
        guard !ids.isEmpty else { return [:] }
        var customers: [String: Customer] = [:]
        for row in try connection.query(select, [.texts(ids.sorted())]) {
            let wanted = try row.text(0)
            let known = customers[wanted]?.appUserIDs ?? []
            customers[wanted] = Customer(
                originalAppUserID: try row.text(1), appUserIDs: known + [try row.text(3)], firstSeen: try row.int(2))
        }
        return customers
    }

    private static let root = "SELECT original_app_user_id FROM entitled.app_user_id WHERE id = $1"

    private static let lock = """
        SELECT original_app_user_id FROM entitled.customer WHERE original_app_user_id = ANY($1::text[])
        ORDER BY original_app_user_id FOR NO KEY UPDATE
        """

    private static let move = """
        WITH moved AS (
            UPDATE entitled.app_user_id SET original_app_user_id = $2 WHERE original_app_user_id = $1
        )
        DELETE FROM entitled.customer WHERE original_app_user_id = $1
        """

    /// Joins anonymous customers into those that turned out to be the same people: their ids become aliases.
    ///
    /// Whom an id names is read again once the customers are locked, because another worker may just have joined them.
    package static func merge(_ merges: [(anonymous: String, into: String)], on connection: PostgresConnection) throws {
        for merge in merges.sorted(by: { $0.anonymous < $1.anonymous }) {
            var locked: Set<String> = []
            while true {
                guard let from = try root(of: merge.anonymous, on: connection),
                    let into = try root(of: merge.into, on: connection), from != into, Owner.isAnonymous(from)
                else { break }
                guard locked == [from, into] else {
                    locked = [from, into]
                    _ = try connection.query(lock, [.texts(locked.sorted())])
                    continue
                }
                _ = try connection.query(move, [.text(from), .text(into)])
                break
            }
        }
    }

    private static func root(of id: String, on connection: PostgresConnection) throws -> String? {
        try connection.query(root, [.text(id)]).first?.text(0)
    }
}
