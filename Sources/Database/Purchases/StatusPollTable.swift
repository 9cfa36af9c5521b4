import Base
import Postgres
import Subscriptions

/// A purchase of which news is missing, in the database: Apple is asked how it stands.
package struct StatusPollTable: Sendable, Equatable {
    package let key: PurchaseKey
    /// When access ended, in ms.
    package let end: Int64
    /// When Apple is asked, in ms.
    package let next: Int64

    package init(key: PurchaseKey, end: Int64, next: Int64) {
        self.key = key
        self.end = end
        self.next = next
    }

    private static let upsert = """
        INSERT INTO entitled.status_look AS l (lane, app, environment, original_transaction_id, end_ms, next_ms)
        SELECT * FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[], $5::int8[], $6::int8[])
        ON CONFLICT (lane, original_transaction_id, app, environment) DO UPDATE SET
            end_ms = excluded.end_ms, next_ms = excluded.next_ms WHERE l.end_ms <> excluded.end_ms
        """

    /// Adds these. What is there already for the same end stays as it is. Their lanes are the caller's.
    package static func add(_ looks: [StatusPollTable], on connection: PostgresConnection) throws {
        guard !looks.isEmpty else { return }
        _ = try connection.query(
            upsert,
            PurchaseKeys(looks.map(\.key)).columns + [.int8s(looks.map(\.end)), .int8s(looks.map(\.next))])
    }

    private static let select = """
        SELECT original_transaction_id, end_ms, next_ms FROM entitled.status_look
        WHERE app = $1 AND environment = $2 AND next_ms <= $3 ORDER BY next_ms LIMIT $4
        """

    /// Those whose time has come, the first ones first.
    package static func due(
        at place: AppScope, now: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [StatusPollTable] {
        try connection.query(
            select, [.text(place.app), .int2(place.environment.code), .int8(now), .int8(Int64(limit))]
        ).map { row in
            let key = PurchaseKey(
                app: place.app, environment: place.environment,
                originalTransactionID: try row.text("original_transaction_id"))
            return StatusPollTable(key: key, end: try row.int("end_ms"), next: try row.int("next_ms"))
        }
    }

    private static let count = """
        SELECT count(*) FROM (
            SELECT 1 FROM entitled.status_look WHERE app = $1 AND environment = $2 AND next_ms <= $3 LIMIT $4
        ) due
        """

    /// How many those are, up to a limit.
    package static func countDue(
        at place: AppScope, now: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> Int64 {
        try connection.query(
            count, [.text(place.app), .int2(place.environment.code), .int8(now), .int8(Int64(limit))]
        ).one().int("count")
    }

    private static let move = """
        UPDATE entitled.status_look SET next_ms = $6
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND end_ms = $5
        """
    private static let delete = """
        DELETE FROM entitled.status_look
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND end_ms = $5
        """

    /// Asks again at this instant; nil: never. Nothing where a worker has found another end meanwhile.
    package func move(to next: Int64?, on connection: PostgresConnection) throws {
        let place: [PostgresValue] = [
            .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
            .int8(end),
        ]
        if let next {
            _ = try connection.query(StatusPollTable.move, place + [.int8(next)])
        } else {
            _ = try connection.query(StatusPollTable.delete, place)
        }
    }
}
