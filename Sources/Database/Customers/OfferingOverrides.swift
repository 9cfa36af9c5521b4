import Base
import Postgres

/// Offerings that were chosen for single customers.
package enum OfferingOverrides {
    private static let select = """
        SELECT c.offering_override FROM entitled.app_user_id a
        JOIN entitled.customer c ON c.original_app_user_id = a.original_app_user_id WHERE a.id = $1
        """

    /// Of the customer with this id; nil where there is none, and where no customer has the id.
    package static func load(_ appUserID: String, on connection: PostgresConnection) throws -> String? {
        try connection.query(select, [.text(appUserID)]).first?.optionalText("offering_override")
    }

    private static let update = """
        UPDATE entitled.customer c SET offering_override = $2 FROM entitled.app_user_id a
        WHERE a.id = $1 AND c.original_app_user_id = a.original_app_user_id
        RETURNING a.id
        """

    /// - Parameter offering: nil: none any more.
    /// - Returns: whether a customer has the id.
    package static func set(
        _ offering: String?, for appUserID: String, on connection: PostgresConnection
    ) throws -> Bool {
        try connection.query(update, [.text(appUserID), .text(offering)]).first != nil
    }
}
