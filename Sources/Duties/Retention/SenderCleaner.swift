import Postgres

/// Deletes the names of processes that made attempts, once their attempts are gone.
///
/// A sender does not say when it last sent. So retention notes when it first finds no worker of its id; attempts began
/// before that.
struct SenderCleaner {
    private var pass = DailyPass()

    private static let stepSize: Int64 = 1000

    /// The column that the schema has from version 28 on; this program works with earlier ones, too.
    private static let canNote = """
        SELECT EXISTS (SELECT FROM pg_attribute
            WHERE attrelid = 'entitled.sender'::regclass AND attname = 'gone_ms' AND NOT attisdropped)
        """

    /// A worker that stood still for so long that its row went may come back.
    private static let note = """
        UPDATE entitled.sender s SET gone_ms = CASE WHEN f.is_there THEN NULL ELSE $1::int8 END
        FROM (
            SELECT s.number, w.id IS NOT NULL AS is_there
            FROM entitled.sender s LEFT JOIN entitled.worker w ON w.id = s.worker
            WHERE (s.gone_ms IS NULL) = (w.id IS NULL) LIMIT $2
        ) f
        WHERE s.number = f.number RETURNING 1
        """

    private static let old = """
        FROM entitled.sender s
        WHERE s.gone_ms < $1 AND NOT EXISTS (SELECT FROM entitled.worker w WHERE w.id = s.worker)
        """

    private static let delete = """
        DELETE FROM entitled.sender WHERE number = ANY (ARRAY(SELECT s.number \(old) ORDER BY s.number LIMIT $2))
            AND gone_ms < $1 RETURNING 1
        """

    /// Two short statements.
    ///
    /// - Parameter limit: ms; senders that were gone before go. Nil where it is not known which attempts there are: then
    ///   none goes.
    /// - Returns: how many went; nil when there is nothing to do for now.
    mutating func step(before limit: Int64?, now: Int64, on connection: PostgresConnection) throws -> Int? {
        guard pass.isDue else { return nil }
        var (noted, deleted) = (0, 0)
        if try connection.query(SenderCleaner.canNote).one().bool("exists") {
            noted = try connection.query(SenderCleaner.note, [.int8(now), .int8(SenderCleaner.stepSize)]).count
            if let limit {
                deleted = try connection.query(
                    SenderCleaner.delete, [.int8(limit), .int8(SenderCleaner.stepSize)]
                ).count
            }
        }
        if max(noted, deleted) < SenderCleaner.stepSize { pass.finish() }
        return deleted
    }

    mutating func hurry() { pass.hurry() }

    static func forecast(before limit: Int64, on connection: PostgresConnection) throws -> RetentionForecast.Entry {
        var tally = RetentionForecast.Tally()
        if try connection.query(canNote).one().bool("exists") {
            try tally.add(
                connection.query(
                    """
                    SELECT count(*), coalesce(sum(pg_column_size(s.*)), 0)::int8 AS bytes, min(s.gone_ms) AS oldest_ms
                    \(old)
                    """, [.int8(limit)]))
        }
        return tally.entry("sender", before: limit)
    }
}
