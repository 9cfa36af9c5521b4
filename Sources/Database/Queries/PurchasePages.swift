import Base
import Postgres
import Subscriptions

/// Purchases with their owners, lane by lane, a page at a time. The transaction that reads it should see one moment.
package struct PurchasePages {
    package struct Item: Sendable {
        package let key: PurchaseKey
        package let owner: String
        /// When the record changed last, in ms.
        package let updated: Int64
    }

    private let app: String?
    private let environment: StoreEnvironment?
    private let changed: Range<Int64>
    private let pageSize: Int
    /// That is read.
    package private(set) var lane = 0
    private var cursor = ("", "", Int16(-1))

    /// - Parameters:
    ///   - app: nil: all, and what the seller granted.
    ///   - environment: nil: both.
    ///   - changed: in which the record changed last, in ms.
    package init(
        app: String?, environment: StoreEnvironment? = nil, changed: Range<Int64>, pageSize: Int = 500
    ) {
        self.app = app
        self.environment = environment
        self.changed = changed
        self.pageSize = pageSize
    }

    private static let select = """
        SELECT original_transaction_id, app, environment, owner, updated_ms FROM entitled.purchase
        WHERE lane = $1 AND (original_transaction_id, app, environment) > ($2, $3, $4)
            AND ($5::text IS NULL OR app = $5) AND updated_ms >= $6 AND updated_ms < $7
            AND ($9::int2 IS NULL OR environment = $9)
        ORDER BY original_transaction_id, app, environment LIMIT $8
        """

    /// Some more, possibly none; nil: there are no more.
    package mutating func next(on connection: PostgresConnection) throws -> [Item]? {
        guard lane < Lane.count else { return nil }
        let rows = try connection.query(
            PurchasePages.select,
            [
                .int2(Int16(clamping: lane)), .text(cursor.0), .text(cursor.1), .int2(cursor.2), .text(app),
                .int8(changed.lowerBound), .int8(changed.upperBound), .int8(Int64(pageSize)),
                .int2(environment?.code),
            ])
        var items: [Item] = []
        for row in rows {
            let key = try PurchaseKey(row)
            cursor = (key.originalTransactionID, key.app, key.environment.code)
            items.append(Item(key: key, owner: try row.text("owner"), updated: try row.int("updated_ms")))
        }
        if rows.count < pageSize {
            lane += 1
            cursor = ("", "", -1)
        }
        return items
    }
}
