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
    /// Of all ids together.
    package let attributes: CustomerAttributes
    /// When ids were used last by an app or a backend, in ms; without those that none did.
    package let seen: [String: Int64]

    package init(
        originalAppUserID: String, appUserIDs: [String], firstSeen: Int64,
        attributes: CustomerAttributes = CustomerAttributes(), seen: [String: Int64] = [:]
    ) {
        self.originalAppUserID = originalAppUserID
        self.appUserIDs = appUserIDs
        self.firstSeen = firstSeen
        self.attributes = attributes
        self.seen = seen
    }

    /// Whether all ids are anonymous.
    package var isAnonymous: Bool { appUserIDs.allSatisfy(Owner.isAnonymous) }
}

/// Customers and their ids in the database. Customers are in no lane: rows are made with `ON CONFLICT DO NOTHING`, and
/// locked in the order of their ids, after the fence.
package enum CustomerTable {
    /// Exact ids come before ids that differ in case, and of those the oldest.
    private static let find = """
        SELECT t.wanted, a.id FROM unnest($1::text[]) AS t(wanted)
        CROSS JOIN LATERAL (
            SELECT id FROM entitled.app_user_id WHERE lower(id) = lower(t.wanted)
            ORDER BY (id = t.wanted) DESC, first_seen_ms, id LIMIT 1
        ) a
        """

    /// The customers' ids for these account tokens; tokens that no customer has are left out.
    package static func find(_ tokens: Set<String>, on connection: PostgresConnection) throws -> [String: String] {
        guard !tokens.isEmpty else { return [:] }
        var found: [String: String] = [:]
        for row in try connection.query(find, [.texts(tokens.sorted())]) {
            found[try row.text("wanted")] = try row.text("id")
        }
        return found
    }

    /// A cluster would have any of its servers pass the ids on to the second part (`makeNamed`).
    private static let make = """
        /* cluster: INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms, last_seen_ms)
            SELECT id, id, $2, CASE WHEN $3 THEN $2 END FROM unnest($1::text[]) AS t(id) ORDER BY id
            ON CONFLICT DO NOTHING RETURNING id for: */
        WITH wanted AS MATERIALIZED (SELECT id FROM unnest($1::text[]) AS t(id) ORDER BY id),
        named AS (
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms, last_seen_ms)
            SELECT id, id, $2, CASE WHEN $3 THEN $2 END FROM wanted ON CONFLICT DO NOTHING RETURNING id
        ),
        made AS (
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            SELECT id, $2 FROM named ORDER BY id ON CONFLICT DO NOTHING
        )
        SELECT id FROM named/* end */
        """

    private static let makeNamed = """
        INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
        SELECT id, $2 FROM unnest($1::text[]) AS t(id) ORDER BY id ON CONFLICT DO NOTHING
        """

    private static let hold = """
        SELECT id FROM entitled.app_user_id WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE
        """

    /// Makes a customer for each id that names none yet.
    package static func make(_ ids: Set<String>, now: Int64, on connection: PostgresConnection) throws {
        _ = try makeMissing(ids, now: now, on: connection)
    }

    /// The same; the ids for which it was this call.
    ///
    /// - Parameter isSeen: whether an app or a backend uses these ids now (`SeenIDs`).
    package static func makeMissing(
        _ ids: Set<String>, isSeen: Bool = false, now: Int64, on connection: PostgresConnection
    ) throws -> Set<String> {
        guard !ids.isEmpty else { return [] }
        func insert() throws -> Set<String> {
            let made = try connection.query(make, [.texts(ids.sorted()), .int8(now), .bool(isSeen)])
            return Set(try made.map { try $0.text("id") })
        }
        guard connection.isCluster else { return try insert() }
        return try connection.joinedTransaction {
            let made = try insert()
            if !made.isEmpty { _ = try connection.query(makeNamed, [.texts(made.sorted()), .int8(now)]) }
            return made
        }
    }

    private static let markOfAccounts = "UPDATE entitled.app_user_id SET of_account = true WHERE id = ANY($1::text[])"

    /// The same for ids that are made here for Apple accounts, and are no device's; those that were missing.
    @discardableResult
    package static func makeOfAccounts(
        _ ids: Set<String>, now: Int64, on connection: PostgresConnection
    ) throws -> Set<String> {
        let made = try makeMissing(ids, now: now, on: connection)
        if !made.isEmpty { _ = try connection.query(markOfAccounts, [.texts(made.sorted())]) }
        return made
    }

    private static let markSeen = """
        WITH seen AS MATERIALIZED (
            SELECT original_app_user_id AS id FROM entitled.customer
            WHERE original_app_user_id = ANY($1::text[]) AND (last_seen_ms IS NULL OR last_seen_ms < $2)
            FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE entitled.customer SET last_seen_ms = $3 FROM seen WHERE original_app_user_id = seen.id
        """

    /// Notes that apps of these customers asked now, where that was noted before `staleBefore` or never. Waits
    /// for no lock: customers who are being joined or deleted are left out. In ms.
    package static func markSeen(
        _ originalIDs: Set<String>, staleBefore: Int64, now: Int64, on connection: PostgresConnection
    ) throws {
        guard !originalIDs.isEmpty else { return }
        _ = try connection.query(markSeen, [.texts(originalIDs.sorted()), .int8(staleBefore), .int8(now)])
    }

    /// Makes a customer for each id that names none yet, and until the end of the transaction none of the ids can be deleted:
    /// for owners of new purchases.
    ///
    /// - Returns: the ids that this call made.
    @discardableResult
    package static func makeAndHold(
        _ ids: Set<String>, now: Int64, on connection: PostgresConnection
    ) throws -> Set<String> {
        var (missing, made): (Set<String>, Set<String>) = (ids, [])
        while !missing.isEmpty {
            made.formUnion(try makeMissing(missing, now: now, on: connection))
            missing.subtract(made)
            guard !missing.isEmpty else { break }
            // One that was there may have been deleted before it could be held.
            missing.subtract(try connection.query(hold, [.texts(missing.sorted())]).map { try $0.text("id") })
        }
        return made
    }

    private static let backdate = """
        WITH named AS (
            UPDATE entitled.app_user_id SET first_seen_ms = $2 WHERE id = $1 AND first_seen_ms > $2
            RETURNING original_app_user_id
        )
        UPDATE entitled.customer c SET first_seen_ms = $2 FROM named
        WHERE c.original_app_user_id = named.original_app_user_id AND c.first_seen_ms > $2
        """

    /// Notes that another system saw this id before, in ms. Its customer is locked.
    package static func backdate(_ id: String, to instant: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(backdate, [.text(id), .int8(instant)])
    }

    private static let alias = """
        INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING RETURNING id
        """

    /// Gives another id to a locked customer; false if another customer has it by now.
    package static func alias(
        _ id: String, of root: LockedCustomer, now: Int64, on connection: PostgresConnection
    ) throws -> Bool {
        let rows = try connection.query(alias, [.text(id), .text(root.originalAppUserID), .int8(now)])
        return !rows.isEmpty
    }

    private static let select = """
        SELECT t.wanted, c.original_app_user_id, c.first_seen_ms, every.id,
            \(AttributeTable.column(of: "every.id")) AS attributes, every.last_seen_ms
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
            let wanted = try row.text("wanted")
            let known = customers[wanted]?.appUserIDs ?? []
            var attributes = customers[wanted]?.attributes ?? CustomerAttributes()
            try AttributeTable.add(try row.optionalText("attributes"), to: &attributes)
            var seen = customers[wanted]?.seen ?? [:]
            seen[try row.text("id")] = try row.optionalInt("last_seen_ms")
            customers[wanted] = Customer(
                originalAppUserID: try row.text("original_app_user_id"), appUserIDs: known + [try row.text("id")],
                firstSeen: try row.int("first_seen_ms"),
                attributes: attributes, seen: seen)
        }
        return customers
    }

    private static let selectPage = """
        SELECT original_app_user_id FROM entitled.customer
        WHERE original_app_user_id > $1 AND first_seen_ms >= $2 AND first_seen_ms < $3
        ORDER BY original_app_user_id LIMIT 500
        """

    /// The original ids of some customers, in their order; none: there are no more.
    ///
    /// - Parameter firstSeen: in ms.
    package static func page(
        after id: String, firstSeen: Range<Int64>, on connection: PostgresConnection
    ) throws -> [String] {
        try connection.query(
            selectPage, [.text(id), .int8(firstSeen.lowerBound), .int8(firstSeen.upperBound)]
        ).map { try $0.text("original_app_user_id") }
    }

    private static let selectCount = """
        SELECT count(*) FROM entitled.customer WHERE first_seen_ms >= $1 AND first_seen_ms < $2
        """

    /// How many customers were first seen in this time, in ms.
    package static func count(firstSeen: Range<Int64>, on connection: PostgresConnection) throws -> Int64 {
        try connection.query(selectCount, [.int8(firstSeen.lowerBound), .int8(firstSeen.upperBound)]).one().int("count")
    }

    // MARK: - Joining

    private static let roots = """
        SELECT t.place, c.original_app_user_id, c.first_seen_ms, bool_and(starts_with(every.id, $2)) AS is_anonymous,
            bool_or(starts_with(every.id, $2) AND NOT every.of_account) AS has_anonymous_id, c.restore_behavior
        FROM unnest($1::text[]) WITH ORDINALITY AS t(id, place)
        JOIN entitled.app_user_id named ON named.id = t.id
        JOIN entitled.customer c ON c.original_app_user_id = named.original_app_user_id
        JOIN entitled.app_user_id every ON every.original_app_user_id = c.original_app_user_id
        GROUP BY 1, 2, 3, 6 ORDER BY 1
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
            DELETE FROM entitled.customer WHERE original_app_user_id = $1
            RETURNING offering_override, original_application_version, app_purchased_ms, app_environment
        ),
        judged AS (
            SELECT gone.*, gone.app_environment IS NOT NULL AND (c.app_environment IS NULL
                OR (gone.app_environment, gone.app_purchased_ms) < (c.app_environment, c.app_purchased_ms)) AS is_first
            FROM gone JOIN entitled.customer c ON c.original_app_user_id = $2
        )
        UPDATE entitled.customer c
        SET offering_override = coalesce(c.offering_override, j.offering_override),
            original_application_version = CASE WHEN j.is_first THEN j.original_application_version
                ELSE c.original_application_version END,
            app_purchased_ms = CASE WHEN j.is_first THEN j.app_purchased_ms ELSE c.app_purchased_ms END,
            app_environment = CASE WHEN j.is_first THEN j.app_environment ELSE c.app_environment END
        FROM judged j
        WHERE c.original_app_user_id = $2
            AND (j.is_first OR (c.offering_override IS NULL AND j.offering_override IS NOT NULL))
        """

    /// A customer as a lock finds it.
    package struct LockedCustomer: Sendable, Equatable {
        package let originalAppUserID: String
        /// ms since 1970.
        package let firstSeen: Int64
        /// Whether all ids are anonymous.
        package let isAnonymous: Bool
        /// Whether one of the ids is an anonymous id, made on a device.
        package let hasAnonymousID: Bool
        /// What counts in place of the configuration's.
        package let restoreBehavior: RestoreBehavior?
    }

    /// Of two customers the lesser one was first. At one instant an anonymous id was there before a person's.
    package static func seniority(of id: String, firstSeen: Int64) -> (Int64, Int, String) {
        (firstSeen, Owner.isAnonymous(id) ? 0 : 1, id)
    }

    /// The customers whom these ids name, in their order and locked; nil for ids that name no customer.
    ///
    /// Read again once they are locked, because another transaction may just have joined them.
    package static func lock(_ ids: [String], on connection: PostgresConnection) throws -> [LockedCustomer?] {
        var locked: Set<String> = []
        while true {
            let found = try roots(of: ids, on: connection)
            let wanted = Set(found.compactMap { $0?.originalAppUserID })
            if wanted.isSubset(of: locked) { return found }
            // From the beginning of the order each time: every transaction that locks two customers locks them in this order.
            _ = try connection.query(lock, [.texts(wanted.union(locked).sorted())])
            locked.formUnion(wanted)
        }
    }

    /// The customers whom these ids name, in their order, as they are at this moment; nil for ids that name
    /// no customer.
    package static func roots(of ids: [String], on connection: PostgresConnection) throws -> [LockedCustomer?] {
        var found = [LockedCustomer?](repeating: nil, count: ids.count)
        for row in try connection.query(roots, [.texts(ids), .text(Owner.anonymousPrefix)]) {
            let place = Int(try row.int("place")) - 1
            guard found.indices.contains(place) else { continue }
            found[place] = LockedCustomer(
                originalAppUserID: try row.text("original_app_user_id"), firstSeen: try row.int("first_seen_ms"),
                isAnonymous: try row.bool("is_anonymous"),
                hasAnonymousID: try row.bool("has_anonymous_id"),
                restoreBehavior: try row.optionalText("restore_behavior").flatMap(RestoreBehavior.init(rawValue:)))
        }
        return found
    }

    /// Makes one customer of two that are locked; its original id. The one seen first stays: consumers know it by that id.
    package static func unite(_ one: LockedCustomer, _ other: LockedCustomer, on connection: PostgresConnection) throws
        -> String
    {
        guard one.originalAppUserID != other.originalAppUserID else { return one.originalAppUserID }
        let isFirst =
            seniority(of: one.originalAppUserID, firstSeen: one.firstSeen)
            < seniority(of: other.originalAppUserID, firstSeen: other.firstSeen)
        let (staying, going) = isFirst ? (one, other) : (other, one)
        _ = try connection.query(move, [.text(going.originalAppUserID), .text(staying.originalAppUserID)])
        guard one.restoreBehavior != other.restoreBehavior else { return staying.originalAppUserID }
        let ids = try load([staying.originalAppUserID], on: connection)[staying.originalAppUserID]?.appUserIDs ?? []
        let last = try ActionTable.restoreWords(about: ids, on: connection).last
        try setRestoreBehavior(last?.behavior, of: staying.originalAppUserID, on: connection)
        return staying.originalAppUserID
    }

    private static let setBehavior = """
        UPDATE entitled.customer SET restore_behavior = $2
        WHERE original_app_user_id = $1 AND restore_behavior IS DISTINCT FROM $2
        """

    /// What becomes of this customer's purchases when others restore them; nil: what the configuration says. The
    /// customer is locked, and the log has it.
    package static func setRestoreBehavior(
        _ behavior: RestoreBehavior?, of root: String, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(setBehavior, [.text(root), .text(behavior?.rawValue)])
    }

    // MARK: - Deleting

    private static let deleteIDs = "DELETE FROM entitled.app_user_id WHERE original_app_user_id = $1 RETURNING id"
    private static let deleteCustomer = "DELETE FROM entitled.customer WHERE original_app_user_id = $1"

    /// Deletes a customer who is locked, with every id; these ids.
    package static func delete(_ root: LockedCustomer, on connection: PostgresConnection) throws -> [String] {
        let ids = try connection.query(deleteIDs, [.text(root.originalAppUserID)]).map { try $0.text("id") }
        _ = try connection.query(deleteCustomer, [.text(root.originalAppUserID)])
        return ids.sorted()
    }
}
