import Base
import Postgres

/// Notifications that ingest accepted while the log could not be written, in a table of their own: as durable as those of the log, and
/// put into it by the leader afterwards. One may be there twice, or in the log already; the log takes it once.
package enum DivertedNotifications {
    private static let insert = """
        WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
        INSERT INTO entitled.diverted_notification (seq, app, environment, uuid, type, subtype, original_transaction_id, signed_ms,
            received_ms, source, header, payload, signature)
        SELECT t.* FROM durable, unnest(
            $1::int8[], $2::text[], $3::int2[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int8[], $9::int8[],
            $10::int2[], $11::bytea[], $12::bytea[], $13::bytea[]
        ) AS t(seq, app, environment, uuid, type, subtype, original_transaction_id, signed_ms, received_ms, source, header,
            payload, signature)
        """

    /// - Parameters:
    ///   - numbers: of the notifications, in their order.
    ///   - now: when they came, in ms since 1970.
    static func add(
        _ notifications: [NewNotification], numbers: [Int64], now: Int64, on connection: PostgresConnection
    ) throws {
        try connection.query(
            insert,
            [
                .int8s(numbers), .texts(notifications.map(\.identity.app)),
                .int2s(notifications.map(\.identity.environment.code)), .texts(notifications.map(\.identity.uuid)),
                .texts(notifications.map(\.type)), .texts(notifications.map(\.subtype)),
                .texts(notifications.map(\.originalTransactionID)), .int8s(notifications.map(\.signedDate)),
                .int8s(notifications.map { _ in now }), .int2s(notifications.map(\.source.rawValue)),
                .byteas(notifications.map(\.header)), .byteas(notifications.map(\.stored.payload)),
                .byteas(notifications.map(\.stored.signature)),
            ])
    }

    /// One of them.
    package struct Diverted: Sendable {
        package let number: Int64
        package let notification: NewNotification
    }

    private static let select = """
        SELECT seq, \(NewNotification.columns) FROM entitled.diverted_notification WHERE seq > $1 ORDER BY seq LIMIT $2
        """

    /// The next ones in the order in which they came.
    ///
    /// - Parameter number: of the last one before them; 0: the first ones.
    package static func next(
        after number: Int64, limit: Int, on connection: PostgresConnection
    ) throws -> [Diverted] {
        try connection.query(select, [.int8(number), .int8(Int64(limit))]).map {
            Diverted(number: try $0.int("seq"), notification: try .init($0))
        }
    }

    private static let exists =
        "SELECT to_regclass('entitled.diverted_notification') IS NOT NULL AS is_there"

    /// Whether the schema has them: this program works with older ones, too.
    package static func isThere(on connection: PostgresConnection) throws -> Bool {
        try connection.query(exists).one().bool("is_there")
    }

    private static let selectOldest = """
        SELECT received_ms FROM entitled.diverted_notification ORDER BY seq LIMIT 1
        """

    /// When the first one of them came, in ms since 1970.
    package static func oldest(on connection: PostgresConnection) throws -> Int64? {
        try connection.query(selectOldest).first?.int("received_ms")
    }

    private static let delete = "DELETE FROM entitled.diverted_notification WHERE seq = ANY($1)"

    /// Removes those that the log has.
    package static func remove(_ numbers: [Int64], on connection: PostgresConnection) throws {
        try connection.query(delete, [.int8s(numbers)])
    }
}
