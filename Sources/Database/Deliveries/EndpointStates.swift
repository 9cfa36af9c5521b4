import Postgres

/// Endpoints in statements about deliveries. One Postgres joins them; a cluster, where deliveries are distributed and endpoints are
/// not, gets them as parameters.
enum EndpointStates {
    /// What is selected from, `e(id, disabled_reason, removed_ms, paused_until_ms)`.
    ///
    /// - Parameter first: the number of the first of the parameters, which follow all others.
    static func source(from first: Int) -> String {
        """
        /* cluster: unnest($\(first)::text[], $\(first + 1)::text[], $\(first + 2)::int8[], $\(first + 3)::int8[])
            AS e(id, disabled_reason, removed_ms, paused_until_ms) for: */entitled.endpoint e/* end */
        """
    }

    private static let select = "SELECT id, disabled_reason, removed_ms, paused_until_ms FROM entitled.endpoint"

    /// The parameters of `source`; none on one Postgres.
    static func parameters(on connection: PostgresConnection) throws -> [PostgresValue] {
        guard connection.isCluster else { return [] }
        let rows = try connection.query(select)
        return [
            .texts(try rows.map { try $0.text("id") }), .texts(try rows.map { try $0.optionalText("disabled_reason") }),
            .int8s(try rows.map { try $0.optionalInt("removed_ms") }),
            .int8s(try rows.map { try $0.optionalInt("paused_until_ms") }),
        ]
    }
}
