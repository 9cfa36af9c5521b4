import Base
import Database
import Postgres
import Subscriptions

/// The notifications about a purchase, as Apple signed them.
struct StoredNotifications {
    private let dictionaries = HeaderDictionaries()

    struct Stored {
        let place: LogPosition
        let identity: NotificationIdentity
        let type: String
        let subtype: String?
        let isPending: Bool
        let held: String?
        /// ms since 1970.
        let received: Int64
        /// As signed; nil where it cannot be restored.
        let payload: [UInt8]?
        /// The compact JWS, byte for byte; nil for what has no signature of its own.
        let signed: [UInt8]?
    }

    /// Where they are: each left a fact with its number, but for those that are held, which are few. What waits in its line
    /// is redacted when it is applied.
    private static let selectPlaces = """
        SELECT DISTINCT seq FROM entitled.fact
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
        UNION
        SELECT h.seq FROM entitled.held_notification h JOIN entitled.notification n ON n.lane = h.lane AND n.seq = h.seq
        WHERE h.lane = $1 AND n.original_transaction_id = $2 AND n.app = $3 AND n.environment = $4
        ORDER BY 1
        """

    static func places(
        of key: PurchaseKey, on connection: PostgresConnection
    ) throws -> [LogPosition] {
        try connection.query(
            selectPlaces,
            [
                .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app),
                .int2(key.environment.code),
            ]
        ).map { LogPosition(lane: key.lane, seq: try $0.int("seq")) }
    }

    /// A span of numbers as constants of the statement keeps days out that hold none of them.
    private static let select = """
        SELECT n.lane, n.seq, n.app, n.environment, n.uuid, n.type, n.subtype, n.received_ms, n.header,
            h.header AS header_text, n.payload, n.signature, w.reason, p.seq IS NOT NULL AS is_pending
        FROM entitled.notification n LEFT JOIN entitled.jws_header h ON h.id = n.header
        LEFT JOIN entitled.held_notification w ON w.lane = n.lane AND w.seq = n.seq
        LEFT JOIN entitled.pending p ON p.lane = n.lane AND p.seq = n.seq
        WHERE n.lane = $1 AND n.seq = ANY($2::int8[]) AND n.seq BETWEEN $3 AND $4 ORDER BY n.seq
        """

    /// Those of these places, which are of one lane and in order, that are kept.
    func read(
        _ places: some BidirectionalCollection<LogPosition>, on connection: PostgresConnection
    ) throws -> [Stored] {
        guard let first = places.first, let last = places.last else { return [] }
        return try connection.query(
            StoredNotifications.select,
            [
                .int2(first.lane.number), .int8s(places.map(\.seq)), .int8(first.seq), .int8(last.seq),
            ]
        ).map(stored)
    }

    private func stored(_ row: PostgresRow) throws -> Stored {
        let environment: StoreEnvironment = try row.value("environment")
        let jws = StoredJWS(
            headerID: try row.uuid("header"), payload: try row.bytes("payload"), signature: try row.bytes("signature"))
        let header = try row.optionalBytes("header_text")
        let payload = header.flatMap { try? dictionaries.restore(jws, header: $0) }
        let isSigned = !jws.signature.isEmpty
        return Stored(
            place: LogPosition(
                lane: try row.value("lane"), seq: try row.int("seq")),
            identity: NotificationIdentity(
                app: try row.text("app"), environment: environment, uuid: try row.text("uuid")),
            type: try row.text("type"), subtype: try row.optionalText("subtype"), isPending: try row.bool("is_pending"),
            held: try row.optionalText("reason"), received: try row.int("received_ms"), payload: payload,
            signed: header.flatMap { header in
                payload.flatMap { isSigned ? jws.compact(header: header, payload: $0) : nil }
            })
    }

    private static let deleteRows = """
        DELETE FROM entitled.notification WHERE lane = $1 AND seq = ANY($2::int8[]) AND seq BETWEEN $3 AND $4 RETURNING 1
        """
    private static let deletePlaces = """
        WITH line AS (DELETE FROM entitled.pending WHERE lane = $1 AND seq = ANY($2::int8[]))
        DELETE FROM entitled.held_notification WHERE lane = $1 AND seq = ANY($2::int8[]) RETURNING 1
        """

    /// Deletes these, which are of one lane that is held. Their keys stay: the same ones are not taken again.
    static func delete(
        _ places: [LogPosition], on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        guard let lane = places.first?.lane else { return [:] }
        let seqs = places.map(\.seq)
        return [
            "notification": Int64(
                try connection.query(
                    deleteRows, [.int2(lane.number), .int8s(seqs), .int8(seqs.min()), .int8(seqs.max())]
                ).count),
            "held_notification": Int64(
                try connection.query(deletePlaces, [.int2(lane.number), .int8s(seqs)]).count),
        ]
    }
}
