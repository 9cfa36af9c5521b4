import Base
import Postgres

/// What operators do with a delivery.
package enum DeliveryRepair {
    package enum RepairResult: Sendable, Equatable {
        /// It is due at once, under the same event id, with the whole schedule before it.
        case reopened
        /// It goes out when the open ones of its purchase before it are delivered or dead.
        case blocked
        case notFound
        /// Nothing can be sent to its endpoint.
        case endpointDisabled(String)
        /// Why what it is about cannot be sent any more.
        case gone(String)
    }

    /// Sends a delivery again, whatever became of it; where its consumer gets the events of a purchase in order, not
    /// before an earlier one that is open.
    package static func resend(
        _ id: DeliveryID, now: Int64, on connection: PostgresConnection
    ) throws -> RepairResult {
        let isOrdered = try !connection.query(
            "SELECT 1 FROM entitled.delivery WHERE lane = $1 AND id = $2 AND ordered_by IS NOT NULL",
            [.int2(id.lane.number), .uuid(id.bytes)]
        ).isEmpty
        return try connection.joinedTransaction {
            if isOrdered {
                _ = try Fence.hold([id.lane], on: connection)
            } else {
                _ = try connection.query("SELECT \(Durability.setting)")
            }
            let rows = try connection.query(
                """
                SELECT d.notification_seq, coalesce(e.disabled_reason, CASE WHEN e.id IS NULL THEN 'removed' END)
                    AS disabled_reason
                FROM entitled.delivery d LEFT JOIN entitled.endpoint e ON e.id = d.endpoint AND e.removed_ms IS NULL
                WHERE d.lane = $1 AND d.id = $2
                """, [.int2(id.lane.number), .uuid(id.bytes)])
            guard let row = rows.first else { return .notFound }
            if let reason = try row.optionalText("disabled_reason") { return .endpointDisabled(reason) }
            if let seq = try row.optionalInt("notification_seq"), let gap = try gap(seq, in: id.lane, on: connection) {
                return .gone(gap)
            }
            let reopened = try connection.query(
                """
                UPDATE entitled.delivery SET reason = NULL,
                    state = CASE WHEN ordered_by IS NULL THEN \(DeliveryCode.pending) ELSE \(DeliveryCode.blocked) END,
                    next_ms = CASE WHEN state = \(DeliveryCode.blocked) THEN next_ms ELSE $3 END, round_start = attempts
                WHERE lane = $1 AND id = $2 RETURNING lane, endpoint, ordered_by
                """, [.int2(id.lane.number), .uuid(id.bytes), .int8(now)])
            // It may be dropped at this moment, being old.
            guard let found = reopened.first else { return .notFound }
            guard let line = try DeliveryOrder.Line(found) else { return .reopened }
            return try DeliveryOrder.release([line], now: now, on: connection).contains { $0.id == id }
                ? .reopened : .blocked
        }
    }
    /// Why this notification cannot be sent; nil if it can.
    private static func gap(_ seq: Int64, in lane: Lane, on connection: PostgresConnection) throws -> String? {
        let place = LogPosition(lane: lane, seq: seq)
        switch try NotificationBodies().read([place], on: connection)[place] {
        case .body: return nil
        case .gap(let reason): return reason
        case nil: return "the notification is gone"
        }
    }
}
