import Base
import Postgres
import Subscriptions

/// Reads purchases, for operators.
package enum PurchaseQuery {
    /// A purchase with whose it is.
    package struct Found: Sendable {
        /// Folded from its facts at this moment.
        package let purchase: Purchase
        /// The app user id that owns it.
        package let owner: String
        package let customer: Customer
    }

    /// `unclaimed`: all ids of the owner are anonymous. A grant cannot be claimed by another customer.
    private static let select = """
        SELECT p.app, p.environment, p.original_transaction_id, p.owner FROM entitled.purchase p
        WHERE ($2::text IS NULL OR p.app = $2) AND ($3::int2 IS NULL OR p.environment = $3)
            AND (NOT $4 OR p.app <> $6 AND starts_with(p.owner, $5) /* cluster: for: */AND NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id own
                JOIN entitled.app_user_id other ON other.original_app_user_id = own.original_app_user_id
                WHERE own.id = p.owner AND NOT starts_with(other.id, $5)
            )/* end */)
        ORDER BY p.updated_ms DESC, p.original_transaction_id LIMIT $1 /* cluster: OFFSET $7 */
        """

    private static let selectClaimed = """
        SELECT DISTINCT own.id FROM entitled.app_user_id own
        JOIN entitled.app_user_id other ON other.original_app_user_id = own.original_app_user_id
        WHERE own.id = ANY($1::text[]) AND NOT starts_with(other.id, $2)
        """

    /// Those of these anonymous ids whose customer has another id, too: asked apart on a cluster, where purchases lie elsewhere.
    package static func claimed(
        among owners: Set<String>, on connection: PostgresConnection
    ) throws -> Set<String> {
        guard !owners.isEmpty else { return [] }
        return Set(
            try connection.query(selectClaimed, [.texts(owners.sorted()), .text(Owner.anonymousPrefix)]).map {
                try $0.text("id")
            })
    }

    /// Those that changed last come first.
    ///
    /// - Parameter foldSettings: what the configuration adds to facts.
    package static func list(
        isUnclaimed: Bool, app: String?, environment: StoreEnvironment?, atMost limit: Int, foldSettings: FoldSettings,
        on connection: PostgresConnection
    ) throws -> [Found] {
        func rows(_ limit: Int, after skipped: Int = 0) throws -> [(key: PurchaseKey, owner: String)] {
            try connection.query(
                select,
                [
                    .int8(Int64(limit)), .text(app), .int2(environment?.code), .bool(isUnclaimed),
                    .text(Owner.anonymousPrefix), .text(Grant.app),
                ] + (connection.isCluster ? [.int8(Int64(skipped))] : [])
            ).map(owned)
        }
        guard connection.isCluster, isUnclaimed else {
            return try found(rows(limit), foldSettings: foldSettings, on: connection)
        }
        var (listed, read) = ([(key: PurchaseKey, owner: String)](), 0)
        var page: [(key: PurchaseKey, owner: String)]
        repeat {
            page = try rows(candidates, after: read)
            read += page.count
            let claimed = try claimed(among: Set(page.map(\.owner)), on: connection)
            listed += page.filter { !claimed.contains($0.owner) }
        } while listed.count < limit && page.count == candidates
        return try found(Array(listed.prefix(limit)), foldSettings: foldSettings, on: connection)
    }

    /// Purchases of which a cluster looks up the owners at a time.
    private static let candidates = 2_000

    private static func owned(_ row: PostgresRow) throws -> (key: PurchaseKey, owner: String) {
        (try PurchaseKey(row), try row.text("owner"))
    }

    private static let selectKeys = """
        SELECT p.app, p.environment, p.original_transaction_id, p.owner
        FROM \(PurchaseKeys.unnest(isNumbered: true))
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p"))
        ORDER BY t.place
        """

    /// Those of these purchases that there are, in their order.
    ///
    /// - Parameter bounds: how much is read; a purchase of which that is not all is left out.
    package static func find(
        _ keys: [PurchaseKey], foldSettings: FoldSettings, within bounds: FactTable.Bounds,
        on connection: PostgresConnection
    ) throws -> [Found] {
        guard !keys.isEmpty else { return [] }
        let rows = try connection.query(selectKeys, PurchaseKeys(keys).parameters)
        return try found(rows.map(owned), foldSettings: foldSettings, within: bounds, on: connection)
    }

    private static func found(
        _ owned: [(key: PurchaseKey, owner: String)], foldSettings: FoldSettings,
        within bounds: FactTable.Bounds = FactTable.Bounds(rows: nil, bytes: nil), on connection: PostgresConnection
    ) throws -> [Found] {
        let customers = try CustomerTable.load(Set(owned.map(\.owner)), on: connection)
        let facts = try FactTable.known(of: owned.map(\.key), within: bounds, on: connection)
        return zip(owned, facts).compactMap { item, known in
            guard let known, known.isWhole,
                let purchase = Purchase(folding: known.facts, key: item.key, foldSettings: foldSettings)
            else { return nil }
            let nobody = Customer(originalAppUserID: item.owner, appUserIDs: [item.owner], firstSeen: 0)
            return Found(purchase: purchase, owner: item.owner, customer: customers[item.owner] ?? nobody)
        }
    }

    private static let find = """
        SELECT app, environment, original_transaction_id FROM (
            SELECT app, environment, original_transaction_id FROM entitled.purchase_identifier WHERE identifier = $1
            UNION
            SELECT app, environment, original_transaction_id FROM entitled.purchase
            WHERE lane = ANY($4::int2[]) AND original_transaction_id = $1
        ) AS found WHERE ($2::text IS NULL OR app = $2) AND ($3::int2 IS NULL OR environment = $3)
        ORDER BY 1, 2, 3
        """

    /// All lanes, in which a purchase is found by its own id where its app is not known.
    static let lanes = PostgresValue.int2s(Lane.all.map(\.number))

    /// The purchases with this transaction id, original transaction id or order line item id.
    package static func keys(
        of identifier: String, app: String?, environment: StoreEnvironment?, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        try connection.query(find, [.text(identifier), .text(app), .int2(environment?.code), lanes]).map {
            try PurchaseKey($0)
        }
    }

    private static let findEach = """
        SELECT app, environment, original_transaction_id, identifier FROM entitled.purchase_identifier
        WHERE identifier = ANY($1::text[]) AND app = $2 ORDER BY 4, 2, 3
        """

    /// The purchases of an app with these transaction ids, by the id.
    package static func keys(
        ofEach identifiers: Set<String>, app: String, on connection: PostgresConnection
    ) throws -> [String: [PurchaseKey]] {
        guard !identifiers.isEmpty else { return [:] }
        var found: [String: [PurchaseKey]] = [:]
        for row in try connection.query(findEach, [.texts(identifiers.sorted()), .text(app)]) {
            found[try row.text("identifier"), default: []].append(try PurchaseKey(row))
        }
        return found
    }

    // MARK: - What a change would move

    /// Of what was bought: grants stay with their customer.
    private static let isBought = """
        p.owner = ANY($1::text[]) AND p.app <> $2 AND ($3::text IS NULL OR p.original_transaction_id = $3)
        """
    private static let selectBought = """
        SELECT p.app, p.environment, p.original_transaction_id FROM entitled.purchase p
        WHERE \(isBought) /* cluster: AND p.lane = ANY($5::int2[]) */
        ORDER BY p.original_transaction_id, p.app, p.environment LIMIT $4
        """
    private static let countBought = """
        SELECT count(*) FROM (
            SELECT FROM entitled.purchase p WHERE \(isBought) /* cluster: AND p.lane = ANY($5::int2[]) */ LIMIT $4
        ) bought
        """
    private static let selectScopes = """
        SELECT DISTINCT p.app, p.environment FROM entitled.purchase p
        WHERE \(isBought) /* cluster: AND p.lane = ANY($5::int2[]) */ ORDER BY 1, 2 LIMIT $4
        """

    private static func values(_ owners: [String], _ only: String?, _ limit: Int64?) -> [PostgresValue] {
        [.texts(owners), .text(Grant.app), .text(only), .int8(limit)]
    }

    /// Purchases that a customer bought, and how many there are.
    ///
    /// - Parameters:
    ///   - owners: the ids of the customer.
    ///   - only: an original transaction id; nil: all.
    ///   - most: so many are counted at most.
    package static func bought(
        by owners: [String], only: String?, atMost limit: Int, countedTo most: Int64, on connection: PostgresConnection
    ) throws -> (keys: [PurchaseKey], count: Int64) {
        guard let lanes = try PurchaseLanes.values(ofOwners: owners, on: connection) else { return ([], 0) }
        let keys = try connection.query(selectBought, values(owners, only, Int64(limit)) + lanes).map {
            try PurchaseKey($0)
        }
        let count = try connection.query(countBought, values(owners, only, most) + lanes).one()
        return (keys, try count.int("count"))
    }

    /// Apps and environments of what a customer bought.
    package static func scopes(
        of owners: [String], only: String?, on connection: PostgresConnection
    ) throws -> [AppScope] {
        guard let lanes = try PurchaseLanes.values(ofOwners: owners, on: connection) else { return [] }
        return try connection.query(selectScopes, values(owners, only, nil) + lanes).map { try AppScope($0) }
    }

    private static let selectAccount = """
        SELECT account FROM entitled.purchase
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
        """
    private static let selectTogether = """
        SELECT p.app, p.environment, p.original_transaction_id FROM entitled.purchase p
        WHERE p.account = $1 /* cluster: AND p.lane = ANY($4::int2[]) */
        ORDER BY p.original_transaction_id <> $2, p.original_transaction_id LIMIT $3
        """
    private static let countTogether = """
        SELECT count(*) FROM (
            SELECT FROM entitled.purchase p WHERE p.account = $1 /* cluster: AND p.lane = ANY($3::int2[]) */ LIMIT $2
        ) bought
        """

    /// A purchase first, with others that the same Apple account bought, and how many these are together.
    package static func boughtTogether(
        with key: PurchaseKey, atMost limit: Int, countedTo most: Int64, on connection: PostgresConnection
    ) throws -> (keys: [PurchaseKey], count: Int64) {
        let place: [PostgresValue] = [
            .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
        ]
        // One of no account is alone.
        guard let account = try connection.query(selectAccount, place).first?.optionalInt("account"),
            let lanes = try PurchaseLanes.values(ofAccounts: [account], on: connection)
        else { return ([key], 1) }
        let keys = try connection.query(
            selectTogether, [.int8(account), .text(key.originalTransactionID), .int8(Int64(limit))] + lanes
        ).map { try PurchaseKey($0) }
        guard !keys.isEmpty else { return ([key], 1) }
        let count = try connection.query(countTogether, [.int8(account), .int8(most)] + lanes).one()
        return (keys, try count.int("count"))
    }
}
