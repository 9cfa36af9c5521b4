import Base
import Postgres

/// Health of endpoints in the database.
package enum EndpointHealthTable {
    private static let columns = """
        h.endpoint, h.failing_since_ms, h.failures, h.last_success_ms, h.last_failure_ms, h.last_failure, h.warned,
        h.recovered_ms, h.recovered_since_ms
        """

    /// What is known, of all endpoints or of one.
    package static func load(id: String? = nil, on connection: PostgresConnection) throws -> [String: EndpointHealth] {
        let rows = try connection.query(
            "SELECT \(columns) FROM entitled.endpoint_health h WHERE $1::text IS NULL OR h.endpoint = $1", [.text(id)])
        return Dictionary(try rows.map { try health($0) }.map { ($0.endpoint, $0) }) { first, _ in first }
    }

    /// Failures in a row, of those endpoints that were ever sent to.
    package static func failures(on connection: PostgresConnection) throws -> [String: Int] {
        let rows = try connection.query(
            """
            SELECT endpoint, failures FROM entitled.endpoint_health
            WHERE failing_since_ms IS NOT NULL OR last_success_ms IS NOT NULL
            """)
        return Dictionary(try rows.map { (try $0.text("endpoint"), Int(clamping: try $0.int("failures"))) }) {
            first, _ in first
        }
    }

    /// Why endpoints are disabled, for machines.
    package static func disablings(
        id: String? = nil, on connection: PostgresConnection
    ) throws -> [String: EndpointDisabling] {
        let rows = try connection.query(
            """
            SELECT endpoint, disabled_code FROM entitled.endpoint_health
            WHERE disabled_code IS NOT NULL AND ($1::text IS NULL OR endpoint = $1)
            """, [.text(id)])
        return Dictionary(
            try rows.map {
                (try $0.text("endpoint"), EndpointDisabling(rawValue: try $0.text("disabled_code")) ?? .byOperator)
            }
        ) { first, _ in first }
    }

    static func health(_ row: PostgresRow) throws -> EndpointHealth {
        var health = EndpointHealth(endpoint: try row.text("endpoint"))
        health.streak = try row.optionalInt("failing_since_ms").map {
            EndpointHealth.Streak(since: $0, failures: try row.int("failures"))
        }
        health.lastSuccess = try row.optionalInt("last_success_ms")
        if let at = try row.optionalInt("last_failure_ms") {
            health.lastFailure = EndpointHealth.Failure(
                at: at, outcome: try row.optionalText("last_failure") ?? "other")
        }
        health.warned = Int(clamping: try row.int("warned"))
        if let at = try row.optionalInt("recovered_ms"), let since = try row.optionalInt("recovered_since_ms") {
            health.recovery = EndpointHealth.Recovery(since: since, at: at)
        }
        return health
    }

    // MARK: - Writing down what was seen

    private static let create = """
        INSERT INTO entitled.endpoint_health (endpoint)
        SELECT id FROM entitled.endpoint WHERE id = ANY($1::text[]) AND removed_ms IS NULL ORDER BY id
        ON CONFLICT DO NOTHING
        """

    private static let lock = """
        SELECT \(columns) FROM entitled.endpoint_health h WHERE h.endpoint = ANY($1::text[])
        ORDER BY h.endpoint FOR NO KEY UPDATE
        """

    private static let update = """
        UPDATE entitled.endpoint_health h
        SET failing_since_ms = t.since, failures = t.failures, last_success_ms = t.success, last_failure_ms = t.failed,
            last_failure = t.outcome, warned = t.warned, recovered_ms = t.recovered, recovered_since_ms = t.was_since,
            dead = h.dead + t.dead,
            dead_newest = CASE WHEN t.dead = 0 THEN h.dead_newest
                ELSE (h.dead_newest || string_to_array(t.newest, ' '))[
                    greatest(1, cardinality(h.dead_newest) + cardinality(string_to_array(t.newest, ' ')) - 9):] END
        FROM unnest($1::text[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::text[], $7::int2[], $8::int8[],
            $9::int8[], $10::int8[], $11::text[])
            AS t(endpoint, since, failures, success, failed, outcome, warned, recovered, was_since, dead, newest)
        WHERE h.endpoint = t.endpoint
        """

    /// Takes in what a worker saw; in a transaction of its own, which touches nothing else. Locks rows in the order of
    /// their ids.
    package static func record(
        _ seen: [EndpointHealth.Observation], on connection: PostgresConnection
    ) throws {
        guard !seen.isEmpty else { return }
        let ids = seen.map(\.endpoint)
        _ = try connection.query(create, [.texts(ids)])
        var rows = Dictionary(
            try connection.query(lock, [.texts(ids)]).map { try health($0) }.map { ($0.endpoint, $0) }
        ) { first, _ in first }
        // Of an endpoint that is removed there is no row.
        let seen = seen.filter { rows[$0.endpoint] != nil }
        for observation in seen { rows[observation.endpoint]?.merge(observation) }
        let merged = seen.compactMap { rows[$0.endpoint] }
        guard !merged.isEmpty else { return }
        _ = try connection.query(
            update,
            [
                .texts(merged.map(\.endpoint)), .int8s(merged.map { $0.streak?.since }),
                .int8s(merged.map { $0.streak?.failures ?? 0 }), .int8s(merged.map(\.lastSuccess)),
                .int8s(merged.map { $0.lastFailure?.at }), .texts(merged.map { $0.lastFailure?.outcome }),
                .int2s(merged.map { Int16(clamping: $0.warned) }), .int8s(merged.map { $0.recovery?.at }),
                .int8s(merged.map { $0.recovery?.since }), .int8s(seen.map(\.dead)),
                .texts(seen.map { $0.deadNewest.joined(separator: " ") }),
            ])
    }
}
