import Base
import Postgres
import Queue

/// A delivery as operators see it.
package struct DeliverySummary: Sendable {
    package let id: DeliveryID
    package let endpoint: String
    /// What the consumer sees in `webhook-id`: the event's UUID, or of a notification as it came Apple's.
    package let event: String
    package let eventType: String
    package let state: DeliveryState
    package let attempts: Int
    package let lastStatus: Int?
    package let reason: String?
    /// Milliseconds; when it is tried next, for pending ones.
    package let next: Int64
    package let created: Int64
}

/// An attempt as operators see it.
package struct AttemptSummary: Sendable {
    package let number: Int
    package let started: Int64
    package let milliseconds: Int64
    package let status: Int?
    package let outcome: String
    package let detail: String?
    package let response: [UInt8]
}

/// Reads deliveries, for operators.
package enum DeliveryReader {
    private static let columns = """
        lane, id, endpoint, event, event_type, state, attempts, last_status, reason, next_ms, created_ms,
        webhook_id, notification_seq
        """

    /// The newest first.
    package static func list(
        endpoint: String?, state: DeliveryState?, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [DeliverySummary] {
        let rows = try connection.query(
            """
            SELECT \(columns) FROM entitled.delivery
            WHERE ($1::text IS NULL OR endpoint = $1) AND ($2::int2 IS NULL OR state = $2)
            ORDER BY created_ms DESC, id LIMIT $3
            """, [.text(endpoint), .int2(state?.rawValue), .int8(Int64(limit))])
        return try rows.map(summary)
    }

    /// Attempts are looked for from the delivery's own day on, not in every day there is; clocks differ a little.
    private static let clockTolerance: Int64 = 86_400_000

    /// A delivery with its attempts and the body that is sent; nil if there is none.
    package static func show(
        _ id: DeliveryID, on connection: PostgresConnection
    ) throws -> (delivery: DeliverySummary, attempts: [AttemptSummary], body: [UInt8])? {
        let rows = try connection.query(
            "SELECT \(columns) FROM entitled.delivery WHERE lane = $1 AND id = $2",
            [.int2(id.lane.number), .uuid(id.bytes)])
        guard let row = rows.first else { return nil }
        let attempts = try connection.query(
            """
            SELECT number, started_ms, duration_ms, status, outcome, detail, response FROM entitled.attempt
            WHERE lane = $1 AND delivery = $2 AND started_ms >= $3 ORDER BY started_ms
            """, [.int2(id.lane.number), .uuid(id.bytes), .int8(try row.int(10) - clockTolerance)])
        return (try summary(row), try attempts.map(attempt), try body(row, id.lane, on: connection))
    }

    /// Empty where it is not kept any more.
    private static func body(
        _ row: PostgresRow, _ lane: Lane, on connection: PostgresConnection
    ) throws -> [UInt8] {
        if let seq = try row.optionalInt(12) {
            let place = NotificationBodies.Place(lane: lane, seq: seq)
            let found = try NotificationBodies().read([place], on: connection)[place]
            guard case .body(let body)? = found else { return [] }
            return body
        }
        let bodies = try connection.query(
            "SELECT body FROM entitled.event WHERE lane = $1 AND id = $2",
            [.int2(lane.number), .uuid(try row.uuid(3))])
        return try bodies.first.map { try EventBodyCodec.restore(try $0.bytes(0)) } ?? []
    }

    private static func summary(_ row: PostgresRow) throws -> DeliverySummary {
        guard let state = DeliveryState(rawValue: Int16(clamping: try row.int(5))) else {
            throw PostgresError(.decoding, "a state that is none")
        }
        return DeliverySummary(
            id: DeliveryID(lane: Lane(number: Int16(clamping: try row.int(0))), bytes: try row.uuid(1)),
            endpoint: try row.text(2), event: try row.optionalText(11) ?? UUIDText.upper(try row.uuid(3)),
            eventType: try row.text(4),
            state: state, attempts: Int(clamping: try row.int(6)),
            lastStatus: try row.optionalInt(7).map { Int(clamping: $0) }, reason: try row.optionalText(8),
            next: try row.int(9), created: try row.int(10))
    }

    private static func attempt(_ row: PostgresRow) throws -> AttemptSummary {
        AttemptSummary(
            number: Int(clamping: try row.int(0)), started: try row.int(1), milliseconds: try row.int(2),
            status: try row.optionalInt(3).map { Int(clamping: $0) }, outcome: try row.text(4),
            detail: try row.optionalText(5), response: try row.optionalBytes(6) ?? [])
    }
}

/// What operators do with a delivery.
package enum DeliveryRepair {
    package enum Outcome: Sendable, Equatable {
        /// It is due at once, under the same event id, with the whole schedule before it.
        case reopened
        case notFound
        /// Nothing can be sent to its endpoint.
        case endpointDisabled(String)
    }

    /// Sends a delivery again, whatever became of it.
    package static func resend(
        _ id: DeliveryID, now: Int64, on connection: PostgresConnection
    ) throws -> Outcome {
        try connection.transaction {
            _ = try connection.query("SELECT set_config('synchronous_commit', 'on', true)")
            let rows = try connection.query(
                """
                SELECT e.id, coalesce(e.disabled_reason, CASE WHEN e.id IS NULL THEN 'removed' END)
                FROM entitled.delivery d LEFT JOIN entitled.endpoint e ON e.id = d.endpoint AND e.removed_ms IS NULL
                WHERE d.lane = $1 AND d.id = $2
                """, [.int2(id.lane.number), .uuid(id.bytes)])
            guard let row = rows.first else { return .notFound }
            if let reason = try row.optionalText(1) { return .endpointDisabled(reason) }
            let reopened = try connection.query(
                """
                UPDATE entitled.delivery SET state = 0, reason = NULL, next_ms = $3, round_start = attempts
                WHERE lane = $1 AND id = $2 RETURNING 1
                """, [.int2(id.lane.number), .uuid(id.bytes), .int8(now)])
            // It may be dropped at this moment, being old.
            return reopened.first == nil ? .notFound : .reopened
        }
    }
}
