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

    /// Whether no id names anybody.
    package var isAnonymous: Bool { appUserIDs.allSatisfy(Owner.isAnonymous) }
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

    /// The ids under which these owners are known: an account token is matched with ids that exist, whatever their case.
    ///
    /// - Parameter former: what they were found to be before. A token's stays, though another spelling came since.
    package static func ids(
        of owners: [Owner?], former: [String?], on connection: PostgresConnection
    ) throws -> [String?] {
        let tokens = zip(owners, former).compactMap { owner, former in
            if case .token(let token) = owner, former?.lowercased() != token.lowercased() { token } else { nil }
        }
        let known = try find(Set(tokens), on: connection)
        return zip(owners, former).map { owner, former in
            switch owner {
            case .token(let token) where former?.lowercased() == token.lowercased(): former
            case .token(let token): known[token] ?? token.lowercased()
            case .assigned(let id), .anonymous(let id): id
            case nil: nil
            }
        }
    }

    private static let make = """
        WITH wanted AS MATERIALIZED (SELECT id FROM unnest($1::text[]) AS t(id) ORDER BY id),
        named AS (
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            SELECT id, id, $2 FROM wanted ON CONFLICT DO NOTHING RETURNING id
        ),
        made AS (
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            SELECT id, $2 FROM named ORDER BY id ON CONFLICT DO NOTHING
        )
        SELECT id FROM named
        """

    private static let hold = """
        SELECT id FROM entitled.app_user_id WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE
        """

    /// Makes a customer for each id that names nobody yet.
    package static func make(_ ids: Set<String>, now: Int64, on connection: PostgresConnection) throws {
        _ = try makeMissing(ids, now: now, on: connection)
    }

    /// The same; the ids for which it was this call.
    package static func makeMissing(
        _ ids: Set<String>, now: Int64, on connection: PostgresConnection
    ) throws -> Set<String> {
        guard !ids.isEmpty else { return [] }
        return Set(try connection.query(make, [.texts(ids.sorted()), .int8(now)]).map { try $0.text(0) })
    }

    private static let markSeen = """
        WITH seen AS MATERIALIZED (
            SELECT original_app_user_id AS id FROM entitled.customer
            WHERE original_app_user_id = ANY($1::text[]) AND (last_seen_ms IS NULL OR last_seen_ms < $2)
            FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE entitled.customer SET last_seen_ms = $3 FROM seen WHERE original_app_user_id = seen.id
        """

    /// Notes that apps of these customers asked now, where that was noted before `staleBefore` or never. Waits for
    /// nobody: who is being joined or deleted is left out. In ms.
    package static func markSeen(
        _ originalIDs: Set<String>, staleBefore: Int64, now: Int64, on connection: PostgresConnection
    ) throws {
        guard !originalIDs.isEmpty else { return }
        _ = try connection.query(markSeen, [.texts(originalIDs.sorted()), .int8(staleBefore), .int8(now)])
    }

    /// The same, and until the end of the transaction nobody deletes these ids: for owners of new purchases.
    package static func makeAndHold(_ ids: Set<String>, now: Int64, on connection: PostgresConnection) throws {
        var missing = ids
        while !missing.isEmpty {
            let made = try connection.query(make, [.texts(missing.sorted()), .int8(now)]).map { try $0.text(0) }
            missing.subtract(made)
            guard !missing.isEmpty else { return }
            // One that was there may have been deleted before it could be held.
            missing.subtract(try connection.query(hold, [.texts(missing.sorted())]).map { try $0.text(0) })
        }
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

    // MARK: - Joining

    private static let roots = """
        SELECT t.place, c.original_app_user_id, c.first_seen_ms, bool_and(starts_with(every.id, $2))
        FROM unnest($1::text[]) WITH ORDINALITY AS t(id, place)
        JOIN entitled.app_user_id named ON named.id = t.id
        JOIN entitled.customer c ON c.original_app_user_id = named.original_app_user_id
        JOIN entitled.app_user_id every ON every.original_app_user_id = c.original_app_user_id
        GROUP BY 1, 2, 3 ORDER BY 1
        """

    private static let lock = """
        SELECT original_app_user_id FROM entitled.customer WHERE original_app_user_id = ANY($1::text[])
        ORDER BY original_app_user_id FOR NO KEY UPDATE
        """

    /// The offering that was chosen for the one who goes stays chosen, unless there is one for the other.
    private static let move = """
        WITH moved AS (
            UPDATE entitled.app_user_id SET original_app_user_id = $2 WHERE original_app_user_id = $1
        ),
        gone AS (
            DELETE FROM entitled.customer WHERE original_app_user_id = $1 RETURNING offering_override
        )
        UPDATE entitled.customer c SET offering_override = gone.offering_override FROM gone
        WHERE c.original_app_user_id = $2 AND c.offering_override IS NULL AND gone.offering_override IS NOT NULL
        """

    /// A customer as a lock finds it.
    package struct Root: Sendable, Equatable {
        package let originalAppUserID: String
        /// ms since 1970.
        package let firstSeen: Int64
        /// Whether no id names anybody.
        package let isAnonymous: Bool
    }

    /// The customers whom these ids name, in their order and locked; nil for ids that name nobody.
    ///
    /// Read again once they are locked, because somebody may just have joined them.
    package static func lock(_ ids: [String], on connection: PostgresConnection) throws -> [Root?] {
        var locked: Set<String> = []
        while true {
            let found = try find(roots: ids, on: connection)
            let wanted = Set(found.compactMap { $0?.originalAppUserID })
            if wanted.isSubset(of: locked) { return found }
            // From the beginning of the order each time: whoever locks two does it in this order.
            _ = try connection.query(lock, [.texts(wanted.union(locked).sorted())])
            locked.formUnion(wanted)
        }
    }

    private static func find(roots ids: [String], on connection: PostgresConnection) throws -> [Root?] {
        var found = [Root?](repeating: nil, count: ids.count)
        for row in try connection.query(roots, [.texts(ids), .text(Owner.anonymousPrefix)]) {
            let place = Int(try row.int(0)) - 1
            guard found.indices.contains(place) else { continue }
            found[place] = Root(
                originalAppUserID: try row.text(1), firstSeen: try row.int(2), isAnonymous: try row.bool(3))
        }
        return found
    }

    /// Makes one customer of two that are locked. The one seen first stays: consumers know it by that id.
    package static func unite(_ one: Root, _ other: Root, on connection: PostgresConnection) throws {
        guard one.originalAppUserID != other.originalAppUserID else { return }
        let isFirst =
            (one.firstSeen, one.originalAppUserID) < (other.firstSeen, other.originalAppUserID)
        let (staying, going) = isFirst ? (one, other) : (other, one)
        _ = try connection.query(move, [.text(going.originalAppUserID), .text(staying.originalAppUserID)])
    }

    /// Joins anonymous customers to those who turned out to be the same people: their ids become aliases. A customer
    /// whom somebody named meanwhile stays apart.
    package static func merge(
        _ merges: [(anonymous: String, into: String)], now: Int64, on connection: PostgresConnection
    ) throws {
        for merge in merges.sorted(by: { $0.anonymous < $1.anonymous }) {
            let found = try lock([merge.anonymous, merge.into], on: connection)
            guard let from = found.first ?? nil, let into = found.last ?? nil, from != into, from.isAnonymous
            else { continue }
            try unite(from, into, on: connection)
            try ActionLog.add(
                ActionLog.New(.merge, merge.into, other: merge.anonymous), by: .worker, now: now, on: connection)
        }
    }

    // MARK: - Deleting

    private static let deleteIDs = "DELETE FROM entitled.app_user_id WHERE original_app_user_id = $1 RETURNING id"
    private static let deleteCustomer = "DELETE FROM entitled.customer WHERE original_app_user_id = $1"

    /// Deletes a customer who is locked, with every id; these ids.
    package static func delete(_ root: Root, on connection: PostgresConnection) throws -> [String] {
        let ids = try connection.query(deleteIDs, [.text(root.originalAppUserID)]).map { try $0.text(0) }
        _ = try connection.query(deleteCustomer, [.text(root.originalAppUserID)])
        return ids.sorted()
    }

    // MARK: - Rebuilding

    private static let selectKnown = "SELECT id FROM entitled.app_user_id WHERE id = ANY($1::text[])"

    /// Those of these ids that name somebody.
    package static func known(_ ids: Set<String>, on connection: PostgresConnection) throws -> Set<String> {
        guard !ids.isEmpty else { return [] }
        return Set(try connection.query(selectKnown, [.texts(ids.sorted())]).map { try $0.text(0) })
    }

    /// Makes customers who were first seen at these instants, in ms; those that are there stay as they are.
    package static func restore(_ firstSeen: [String: Int64], on connection: PostgresConnection) throws {
        for (instant, ids) in Dictionary(grouping: firstSeen.keys, by: { firstSeen[$0] ?? 0 }) {
            try make(Set(ids), now: instant, on: connection)
        }
    }

    private static let makeCustomer = """
        INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING
        """
    private static let setRoot = """
        UPDATE entitled.app_user_id SET original_app_user_id = $1
        WHERE id = ANY($2::text[]) AND original_app_user_id <> $1
        """

    /// Makes these ids name the customer with this original id, who is made if there is none.
    package static func regroup(
        _ ids: [String], under root: String, firstSeen: Int64, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(makeCustomer, [.text(root), .int8(firstSeen)])
        _ = try connection.query(setRoot, [.text(root), .texts(ids)])
    }

    private static let deleteEmpty = """
        DELETE FROM entitled.customer c WHERE c.original_app_user_id = ANY($1::text[])
            AND NOT EXISTS (SELECT 1 FROM entitled.app_user_id a WHERE a.original_app_user_id = c.original_app_user_id)
        """

    /// Removes those of these customers whom no id names.
    package static func removeEmpty(_ roots: [String], on connection: PostgresConnection) throws {
        _ = try connection.query(deleteEmpty, [.texts(roots)])
    }
}
