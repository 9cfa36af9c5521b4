import Base
import Postgres
import Subscriptions
import Synchronization

/// A product that purchases had.
package struct SeenProduct: Sendable, Hashable {
    package let app: String
    package let environment: StoreEnvironment
    package let productID: String
    /// Apple's `type`, such as "Consumable"; empty where it is not known.
    package let kind: String

    package init(app: String, environment: StoreEnvironment, productID: String, kind: String) {
        self.app = app
        self.environment = environment
        self.productID = productID
        self.kind = kind
    }
}

/// Products in the database, each once, as purchases bring them.
package final class ProductStore: Sendable {
    /// Those that are committed; there are few, and they come with every purchase.
    private let known = Mutex<Set<SeenProduct>>([])

    package init() {}

    private static let insert = """
        INSERT INTO entitled.product (product_id, app, environment, kind, first_seen_ms)
        SELECT t.*, $5 FROM unnest($1::text[], $2::text[], $3::int2[], $4::text[]) AS t
        ON CONFLICT (product_id, app, environment) DO UPDATE SET kind = excluded.kind WHERE product.kind = ''
        RETURNING product_id
        """

    /// Those of grants are none that the store has, so nobody has to say what they give.
    ///
    /// - Parameter now: ms since 1970.
    package func note(_ purchases: [Purchase], now: Int64, on connection: PostgresConnection) throws {
        let seen = Set(
            purchases.lazy.filter { !$0.key.isGrant }.flatMap { purchase in
                purchase.periods.map {
                    SeenProduct(
                        app: purchase.key.app, environment: purchase.key.environment, productID: $0.productID,
                        kind: $0.transaction.kind)
                }
            })
        let new = known.withLock { seen.subtracting($0) }
        guard !new.isEmpty else { return }
        // In order, so that two workers with the same products wait instead of deadlocking; a product of two kinds once.
        var places: Set<[String]> = []
        let sorted = new.sorted { ($0.productID, $0.app, $0.environment) < ($1.productID, $1.app, $1.environment) }
            .filter { places.insert([$0.productID, $0.app, $0.environment.rawValue]).inserted }
        let written = try connection.query(
            ProductStore.insert,
            [
                .texts(sorted.map(\.productID)), .texts(sorted.map(\.app)),
                .int2s(sorted.map(\.environment.code)), .texts(sorted.map(\.kind)), .int8(now),
            ])
        // What was just written may still be rolled back, so it is remembered when it is found there.
        if written.isEmpty { known.withLock { $0.formUnion(new) } }
    }

    private static let select = """
        SELECT app, environment, product_id, kind, first_seen_ms FROM entitled.product ORDER BY app, environment, product_id
        """

    /// All of them, with when each was first seen, in ms since 1970.
    package static func list(on connection: PostgresConnection) throws -> [(product: SeenProduct, firstSeen: Int64)] {
        try connection.query(select).compactMap { row in
            guard let environment = StoreEnvironment(code: Int16(clamping: try row.int(1))) else { return nil }
            let product = SeenProduct(
                app: try row.text(0), environment: environment, productID: try row.text(2), kind: try row.text(3))
            return (product, try row.int(4))
        }
    }
}
