import Base
import Postgres

/// An event once more under another id, for one endpoint: consumers that deduplicate pass over the id that they know.
///
/// The copy is an event of its own in the same lane, with the same body but for the id in it, and a row in `event_copy`
/// that names the original. Its id is random: what makes, rebuilds or explains events computes ids from their causes, so
/// none of them takes it for a fact, and a replay gives it to no other endpoint. It bears its original's number and belongs to no
/// purchase: so it takes no number from the purchase, waits for nothing in its order, and nothing waits for it.
package enum EventCopy {
    package enum CopyResult: Sendable, Equatable {
        case sent(event: [UInt8], delivery: DeliveryID)
        case notFound
        /// Nothing can be sent to its endpoint.
        case endpointDisabled(String)
        /// Its id is Apple's.
        case isNotification
        /// Retention has emptied the event.
        case bodyGone
        /// The body does not name its id exactly once.
        case bodyUnclear
    }

    private static let select = """
        SELECT e.id, e.type, e.app, e.environment, e.sequence, e.body, d.endpoint,
            coalesce(p.disabled_reason, CASE WHEN p.id IS NULL THEN 'removed' END) AS disabled_reason,
            d.notification_seq IS NOT NULL AS is_notification
        FROM entitled.delivery d
        LEFT JOIN entitled.event e ON e.lane = d.lane /* cluster: AND e.lane = $1 */ AND e.id = d.event
        LEFT JOIN entitled.endpoint p ON p.id = d.endpoint AND p.removed_ms IS NULL
        WHERE d.lane = $1 AND d.id = $2
        """
    private static let note = """
        INSERT INTO entitled.event_copy (lane, id, original, endpoint, created_ms) VALUES ($1, $2, $3, $4, $5)
        """

    /// Sends what a delivery is about as another event.
    ///
    /// - Parameter id: 16 random bytes that are a UUID.
    package static func send(
        _ delivery: DeliveryID, as id: [UInt8], now: Int64, on connection: PostgresConnection
    ) throws -> CopyResult {
        try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            let rows = try connection.query(select, [.int2(delivery.lane.number), .uuid(delivery.bytes)])
            guard let row = rows.first else { return .notFound }
            if try row.bool("is_notification") { return .isNotification }
            if let reason = try row.optionalText("disabled_reason") { return .endpointDisabled(reason) }
            let (original, endpoint, stored) = (try row.uuid("id"), try row.text("endpoint"), try row.bytes("body"))
            guard !stored.isEmpty else { return .bodyGone }
            guard let body = renamed(try EventBodyCodec.restore(stored), from: original, to: id) else {
                return .bodyUnclear
            }
            var copy = NewEvent(
                lane: delivery.lane, id: id, type: try row.text("type"), app: try row.text("app"),
                environment: try row.value("environment"),
                originalTransactionID: nil, body: body, sequence: try row.optionalInt("sequence"))
            copy.cause = EventBodyCodec.cause(of: stored)
            _ = try connection.query(
                note,
                [.int2(delivery.lane.number), .uuid(id), .uuid(original), .text(endpoint), .int8(now)])
            _ = try EventTable.insert([copy], only: endpoint, now: now, on: connection)
            return .sent(event: id, delivery: DeliveryID(lane: delivery.lane, event: id, endpoint: endpoint))
        }
    }

    private static let origin = "SELECT original FROM entitled.event_copy WHERE lane = $1 AND id = $2"

    /// The event that this one repeats, an upper-case UUID as that is; nil if it is none.
    package static func original(
        of event: String, in lane: Lane, on connection: PostgresConnection
    ) throws -> String? {
        guard let id = UUIDText.bytes(event) else { return nil }
        let rows = try connection.query(origin, [.int2(lane.number), .uuid(id)])
        return try rows.first.map { UUIDText.upper(try $0.uuid("original")) }
    }

    /// The body with another id, every other byte as it was. What looks like the member inside of a text has its quotes
    /// escaped, so that it cannot be mistaken for it.
    static func renamed(_ body: [UInt8], from old: [UInt8], to new: [UInt8]) -> [UInt8]? {
        func member(_ id: [UInt8]) -> String { "\"id\":\"\(UUIDText.upper(id))\"" }
        guard let text = String(validating: body, as: UTF8.self) else { return nil }
        let parts = text.split(separator: member(old), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        return Array(parts.joined(separator: member(new)).utf8)
    }
}
