import Base
import Postgres

/// Puts verified notifications into the database: one statement and one commit for a whole batch.
package struct NotificationInserter {
    /// What became of a notification of a batch.
    package enum InsertResult: Sendable, Equatable {
        /// It is committed.
        case accepted
        /// It was there already, committed.
        case duplicate
    }

    /// Rows that come back are new. `synchronous_commit` is set inside the transaction, whatever the server's default
    /// is, so that the commit is on disk when the statement returns. Keys are inserted in order, so that two processes
    /// with the same notifications wait for each other instead of deadlocking.
    private static let insert = """
        WITH durable AS MATERIALIZED (SELECT \(Durability.setting)),
        headers AS (
            INSERT INTO entitled.jws_header (id, header)
            SELECT * FROM unnest($16::uuid[], $17::bytea[]) AS t(id, header) ORDER BY id ON CONFLICT DO NOTHING
        ),
        input AS MATERIALIZED (
            SELECT t.* FROM durable, unnest(
                $1::int2[], $2::int8[], $3::text[], $4::int2[], $5::uuid[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::int8[], $11::int8[], $12::int2[], $13::uuid[], $14::bytea[], $15::bytea[]
            ) AS t(lane, seq, app, environment, key, uuid, type, subtype, original_transaction_id, signed_ms,
                   received_ms, source, header, payload, signature)
            ORDER BY t.key, t.app, t.environment
        ),
        fresh AS (
            INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
            SELECT key, app, environment, lane, seq FROM input ON CONFLICT DO NOTHING RETURNING seq
        ),
        stored AS (
            INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, subtype,
                original_transaction_id, signed_ms, received_ms, source, header, payload, signature)
            SELECT lane, seq, app, environment, uuid, type, subtype, original_transaction_id, signed_ms, received_ms,
                source, header, payload, signature
            FROM input JOIN fresh USING (seq)
        )
        INSERT INTO entitled.pending (lane, seq) SELECT lane, seq FROM input JOIN fresh USING (seq) RETURNING seq
        """

    /// A commit of its own, which waits for the log on disk and for the synchronous standbys, as one with rows does.
    ///
    /// Known rows may be on the primary alone: it was restarted, or the wait was cancelled, while their commit waited for a
    /// standby. Without something in the log Postgres would not wait, hence an empty message there.
    private static let confirm = """
        WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
        SELECT pg_logical_emit_message(true, 'entitled', '')::text FROM durable
        """

    private let sequence: SequenceGenerator
    private let clock: any WallClock
    /// What this connection has put there: another one may lead to another server, which may have lost it.
    private var knownHeaders: Set<[UInt8]> = []
    private var knownTo: UInt64?
    /// On a cluster: see `isApplied(on:)`.
    private var isApplied = false

    /// Headers kept in mind; Apple has one or two at a time.
    private static let headerLimit = 1000

    package init(sequence: SequenceGenerator, clock: any WallClock) {
        self.sequence = sequence
        self.clock = clock
    }

    /// One outcome for each notification, in their order; none of the same batch may have the same identity.
    ///
    /// - Throws: when nothing is stored, or when it is unknown whether anything is. Sending them again is safe.
    package mutating func insert(
        _ notifications: [NewNotification], on connection: PostgresConnection
    ) throws -> [InsertResult] {
        let headers = try newHeaders(of: notifications, on: connection)
        let now = clock.now()
        let numbered = notifications.map {
            Numbered(notification: $0, seq: sequence.next(), received: $0.received ?? now)
        }
        let fresh =
            connection.isCluster
            ? try NotificationInserter.insertByGroup(numbered, headers: headers, isApplied: isApplied, on: connection)
            : try NotificationInserter.insertAtOnce(numbered, headers: headers, on: connection)
        if knownHeaders.count >= NotificationInserter.headerLimit {
            knownHeaders.removeAll()
        }
        knownHeaders.formUnion(headers.keys)
        return numbered.map { fresh.contains($0.seq) ? .accepted : .duplicate }
    }

    private static func insertAtOnce(
        _ numbered: [Numbered], headers: [[UInt8]: [UInt8]], on connection: PostgresConnection
    ) throws -> Set<Int64> {
        let notifications = numbered.map(\.notification)
        let rows = try connection.query(
            insert,
            [
                .int2s(notifications.map(\.lane.number)), .int8s(numbered.map(\.seq)),
                .texts(notifications.map(\.identity.app)), .int2s(notifications.map(\.identity.environment.code)),
                .uuids(notifications.map(\.identity.key)), .texts(notifications.map(\.identity.uuid)),
                .texts(notifications.map(\.type)), .texts(notifications.map(\.subtype)),
                .texts(notifications.map(\.originalTransactionID)), .int8s(notifications.map(\.signedDate)),
                .int8s(numbered.map(\.received)), .int2s(notifications.map(\.source.rawValue)),
                .uuids(notifications.map(\.stored.headerID)), .byteas(notifications.map(\.stored.payload)),
                .byteas(notifications.map(\.stored.signature)), .uuids(headers.map(\.key)),
                .byteas(headers.map(\.value)),
            ])
        let fresh = Set(try rows.map { try $0.int("seq") })
        if fresh.isEmpty { try connection.query(confirm) }
        return fresh
    }

    /// Stores them beside the log, whose tables are locked: committed, too, and for the leader to put into the log.
    ///
    /// - Throws: when nothing is stored, or when it is unknown whether anything is. Sending them again is safe.
    package func divert(_ notifications: [NewNotification], on connection: PostgresConnection) throws {
        try DivertedNotifications.add(
            notifications, numbers: notifications.map { _ in sequence.next() }, now: clock.now(), on: connection)
    }

    private mutating func newHeaders(
        of notifications: [NewNotification], on connection: PostgresConnection
    ) throws -> [[UInt8]: [UInt8]] {
        if knownTo != connection.serial {
            knownHeaders.removeAll()
            isApplied = connection.isCluster ? try NotificationInserter.isApplied(on: connection) : false
            knownTo = connection.serial
        }
        var headers: [[UInt8]: [UInt8]] = [:]
        for notification in notifications where !knownHeaders.contains(notification.stored.headerID) {
            headers[notification.stored.headerID] = notification.header
        }
        return headers
    }
}
