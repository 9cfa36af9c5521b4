import AppStore
import Base
import Postgres

/// The purchase of the app itself, as an app transaction tells of it: what documents say of a customer beside purchases.
package enum AppPurchaseTable {
    /// The store's own counts more than the sandbox's, which invents one; of the same the first.
    private static let update = """
        UPDATE entitled.customer c
        SET original_application_version = $2, app_purchased_ms = $3, app_environment = $4
        FROM entitled.app_user_id a
        WHERE a.id = $1 AND c.original_app_user_id = a.original_app_user_id
            AND (c.app_environment IS NULL OR ($4, $3) < (c.app_environment, c.app_purchased_ms))
        """

    /// Writes it down for the customer whom the id names.
    package static func note(
        _ purchase: AppTransactionPayload, of appUserID: String, on connection: PostgresConnection
    ) throws {
        guard let bought = purchase.originalPurchaseDate,
            let environment = purchase.receiptType.flatMap(StoreEnvironment.init(rawValue:))
        else { return }
        _ = try connection.query(
            update,
            [
                .text(appUserID), .text(purchase.originalApplicationVersion), .int8(bought), .int2(environment.code),
            ])
    }
}
