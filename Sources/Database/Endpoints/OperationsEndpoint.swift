import Base
import Crypto
import Postgres

/// The endpoint that gets what operators should know (`OperationsEvent`): a row like the others, so that it is signed,
/// retried and logged like them, but made from the configuration.
package enum OperationsEndpoint {
    package static let id = "we_operations"
    /// Why it is not removed as others are.
    package static let irremovable =
        "\(id) comes from the configuration: remove webhooks.operations_url, and start the worker again."

    /// The row is locked by `current`, so that two workers that start at once keep it one after the other.
    private static let current = """
        SELECT url, removed_ms IS NOT NULL AS is_removed FROM entitled.endpoint WHERE id = $1 FOR NO KEY UPDATE
        """

    private static let create = """
        INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
        VALUES ($1, '', '{}', '{}', '{}', $2) ON CONFLICT DO NOTHING
        """

    private static let use = """
        UPDATE entitled.endpoint SET url = $2, paused_until_ms = 0, removed_ms = NULL,
            disabled_reason = CASE WHEN removed_ms IS NULL THEN disabled_reason END
        WHERE id = $1
        """

    /// Makes the row what the configuration says; the worker that started last is right. Another URL keeps the secret;
    /// without one the endpoint is removed like any other. In a transaction.
    ///
    /// - Parameter url: nil where the configuration has none.
    /// - Returns: whether anything was changed.
    package static func keep(
        url: String?, sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> Bool {
        guard let url else {
            let isThere = try !EndpointTable.list(id: id, on: connection).isEmpty
            return try isThere && EndpointTable.remove(id, now: now, on: connection)
        }
        if try connection.query(
            "SELECT 1 FROM entitled.endpoint WHERE id = $1 AND url = $2 AND removed_ms IS NULL",
            [.text(id), .text(url)]
        ).first != nil {
            return false
        }
        _ = try connection.query(create, [.text(id), .int8(now)])
        let row = try connection.query(current, [.text(id)]).one()
        let hasSecret = try !row.bool("is_removed") && !row.text("url").isEmpty
        _ = try connection.query(use, [.text(id), .text(url)])
        _ = try connection.query("DELETE FROM entitled.endpoint_health WHERE endpoint = $1", [.text(id)])
        if !hasSecret {
            _ = try EndpointSecrets.rotate(of: id, sealer: sealer, now: now, on: connection)
        }
        return true
    }
}
