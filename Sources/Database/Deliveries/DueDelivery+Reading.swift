import Base
import Postgres

extension DueDelivery {
    /// As `init` reads them, of a delivery `d` and its event `e`.
    static let columns = """
        d.lane, d.id, d.endpoint, d.event, d.event_type, d.attempts, d.round_start, e.body, e.sequence
        """

    /// Nil where the body cannot be restored.
    init?(_ row: PostgresRow) throws {
        guard let body = try? EventBodyCodec.restore(try row.bytes(7)) else { return nil }
        try self.init(row, body: body)
    }

    /// - Parameter webhookID: where it is not the event's.
    init(_ row: PostgresRow, webhookID: String? = nil, body: [UInt8]) throws {
        self.init(
            id: DeliveryID(lane: Lane(number: Int16(clamping: try row.int(0))), bytes: try row.uuid(1)),
            endpoint: try row.text(2), event: try row.uuid(3), eventType: try row.text(4), webhookID: webhookID,
            attempts: Int(clamping: try row.int(5)), roundStart: Int(clamping: try row.int(6)), body: body,
            sequence: try row.optionalInt(8))
    }
}
