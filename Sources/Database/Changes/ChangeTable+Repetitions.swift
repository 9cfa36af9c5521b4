import Base
import Postgres

/// Changes that are asked for again.
extension ChangeTable {
    /// What an operator asked for who had the name before is no repetition.
    private static let selectRepeated = """
        SELECT id, request_hash FROM entitled.job
        WHERE made_by = $1 AND idempotency_key = $2 AND (
            state = 'running'
            OR coalesce(finished_ms, created_ms) > (extract(epoch FROM clock_timestamp()) * 1000)::int8 - 86400000)
            AND created_ms >= coalesce((SELECT u.created_ms FROM entitled.console_user u WHERE u.name = $1), 0)
        ORDER BY id DESC LIMIT 1
        """

    /// The key of a request whose own one named a customer who was deleted, and nothing else of it did. None of an operator's has a
    /// space in it.
    package static let takenKey = "taken key"

    /// Without its key such a request is known by its hash, so that nothing is done twice.
    private static let selectTaken = """
        SELECT id FROM entitled.job
        WHERE made_by = $1 AND idempotency_key = '\(takenKey)' AND request_hash = ANY($2::bytea[]) AND (
            state = 'running'
            OR coalesce(finished_ms, created_ms) > (extract(epoch FROM clock_timestamp()) * 1000)::int8 - 86400000)
            AND created_ms >= coalesce((SELECT u.created_ms FROM entitled.console_user u WHERE u.name = $1), 0)
        ORDER BY id DESC LIMIT 1
        """

    /// What was asked for under this key before; nil: nothing, or it ended more than a day ago.
    package static func answer(
        toRepetitionBy user: String, under idempotencyKey: String, fingerprint: [UInt8],
        on connection: PostgresConnection
    ) throws -> Answer? {
        try answer(toRepetitionBy: user, under: idempotencyKey, fingerprints: [fingerprint], on: connection)
    }

    static func answer(
        toRepetitionBy user: String, under idempotencyKey: String, fingerprints: [[UInt8]],
        on connection: PostgresConnection
    ) throws -> Answer? {
        if let known = try connection.query(selectRepeated, [.text(user), .text(idempotencyKey)]).first {
            return fingerprints.contains(try known.bytes("request_hash")) ? .repeated(try known.int("id")) : .mismatch
        }
        return try connection.query(selectTaken, [.text(user), .byteas(fingerprints)]).first.map {
            .repeated(try $0.int("id"))
        }
    }
}
