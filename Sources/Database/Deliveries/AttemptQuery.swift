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
    /// Of one delivery, the newest.
    private static let most: Int64 = 1000

    /// In their order.
    ///
    /// - Parameter since: milliseconds; days before are not looked into.
    static func attempts(
        of delivery: DeliveryID, since: Int64, on connection: PostgresConnection
    ) throws -> [AttemptSummary] {
        let rows = try connection.query(
            """
            SELECT number, started_ms, duration_ms, status, outcome, detail, response, lookup_ms, connect_ms, tls_ms,
                first_byte_ms, http_version, host(peer) AS address, reused IS TRUE AS is_reused,
                truncated IS TRUE AS is_truncated, head, sender
            FROM entitled.attempt
            WHERE lane = $1 AND delivery = $2 AND started_ms >= $3 ORDER BY started_ms DESC LIMIT $4
            """, [.int2(delivery.lane.number), .uuid(delivery.bytes), .int8(since), .int8(most)]
        )
        let senders = try senders(Set(rows.compactMap { try $0.optionalInt("sender") }), on: connection)
        return try rows.map { row in
            try summary(row, by: try row.optionalInt("sender").flatMap { senders[$0] })
        }.reversed()
    }

    private static let selectSenders = "SELECT number, worker, host FROM entitled.sender WHERE number = ANY($1::int8[])"

    /// The processes that made attempts, by their numbers.
    private static func senders(
        _ numbers: Set<Int64>, on connection: PostgresConnection
    ) throws -> [Int64: AttemptSender] {
        guard !numbers.isEmpty else { return [:] }
        let rows = try connection.query(selectSenders, [.int8s(numbers.sorted())])
        return Dictionary(
            try rows.map { row in
                (try row.int("number"), AttemptSender(worker: try row.uuid("worker"), host: try row.text("host")))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func summary(_ row: PostgresRow, by sender: AttemptSender?) throws -> AttemptSummary {
        let status = try row.optionalInt("status").map { Int(clamping: $0) }
        return AttemptSummary(
            number: Int(clamping: try row.int("number")), started: try row.int("started_ms"),
            milliseconds: try row.int("duration_ms"),
            status: status, outcome: try row.text("outcome"), detail: try row.optionalText("detail"),
            timings: DeliveryTable.AttemptRecord.Timings(
                lookup: try row.optionalInt("lookup_ms"), connect: try row.optionalInt("connect_ms"),
                handshake: try row.optionalInt("tls_ms"),
                firstByte: try row.optionalInt("first_byte_ms")),
            peer: try row.optionalText("address"), reused: try row.bool("is_reused"),
            version: version(try row.optionalInt("http_version"), status: status),
            worker: sender.map { Hex.encode($0.worker) }, host: sender?.host,
            head: try row.optionalBytes("head") ?? [], response: try row.optionalBytes("response") ?? [],
            truncated: try row.bool("is_truncated"))
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
