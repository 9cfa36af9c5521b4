import Base
import Postgres

/// An endpoint about which there may be something to tell.
package struct NoticeCandidate: Sendable {
    package var health: EndpointHealth
    package var url: String
    package var disabledReason: String?
    package var disabling: EndpointDisabling?
    package var disabledAt: Int64?
    package var isDisablingTold: Bool
    /// Deliveries that were given up and not told, and the newest of them.
    package var dead: Int64
    package var deadNewest: [String]
    package var deadTold: Int64

    package init(
        health: EndpointHealth, url: String, disabledReason: String? = nil, disabling: EndpointDisabling? = nil,
        disabledAt: Int64? = nil, isDisablingTold: Bool = false, dead: Int64 = 0, deadNewest: [String] = [],
        deadTold: Int64 = 0
    ) {
        self.health = health
        self.url = url
        self.disabledReason = disabledReason
        self.disabling = disabling
        self.disabledAt = disabledAt
        self.isDisablingTold = isDisablingTold
        self.dead = dead
        self.deadNewest = deadNewest
        self.deadTold = deadTold
    }

    /// What is no longer to be told; as it was read, so that what changed meanwhile stays to be told.
    package enum Mark: Sendable, Equatable {
        case warned(Int, since: Int64)
        case recovered(at: Int64)
        case disabled(at: Int64)
        case dead(Int64, at: Int64)
    }
}

extension EndpointHealthTable {
    /// The endpoint of operations is left out: what it does not get cannot be told to it.
    private static let concerns = """
        SELECT h.endpoint, h.failing_since_ms, h.failures, h.last_success_ms, h.last_failure_ms, h.last_failure,
            h.warned, h.recovered_ms, h.recovered_since_ms, e.url, e.disabled_reason, h.disabled_code, h.disabled_ms,
            h.is_disabling_told, h.dead, array_to_string(h.dead_newest, ' ') AS dead_newest, h.dead_told_ms
        FROM entitled.endpoint_health h JOIN entitled.endpoint e ON e.id = h.endpoint
        WHERE e.removed_ms IS NULL AND e.id <> $1
            AND (h.failing_since_ms IS NOT NULL AND e.disabled_reason IS NULL OR h.recovered_ms IS NOT NULL
                OR h.disabled_ms IS NOT NULL AND NOT h.is_disabling_told OR h.dead > 0)
        ORDER BY h.endpoint
        """

    /// Few rows of a small table.
    package static func concerns(on connection: PostgresConnection) throws -> [NoticeCandidate] {
        try connection.query(concerns, [.text(OperationsEndpoint.id)]).map { row in
            NoticeCandidate(
                health: try health(row), url: try row.text("url"),
                disabledReason: try row.optionalText("disabled_reason"),
                disabling: try row.optionalText("disabled_code").flatMap(EndpointDisabling.init(rawValue:)),
                disabledAt: try row.optionalInt("disabled_ms"), isDisablingTold: try row.bool("is_disabling_told"),
                dead: try row.int("dead"),
                deadNewest: try row.text("dead_newest").split(separator: " ").map(String.init),
                deadTold: try row.int("dead_told_ms"))
        }
    }

    /// In the transaction that writes what is told.
    package static func mark(
        _ mark: NoticeCandidate.Mark, of endpoint: String, on connection: PostgresConnection
    ) throws {
        let (assignment, first, second): (String, Int64, Int64) =
            switch mark {
            case .warned(let count, let since):
                ("warned = greatest(warned, $2::int2) WHERE failing_since_ms = $3", Int64(count), since)
            case .recovered(let at):
                ("recovered_ms = NULL, recovered_since_ms = NULL WHERE recovered_ms = $2 AND $2 = $3", at, at)
            case .disabled(let at): ("is_disabling_told = true WHERE disabled_ms = $2 AND $2 = $3", at, at)
            case .dead(let count, let at):
                (
                    """
                    dead = greatest(0, dead - $2), dead_told_ms = $3,
                    dead_newest = CASE WHEN dead > $2 THEN dead_newest ELSE '{}' END WHERE true
                    """, count, at
                )
            }
        _ = try connection.query(
            "UPDATE entitled.endpoint_health SET \(assignment) AND endpoint = $1",
            [.text(endpoint), .int8(first), .int8(second)])
    }
}
