import Base
import Postgres
import Subscriptions

/// Reads customers for their documents, many at once: one statement that locks nothing (two on a cluster), and another one
/// where a purchase has no snapshot that fits.
package struct SubscriberQuery: Sendable {
    private let foldSettings: FoldSettings
    private let codec: SnapshotCodec

    /// - Parameter foldSettings: what the configuration adds to facts.
    package init(foldSettings: FoldSettings) {
        self.foldSettings = foldSettings
        codec = SnapshotCodec(foldSettings: foldSettings)
    }

    package struct Found: Sendable {
        package let originalAppUserID: String
        /// In the order in which they were given.
        package let appUserIDs: [String]
        package let firstSeen: Int64
        /// When an app asked last, as far as that was noted, in ms.
        package let noted: Int64?
        /// When the id that is asked for was used last, and another id of the customer, as far as that is recorded, in ms.
        package let seen: Int64?
        package let othersSeen: Int64?
        /// What is known of the purchase of the app itself; the date in ms.
        package let originalApplicationVersion: String?
        package let appPurchased: Int64?
        package let attributes: CustomerAttributes
        package fileprivate(set) var snapshots: [PurchaseSnapshot] = []
        /// Those of them that are to be kept.
        package fileprivate(set) var made: [SnapshotTable.New] = []

        /// - Parameters:
        ///   - showsAttributes: only to who has a secret key.
        ///   - seen: when an app asks, if one does, in ms.
        package func profile(showsAttributes: Bool, seen: Int64? = nil) -> CustomerProfile {
            CustomerProfile(
                originalAppUserID: originalAppUserID, appUserIDs: appUserIDs, firstSeen: firstSeen,
                lastSeen: max(firstSeen, noted ?? firstSeen, seen ?? firstSeen),
                attributes: showsAttributes ? attributes.json : nil,
                originalApplicationVersion: originalApplicationVersion, originalPurchaseDate: appPurchased)
        }
    }

    /// `OFFSET 0` keeps the planner from joining the tables as wholes: without statistics it would, and read all of them.
    private static let select = """
        SELECT t.place, c.original_app_user_id, c.first_seen_ms, c.last_seen_ms AS noted_ms, every.ids,
            c.original_application_version, c.app_purchased_ms, every.attributes, named.last_seen_ms, every.others_seen
            /* cluster: for: */, p.app, p.environment, p.original_transaction_id, p.version, p.updated_ms, s.body/* end */
        FROM unnest($1::text[]) WITH ORDINALITY AS t(wanted, place)
        JOIN entitled.app_user_id named ON named.id = t.wanted
        JOIN entitled.customer c ON c.original_app_user_id = named.original_app_user_id
        CROSS JOIN LATERAL (
            SELECT array_agg(a.id ORDER BY a.first_seen_ms, a.id <> c.original_app_user_id, a.id) AS ids,
                max(a.last_seen_ms) FILTER (WHERE a.id <> named.id) AS others_seen,
                \(AttributeTable.column(ofCustomer: "c.original_app_user_id")) AS attributes
            FROM entitled.app_user_id a WHERE a.original_app_user_id = c.original_app_user_id OFFSET 0
        ) every
        /* cluster: for: */LEFT JOIN LATERAL (
            SELECT lane, app, environment, original_transaction_id, version, updated_ms FROM entitled.purchase
            WHERE owner = ANY(every.ids) OFFSET 0
        ) p ON true
        LEFT JOIN LATERAL (
            SELECT body FROM entitled.purchase_snapshot kept
            WHERE kept.lane = p.lane AND kept.original_transaction_id = p.original_transaction_id
                AND kept.app = p.app AND kept.environment = p.environment AND kept.version = p.version
                AND kept.updated_ms = p.updated_ms OFFSET 0
        ) s ON true/* end */
        """

    /// What follows on a cluster, which does not join customers with what is distributed.
    private static let selectOwned = """
        SELECT p.owner, p.app, p.environment, p.original_transaction_id, p.version, p.updated_ms, s.body
        FROM entitled.purchase p
        LEFT JOIN entitled.purchase_snapshot s ON s.lane = p.lane
            AND s.original_transaction_id = p.original_transaction_id AND s.app = p.app
            AND s.environment = p.environment AND s.version = p.version AND s.updated_ms = p.updated_ms
            /* cluster: AND s.lane = ANY($2::int2[]) */
        WHERE p.owner = ANY($1::text[]) /* cluster: AND p.lane = ANY($2::int2[]) */
        """

    /// A purchase without a snapshot that fits.
    private struct Missing {
        let place: Int
        let key: PurchaseKey
        let version: Int64
        let updated: Int64
    }

    /// The customers whom these ids name, in their order; nil for those that name none.
    package func find(_ ids: [String], on connection: PostgresConnection) throws -> [Found?] {
        var found = [Found?](repeating: nil, count: ids.count)
        guard !ids.isEmpty else { return found }
        var missing: [Missing] = []
        var owners: [String: [Int]] = [:]
        for row in try connection.read(SubscriberQuery.select, [.texts(ids)]) {
            let place = Int(try row.int("place")) - 1
            guard found.indices.contains(place) else { continue }
            var customer = try found[place] ?? SubscriberQuery.customer(row)
            if connection.isCluster {
                for id in customer.appUserIDs { owners[id, default: []].append(place) }
            } else {
                try add(row, at: place, to: &customer, &missing)
            }
            found[place] = customer
        }
        if !owners.isEmpty, let lanes = try PurchaseLanes.values(ofOwners: owners.keys, on: connection) {
            for row in try connection.read(SubscriberQuery.selectOwned, [.texts(Array(owners.keys))] + lanes) {
                for place in owners[try row.text("owner")] ?? [] {
                    guard var customer = found[place] else { continue }
                    try add(row, at: place, to: &customer, &missing)
                    found[place] = customer
                }
            }
        }
        try make(missing, for: &found, on: connection)
        return found
    }

    /// The purchase of the row, if there is one.
    private func add(
        _ row: PostgresRow, at place: Int, to customer: inout Found, _ missing: inout [Missing]
    ) throws {
        guard let key = try SubscriberQuery.key(row) else { return }
        if let body = try row.optionalBytes("body"), let snapshot = codec.snapshot(body, of: key) {
            customer.snapshots.append(snapshot)
        } else {
            missing.append(
                Missing(place: place, key: key, version: try row.int("version"), updated: try row.int("updated_ms")))
        }
    }

    private static func customer(_ row: PostgresRow) throws -> Found {
        var attributes = CustomerAttributes()
        try AttributeTable.add(try row.optionalText("attributes"), to: &attributes)
        return Found(
            originalAppUserID: try row.text("original_app_user_id"), appUserIDs: try row.texts("ids").compactMap { $0 },
            firstSeen: try row.int("first_seen_ms"), noted: try row.optionalInt("noted_ms"),
            seen: try row.optionalInt("last_seen_ms"),
            othersSeen: try row.optionalInt("others_seen"),
            originalApplicationVersion: try row.optionalText("original_application_version"),
            appPurchased: try row.optionalInt("app_purchased_ms"),
            attributes: attributes)
    }

    /// Nil for a customer without purchases.
    private static func key(_ row: PostgresRow) throws -> PurchaseKey? {
        try row.isNull("app") ? nil : PurchaseKey(row)
    }

    /// Folds what has no snapshot. Its facts are read after its version: they can only be newer, and a snapshot under an
    /// older version than the row's is never used.
    private func make(_ missing: [Missing], for found: inout [Found?], on connection: PostgresConnection) throws {
        let facts = try FactTable.load(missing.map(\.key), on: connection)
        for (purchase, facts) in zip(missing, facts) {
            // A record that no fact stands behind; a rebuild removes it.
            guard let folded = Purchase(folding: facts, key: purchase.key, foldSettings: foldSettings) else { continue }
            let snapshot = PurchaseSnapshot(folded)
            found[purchase.place]?.snapshots.append(snapshot)
            found[purchase.place]?.made.append(
                SnapshotTable.New(
                    key: purchase.key, version: purchase.version, updated: purchase.updated,
                    body: codec.bytes(snapshot)))
        }
    }
}
