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
    /// Apple's `subscriptionGroupIdentifier`; nil where it is not known, and of what is no subscription.
    package let group: String?

    package init(app: String, environment: StoreEnvironment, productID: String, kind: String, group: String? = nil) {
        self.app = app
        self.environment = environment
        self.productID = productID
        self.kind = kind
        self.group = group
    }
}

extension SeenProduct {
    fileprivate var order: (String, String, StoreEnvironment, Int) {
        (productID, app, environment, group == nil ? 1 : 0)
    }
}

/// Products in the database, each once, as purchases bring them.
package final class ProductTable: Sendable {
    /// Those that are committed; there are few, and they come with every purchase.
    private let known = Mutex<Set<SeenProduct>>([])

    package init() {}

    private static let insert = """
        INSERT INTO entitled.product (product_id, app, environment, kind, subscription_group, first_seen_ms)
        SELECT t.*, $6 FROM unnest($1::text[], $2::text[], $3::int2[], $4::text[], $5::text[]) AS t
        ON CONFLICT (product_id, app, environment) DO UPDATE SET
            kind = CASE WHEN product.kind = '' THEN excluded.kind ELSE product.kind END,
            subscription_group = coalesce(product.subscription_group, excluded.subscription_group)
        WHERE product.kind = '' OR product.subscription_group IS NULL AND excluded.subscription_group IS NOT NULL
        RETURNING product_id
        """

    /// Those of grants are none that the store has, so no configuration says what they give.
    ///
    /// - Parameter now: ms since 1970.
    package func note(_ purchases: [Purchase], now: Int64, on connection: PostgresConnection) throws {
        let seen = Set(
            purchases.lazy.filter { !$0.key.isGrant }.flatMap { purchase in
                purchase.periods.map {
                    SeenProduct(
                        app: purchase.key.app, environment: purchase.key.environment, productID: $0.productID,
                        kind: $0.transaction.kind, group: $0.transaction.subscriptionGroup)
                }
            })
        let new = known.withLock { seen.subtracting($0) }
        guard !new.isEmpty else { return }
        // In order, so that two workers with the same products wait instead of deadlocking; a product of two kinds once,
        // with its group if one of them has it.
        var places: Set<[String]> = []
        let sorted = new.sorted { $0.order < $1.order }
            .filter { places.insert([$0.productID, $0.app, $0.environment.rawValue]).inserted }
        let written = try connection.query(
            ProductTable.insert,
            [
                .texts(sorted.map(\.productID)), .texts(sorted.map(\.app)),
                .int2s(sorted.map(\.environment.code)), .texts(sorted.map(\.kind)),
                .texts(sorted.map(\.group)), .int8(now),
            ])
        // What was just written may still be rolled back, so it is remembered when it is found there.
        if written.isEmpty { known.withLock { $0.formUnion(new) } }
    }

    private static let select = """
        SELECT app, environment, product_id, kind, first_seen_ms, subscription_group FROM entitled.product
        ORDER BY app, environment, product_id
        """

    /// All of them, with when each was first seen, in ms since 1970.
    package static func list(on connection: PostgresConnection) throws -> [(product: SeenProduct, firstSeen: Int64)] {
        try connection.query(select).map { row in
            let product = SeenProduct(
                app: try row.text("app"), environment: try row.value("environment"),
                productID: try row.text("product_id"), kind: try row.text("kind"),
                group: try row.optionalText("subscription_group"))
            return (product, try row.int("first_seen_ms"))
        }
    }

    private static let selectGroups = """
        SELECT DISTINCT product_id, subscription_group FROM entitled.product
        WHERE product_id = ANY($1::text[]) AND ($2::text IS NULL OR app = $2) AND subscription_group IS NOT NULL
        """

    /// The subscription groups of these products, where they are known and without doubt.
    ///
    /// - Parameter app: nil: of any app.
    package static func groups(
        of products: [String], app: String?, on connection: PostgresConnection
    ) throws -> [String: String] {
        var groups: [String: Set<String>] = [:]
        for row in try connection.query(selectGroups, [.texts(products), .text(app)]) {
            groups[try row.text("product_id"), default: []].insert(try row.text("subscription_group"))
        }
        return groups.compactMapValues { $0.count == 1 ? $0.first : nil }
    }
}
