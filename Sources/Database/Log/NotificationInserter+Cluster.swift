import Base
import Postgres

/// The same rows on a cluster, whose servers are sent each statement by itself: a statement with parts would be planned part by part,
/// and what the parts say to each other written down on all servers. Where the narrow rows are named one by one, the coordinator
/// plans least; the wide ones are copied.
extension NotificationInserter {
    /// Read on the coordinator alone.
    private static let selectHeaders = "SELECT id FROM entitled.jws_header WHERE id = ANY($1::uuid[])"

    /// Headers are on all servers, and come first, in a commit of their own.
    private static let insertHeaders = """
        INSERT INTO entitled.jws_header (id, header)
        SELECT * FROM unnest($1::uuid[], $2::bytea[]) AS t(id, header) ORDER BY id ON CONFLICT DO NOTHING
        """

    private static func insertKeys(_ count: Int) -> String {
        """
        INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
        VALUES \(values(["uuid", "text", "int2", "int2", "int8"], count)) ON CONFLICT DO NOTHING RETURNING seq
        """
    }

    private static let insertRows = """
        INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, subtype, original_transaction_id,
            signed_ms, received_ms, source, header, payload, signature)
        SELECT * FROM unnest($1::int2[], $2::int8[], $3::text[], $4::int2[], $5::text[], $6::text[], $7::text[],
            $8::text[], $9::int8[], $10::int8[], $11::int2[], $12::uuid[], $13::bytea[], $14::bytea[])
        """

    private static func insertPending(_ count: Int) -> String {
        "INSERT INTO entitled.pending (lane, seq) VALUES \(values(["int2", "int8"], count))"
    }

    /// Something in the log of the server that has these lanes (see `confirm`).
    private static let confirmThere = """
        SELECT pg_logical_emit_message(true, 'entitled', '')::text FROM entitled.notification_key
        WHERE lane = ANY($1::int2[]) LIMIT 1
        """

    /// Rows of parameters: `($1::int2, $2::int8), ($3::int2, …`.
    private static func values(_ types: [String], _ count: Int) -> String {
        (0..<count).map { row in
            let row = types.enumerated().map { "$\(row * types.count + $0 + 1)::\($1)" }
            return "(\(row.joined(separator: ", ")))"
        }.joined(separator: ", ")
    }

    /// A notification with the number and the instant that it gets.
    struct Numbered {
        let notification: NewNotification
        let seq: Int64
        /// Milliseconds.
        let received: Int64
    }

    /// Puts them there, those of lanes that lie together in one commit of their server, or all in the transaction that has begun.
    ///
    /// - Parameters:
    ///   - headers: those that may be new.
    ///   - isApplied: as `isApplied(on:)` says.
    /// - Returns: the numbers of those that are new.
    /// - Throws: as `insert`; some may be stored.
    static func insertByGroup(
        _ numbered: [Numbered], headers: [[UInt8]: [UInt8]], isApplied: Bool, on connection: PostgresConnection
    ) throws -> Set<Int64> {
        let opening = durability(isApplied: isApplied)
        let headers = try missing(headers, on: connection)
        if !headers.isEmpty {
            let statement = PostgresStatement(
                insertHeaders, [.uuids(headers.map(\.key)), .byteas(headers.map(\.value))])
            if connection.isInTransaction {
                _ = try connection.queryBatch([statement])
            } else {
                try connection.transaction(opening: opening + [statement]) { _ in }
            }
        }
        return try connection.laneGroups.split(numbered) { $0.notification.lane }.reduce(into: []) { fresh, part in
            // In one order, so that two processes with the same notifications wait for each other.
            let rows = part.elements.sorted {
                $0.notification.identity.key.lexicographicallyPrecedes($1.notification.identity.key)
            }
            let first = PostgresStatement(insertKeys(rows.count), keys(rows))
            if connection.isInTransaction {
                fresh.formUnion(
                    try insertRest(of: rows, known: connection.queryBatch([first]), last: [], on: connection))
            } else {
                try connection.transaction(opening: opening + [first]) { answers in
                    fresh.formUnion(
                        try insertRest(of: rows, known: answers, last: [PostgresStatement("COMMIT")], on: connection))
                }
            }
        }
    }

    /// Those that are not there. One that is new is written to all servers, so that it cannot be while one of them is away; one that is
    /// there must not be tried.
    private static func missing(
        _ headers: [[UInt8]: [UInt8]], on connection: PostgresConnection
    ) throws -> [[UInt8]: [UInt8]] {
        guard !headers.isEmpty else { return [:] }
        let rows = try connection.query(selectHeaders, [.uuids(Array(headers.keys))])
        let known = Set(try rows.map { try $0.uuid("id") })
        return headers.filter { !known.contains($0.key) }
    }

    /// - Parameters:
    ///   - answers: that of `insertKeys` at the end.
    ///   - last: what is sent with the rest.
    private static func insertRest(
        of rows: [Numbered], known answers: [PostgresRows], last: [PostgresStatement], on connection: PostgresConnection
    ) throws -> Set<Int64> {
        let fresh = Set(try answers.last?.map { try $0.int("seq") } ?? [])
        let new = rows.filter { fresh.contains($0.seq) }
        let rest =
            new.isEmpty
            ? [PostgresStatement(confirmThere, [.int2s(rows.map(\.notification.lane.number))])]
            : [
                PostgresStatement(insertRows, columns(new)),
                PostgresStatement(
                    insertPending(new.count), new.flatMap { [.int2($0.notification.lane.number), .int8($0.seq)] }),
            ]
        _ = try connection.queryBatch(rest + last)
        return fresh
    }

    /// What `Durability.setting` says, for the server that commits: it is told with the beginning of its transaction (Citus:
    /// "citus.propagate_set_commands").
    ///
    /// - Parameter isApplied: whether the commit also waits for standbys to apply it, as the operator set.
    private static func durability(isApplied: Bool) -> [PostgresStatement] {
        [
            PostgresStatement("SET LOCAL citus.propagate_set_commands = 'local'"),
            PostgresStatement("SET LOCAL synchronous_commit = '\(isApplied ? "remote_apply" : "on")'"),
            PostgresStatement("SET LOCAL client_min_messages = 'warning'"),
        ]
    }

    /// Whether the coordinator's commits wait for standbys to apply them.
    static func isApplied(on connection: PostgresConnection) throws -> Bool {
        try connection.query("SELECT current_setting('synchronous_commit') = 'remote_apply' AS is_applied").one()
            .bool("is_applied")
    }

    private static func keys(_ rows: [Numbered]) -> [PostgresValue] {
        rows.flatMap { row -> [PostgresValue] in
            let identity = row.notification.identity
            return [
                .uuid(identity.key), .text(identity.app), .int2(identity.environment.code),
                .int2(row.notification.lane.number), .int8(row.seq),
            ]
        }
    }

    private static func columns(_ rows: [Numbered]) -> [PostgresValue] {
        let all = rows.map(\.notification)
        return [
            .int2s(all.map(\.lane.number)), .int8s(rows.map(\.seq)), .texts(all.map(\.identity.app)),
            .int2s(all.map(\.identity.environment.code)), .texts(all.map(\.identity.uuid)), .texts(all.map(\.type)),
            .texts(all.map(\.subtype)), .texts(all.map(\.originalTransactionID)), .int8s(all.map(\.signedDate)),
            .int8s(rows.map(\.received)), .int2s(all.map(\.source.rawValue)), .uuids(all.map(\.stored.headerID)),
            .byteas(all.map(\.stored.payload)), .byteas(all.map(\.stored.signature)),
        ]
    }
}
