import Base
import Postgres
import Subscriptions

/// Reads customers with all that is known of their purchases, for operators.
package enum CustomerQuery {
    package struct Found: Sendable {
        package let customer: Customer
        /// Folded from the facts at this moment, in the order of original purchase date, then of the id.
        package let purchases: [Purchase]
        /// When anything about the customer changed last, in milliseconds.
        package let lastSeen: Int64
        /// Purchases with more facts than were read.
        package let unread: [PurchaseKey]
        /// Whether the customer has more purchases than were looked at.
        package let isCut: Bool
    }

    private static let caseless = """
        SELECT id, original_app_user_id FROM entitled.app_user_id WHERE lower(id) = lower($1)
        ORDER BY id <> $1, first_seen_ms, id LIMIT $2
        """

    private static let owners = """
        SELECT owner FROM (
            SELECT p.owner, p.updated_ms FROM entitled.purchase_identifier i
            JOIN entitled.purchase p ON p.lane = i.lane AND p.original_transaction_id = i.original_transaction_id
                AND p.app = i.app AND p.environment = i.environment
            WHERE i.identifier = $1
            UNION ALL
            SELECT owner, updated_ms FROM entitled.purchase WHERE lane = ANY($2::int2[]) AND original_transaction_id = $1
        ) AS found GROUP BY owner ORDER BY min(updated_ms), owner
        """

    private static let purchases = """
        SELECT p.app, p.environment, p.original_transaction_id, p.updated_ms FROM entitled.purchase p
        WHERE p.owner = ANY($1::text[]) /* cluster: AND p.lane = ANY($3::int2[]) */
        ORDER BY p.updated_ms DESC, p.original_transaction_id LIMIT $2
        """

    /// Whom an id names that an operator gave: every command asks here. An app user id, an alias or an app account token; a
    /// transaction id, original transaction id or web order line item id names the owner of the purchase.
    package static func resolve(_ id: String, on connection: PostgresConnection) throws -> ResolvedID {
        let given = AppUserID.normal(id)
        let limit = Int64(ResolvedID.mostSpellings + 1)
        let found = try connection.query(caseless, [.text(given), .int8(limit)]).map {
            ResolvedID.Candidate(id: try $0.text("id"), originalAppUserID: try $0.text("original_app_user_id"))
        }
        let isUUID = UUIDText.bytes(given) != nil
        if !found.isEmpty, isUUID || found.first?.id == given {
            return ResolvedID(given, isUUID: isUUID, caseless: found, owners: [])
        }
        let owners = try connection.query(owners, [.text(given), PurchaseQuery.lanes]).map { try $0.text("owner") }
        let customers = try CustomerTable.load(Set(owners), on: connection)
        var known: Set<String> = []
        let candidates = owners.compactMap { owner in
            customers[owner].map { ResolvedID.Candidate(id: owner, originalAppUserID: $0.originalAppUserID) }
        }.filter { known.insert($0.originalAppUserID).inserted }
        return ResolvedID(given, isUUID: isUUID, caseless: found, owners: candidates)
    }

    /// By whatever a customer is known by (`resolve`); nil where that names no customer, or more than one.
    package static func find(
        anyID: String, foldSettings: FoldSettings, on connection: PostgresConnection
    ) throws -> Found? {
        guard let id = try resolve(anyID, on: connection).appUserID else { return nil }
        return try find(id, foldSettings: foldSettings, on: connection)
    }

    /// By app user id; nil where it names no customer.
    ///
    /// - Parameters:
    ///   - foldSettings: what the configuration adds to facts.
    ///   - limits: how much is read; nil: everything.
    package static func find(
        _ id: String, foldSettings: FoldSettings, within limits: Limits? = nil, on connection: PostgresConnection
    ) throws -> Found? {
        guard let customer = try CustomerTable.load([id], on: connection)[id] else { return nil }
        var keys: [PurchaseKey] = []
        var lastSeen = customer.firstSeen
        for row in try purchases(ofOwners: customer.appUserIDs, limit: nil, on: connection) {
            keys.append(try PurchaseKey(row))
            lastSeen = max(lastSeen, try row.int("updated_ms"))
        }
        let isCut = keys.count > limits?.purchases ?? .max
        if let most = limits?.purchases { keys = Array(keys.prefix(most)) }
        let bounds = limits?.facts ?? FactTable.Bounds(rows: nil, bytes: nil)
        var (folded, unread) = ([Purchase](), [PurchaseKey]())
        for (key, known) in zip(keys, try FactTable.known(of: keys, within: bounds, on: connection)) {
            guard let known, known.isWhole else {
                unread.append(key)
                continue
            }
            if let purchase = Purchase(folding: known.facts, key: key, foldSettings: foldSettings) {
                folded.append(purchase)
            }
        }
        return Found(customer: customer, purchases: folded, lastSeen: lastSeen, unread: unread, isCut: isCut)
    }

    /// How much is read of a customer.
    package struct Limits: Sendable {
        package let purchases: Int
        package let facts: FactTable.Bounds

        package init(purchases: Int, facts: FactTable.Bounds) {
            (self.purchases, self.facts) = (purchases, facts)
        }
    }

    /// The purchases that these ids own, those that changed last first.
    package static func purchases(
        ofOwners ids: [String], atMost limit: Int?, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        try purchases(ofOwners: ids, limit: limit.map { Int64($0) }, on: connection).map { try PurchaseKey($0) }
    }

    private static func purchases(
        ofOwners ids: [String], limit: Int64?, on connection: PostgresConnection
    ) throws -> [PostgresRow] {
        guard let lanes = try PurchaseLanes.values(ofOwners: ids, on: connection) else { return [] }
        return Array(try connection.query(purchases, [.texts(ids), .int8(limit)] + lanes))
    }

    /// The hash tells customers of one instant apart.
    private static let page = """
        SELECT c.original_app_user_id, c.first_seen_ms, c.tie, a.id FROM (
            SELECT original_app_user_id, first_seen_ms, md5(original_app_user_id)::uuid AS tie FROM entitled.customer
            WHERE first_seen_ms >= $2 AND first_seen_ms < $3
                AND ($4::int8 IS NULL OR first_seen_ms <= $4
                    AND (first_seen_ms, md5(original_app_user_id)::uuid) < ($4, $5::uuid))
            ORDER BY first_seen_ms DESC, md5(original_app_user_id)::uuid DESC LIMIT $1
        ) c
        LEFT JOIN LATERAL (
            SELECT id, first_seen_ms FROM entitled.app_user_id WHERE original_app_user_id = c.original_app_user_id LIMIT 100
        ) a ON true
        ORDER BY c.first_seen_ms DESC, c.tie DESC, a.first_seen_ms, a.id
        """

    /// A page of all customers, the newest first; read in parts by the index of blocks on `first_seen_ms`.
    package static func list(
        _ range: ListRange, now: Int64, on connection: PostgresConnection
    ) throws -> ListPage<Customer> {
        let least = max(0, range.since ?? 0)
        let end = range.after.map { $0.order == .max ? .max : min(range.until ?? .max, $0.order + 1) }
        var scan = BackwardScan(
            from: least, to: end ?? range.until ?? .max, now: now, part: range.after?.part, budget: range.budget)
        let found = try scan.collect(range.limit + 1, on: connection) { part, limit in
            try rows(range, part, limit, on: connection)
        }
        let stop = scan.stop?.ending()
        return ListPage(found, limit: range.limit, stop: stop) {
            ListCursor(order: $0.customer.firstSeen, lane: 0, id: $0.tie)
        }.map { $0.map(\.customer) }
    }

    private typealias PageRow = (customer: Customer, tie: [UInt8])

    private static func rows(
        _ range: ListRange, _ part: Range<Int64>, _ limit: Int, on connection: PostgresConnection
    ) throws -> [PageRow] {
        var found: [PageRow] = []
        let parameters: [PostgresValue] = [
            .int8(Int64(limit)), .int8(part.lowerBound), .int8(part.upperBound), .int8(range.after?.order),
            .uuid(range.after?.id),
        ]
        for row in try connection.query(page, parameters) {
            let (original, id) = (try row.text("original_app_user_id"), try row.optionalText("id"))
            let known =
                found.last?.customer.originalAppUserID == original ? found.removeLast().customer.appUserIDs : []
            let customer = Customer(
                originalAppUserID: original, appUserIDs: known + [id].compactMap { $0 },
                firstSeen: try row.int("first_seen_ms"))
            found.append((customer, try row.uuid("tie")))
        }
        return found
    }

    private static let newest = """
        SELECT c.original_app_user_id, c.first_seen_ms, a.id FROM (
            SELECT original_app_user_id, first_seen_ms FROM entitled.customer
            ORDER BY first_seen_ms DESC, original_app_user_id LIMIT $1
        ) c
        LEFT JOIN entitled.app_user_id a ON a.original_app_user_id = c.original_app_user_id
        ORDER BY c.first_seen_ms DESC, c.original_app_user_id, a.first_seen_ms, a.id
        """

    /// The newest first.
    package static func list(atMost limit: Int, on connection: PostgresConnection) throws -> [Customer] {
        var customers: [Customer] = []
        for row in try connection.query(newest, [.int8(Int64(limit))]) {
            let (original, id) = (try row.text("original_app_user_id"), try row.optionalText("id"))
            let known = customers.last?.originalAppUserID == original ? customers.removeLast().appUserIDs : []
            customers.append(
                Customer(
                    originalAppUserID: original, appUserIDs: known + [id].compactMap { $0 },
                    firstSeen: try row.int("first_seen_ms")))
        }
        return customers
    }
}
