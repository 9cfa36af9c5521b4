import Base
import Postgres

extension DueDelivery {
    /// As `init` reads them, of a delivery `d` and its event `e`.
    static let columns = """
        d.lane, d.id, d.endpoint, d.event, d.event_type, d.attempts, d.round_start, e.body, e.sequence
        """

    /// Nil where the body cannot be restored.
    init?(_ row: PostgresRow) throws {
        guard let stored = try row.optionalBytes("body"), let body = try? EventBodyCodec.restore(stored) else {
            return nil
        }
        try self.init(row, body: body)
        cause = EventBodyCodec.cause(of: stored)
    }

    /// - Parameter webhookID: where it is not the event's.
    init(_ row: PostgresRow, webhookID: String? = nil, body: [UInt8]) throws {
        self.init(
            id: DeliveryID(lane: try row.value("lane"), bytes: try row.uuid("id")),
            endpoint: try row.text("endpoint"), event: try row.uuid("event"), eventType: try row.text("event_type"),
            webhookID: webhookID,
            attempts: Int(clamping: try row.int("attempts")), roundStart: Int(clamping: try row.int("round_start")),
            body: body,
            sequence: try row.optionalInt("sequence"))
    }
}
