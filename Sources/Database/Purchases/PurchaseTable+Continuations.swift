import Base
import Postgres
import Subscriptions

/// Purchases that go on under another original transaction id. The two are in different lanes, so that each finds the other
/// by what identifies it.
extension PurchaseTable {
    /// What identifies a purchase beside its own ids; no id of Apple's looks like this.
    static func continuation(of originalTransactionID: String) -> String { continues + originalTransactionID }

    /// The original transaction id that `continuation` was given; nil for any other name.
    static func continued(by name: String) -> String? {
        name.hasPrefix(continues) ? String(name.dropFirst(continues.count)) : nil
    }

    private static let continues = "continues:"

    private static let selectContinuing = """
        SELECT t.place, i.original_transaction_id, i.lane FROM unnest($1::text[], $2::text[], $3::int2[], $4::int4[])
            AS t(identifier, app, environment, place)
        JOIN entitled.purchase_identifier i ON i.identifier = t.identifier AND i.app = t.app
            AND i.environment = t.environment /* cluster: AND i.lane = ANY($5::int2[]) */
        """

    /// Those of these purchases that are over because they are known to go on as another one.
    package static func continued(
        _ purchases: [Purchase], foldSettings: FoldSettings, on connection: PostgresConnection
    ) throws -> Set<PurchaseKey> {
        guard !purchases.isEmpty else { return [] }
        let keys = purchases.map(\.key)
        let own = Set(keys.map { PurchaseLanes.AccountPlace(of: $0, account: nil) })
        func former(_ row: PostgresRow) throws -> Purchase? {
            let place = Int(try row.int("place"))
            return purchases.indices.contains(place) ? purchases[place] : nil
        }
        let rows = try PurchaseLanes.query(
            selectContinuing,
            [
                .texts(keys.map { continuation(of: $0.originalTransactionID) }), .texts(keys.map(\.app)),
                .int2s(keys.map(\.environment.code)), .int4s((0..<Int32(keys.count)).map { $0 }),
            ], ofAccounts: Set(own.map(\.account)), held: own, on: connection
        ) { row in
            try former(row).map {
                PurchaseLanes.AccountPlace(
                    account: AccountKey(of: $0.key, account: nil).number, lane: try row.value("lane"))
            }
        }
        let pairs = try (rows.map(Array.init) ?? []).compactMap { row -> (former: Purchase, key: PurchaseKey)? in
            guard let former = try former(row) else { return nil }
            return (
                former,
                PurchaseKey(
                    app: former.key.app, environment: former.key.environment,
                    originalTransactionID: try row.text("original_transaction_id"))
            )
        }
        let facts = try FactTable.load(pairs.map(\.key), on: connection)
        return zip(pairs, facts).reduce(into: []) { continued, found in
            let (pair, facts) = found
            let successor = Purchase(folding: facts, key: pair.key, foldSettings: foldSettings)
            if successor?.continues(pair.former) == true { continued.insert(pair.former.key) }
        }
    }
}
