import Base
import Postgres

/// An attempt as operators see it.
package struct AttemptSummary: Sendable {
    package let number: Int
    package let started: Int64
    package let milliseconds: Int64
    /// Also of a response that did not end.
    package let status: Int?
    package let outcome: String
    package let detail: String?
    package let timings: DeliveryTable.AttemptRecord.Timings
    /// The address that was connected to.
    package let peer: String?
    package let reused: Bool
    /// As in `HTTP/1.1`; nil without a response.
    package let version: String?
    /// Who made it: hexadecimal digits, and the name of the host.
    package let worker: String?
    package let host: String?
    package let head: [UInt8]
    package let response: [UInt8]
    /// Whether there was more of the response.
    package let truncated: Bool
}

/// Reads the log of attempts.
enum AttemptQuery {
    /// In their order.
    ///
    /// - Parameter since: milliseconds; days before are not looked into.
    static func attempts(
        of delivery: DeliveryID, since: Int64, on connection: PostgresConnection
    ) throws -> [AttemptSummary] {
        try connection.query(
            """
            SELECT a.number, started_ms, duration_ms, status, outcome, detail, response, lookup_ms, connect_ms, tls_ms,
                first_byte_ms, http_version, host(peer), reused IS TRUE, truncated IS TRUE, head, s.worker, s.host
            FROM entitled.attempt a LEFT JOIN entitled.sender s ON s.number = a.sender
            WHERE lane = $1 AND delivery = $2 AND started_ms >= $3 ORDER BY started_ms
            """, [.int2(delivery.lane.number), .uuid(delivery.bytes), .int8(since)]
        ).map(summary)
    }

    private static func summary(_ row: PostgresRow) throws -> AttemptSummary {
        let status = try row.optionalInt(3).map { Int(clamping: $0) }
        return AttemptSummary(
            number: Int(clamping: try row.int(0)), started: try row.int(1), milliseconds: try row.int(2),
            status: status, outcome: try row.text(4), detail: try row.optionalText(5),
            timings: DeliveryTable.AttemptRecord.Timings(
                lookup: try row.optionalInt(7), connect: try row.optionalInt(8), handshake: try row.optionalInt(9),
                firstByte: try row.optionalInt(10)),
            peer: try row.optionalText(12), reused: try row.bool(13),
            version: version(try row.optionalInt(11), status: status),
            worker: try row.optionalUUID(16).map(Hex.encode), host: try row.optionalText(17),
            head: try row.optionalBytes(15) ?? [], response: try row.optionalBytes(6) ?? [],
            truncated: try row.bool(14))
    }

    /// 1.1, which is usual, is not stored.
    private static func version(_ number: Int64?, status: Int?) -> String? {
        guard status != nil else { return nil }
        return switch number {
        case 10: "1.0"
        case 20: "2"
        default: "1.1"
        }
    }
}
