import Base
import Postgres
import Subscriptions

/// Reads in which subscription groups a customer had an introductory offer: Apple gives one a group.
package enum IntroductoryOfferQuery {
    package struct History: Sendable, Equatable {
        /// Groups in which one was used.
        package let used: Set<String>
        /// The groups of the customer's own products.
        package let groups: [String: String]
    }

    private static let select = """
        SELECT p.app, p.environment, p.original_transaction_id FROM entitled.app_user_id named
        JOIN entitled.app_user_id every ON every.original_app_user_id = named.original_app_user_id
        JOIN entitled.purchase p ON p.owner = every.id
        WHERE named.id = $1 AND ($2::text IS NULL OR p.app = $2) AND ($3::int2 IS NULL OR p.environment = $3)
        """

    /// Step by step on a cluster, where customers lie elsewhere than purchases.
    private static func owned(by id: String, on connection: PostgresConnection) throws -> [PurchaseKey] {
        let customer = try CustomerTable.load([id], on: connection)[id]
        return try PurchaseTable.owned(by: customer?.appUserIDs ?? [], on: connection)
    }

    /// - Parameters:
    ///   - app: nil: any.
    ///   - environment: nil: both.
    package static func load(
        _ appUserID: String, app: String?, environment: StoreEnvironment?, on connection: PostgresConnection
    ) throws -> History {
        let keys =
            try connection.isCluster
            ? owned(by: appUserID, on: connection).filter { key in
                app.map { $0 == key.app } ?? true && environment.map { $0 == key.environment } ?? true
            }
            : connection.query(select, [.text(appUserID), .text(app), .int2(environment?.code)]).map {
                try PurchaseKey($0)
            }
        return History(try FactTable.load(keys, on: connection))
    }
}

extension IntroductoryOfferQuery.History {
    /// What a family member got was the offer of who paid.
    package init(_ facts: [PurchaseFacts]) {
        var used: Set<String> = []
        var groups: [String: String] = [:]
        for transaction in facts.flatMap(\.transactions) {
            guard let group = transaction.subscriptionGroup else { continue }
            groups[transaction.productID] = group
            if transaction.offerType == 1, !transaction.isFamilyShare { used.insert(group) }
        }
        self.init(used: used, groups: groups)
    }
}
