import Postgres

/// When the ids of customers were used last by an app or a backend: `app_user_id.last_seen_ms`.
///
/// An id's instant is known to the hour, so that a busy customer costs no write per request. A change from one id of a
/// customer to another is recorded at once: an id that is used always has, or gets, the latest instant of them all.
package enum SeenIDs {
    /// How exactly an instant is known, in ms.
    package static let precision: Int64 = 3_600_000

    /// Whether the use of an id has to be recorded.
    ///
    /// - Parameters:
    ///   - seen: when it was used last, as far as that is recorded, in ms.
    ///   - others: when another id of the same customer was, in ms; nil: there is none, or none was.
    ///   - now: ms since 1970.
    package static func isDue(seen: Int64?, others: Int64?, now: Int64) -> Bool {
        guard let seen else { return true }
        return seen < now - precision || others.map { $0 >= seen } ?? false
    }

    /// Clocks of several hosts differ: an id comes after the others by more than their instants, whatever the clock says.
    /// A row that is not due is not locked, either: that would write, too.
    private static let mark = """
        WITH used AS MATERIALIZED (
            SELECT a.id, others.seen AS others
            FROM entitled.app_user_id a CROSS JOIN LATERAL (
                SELECT max(o.last_seen_ms) AS seen FROM entitled.app_user_id o
                WHERE o.original_app_user_id = a.original_app_user_id AND o.id <> a.id
            ) others
            WHERE a.id = ANY($1::text[])
                AND (a.last_seen_ms IS NULL OR a.last_seen_ms < $3 OR a.last_seen_ms <= others.seen)
            ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED
        )
        UPDATE entitled.app_user_id a SET last_seen_ms = greatest($2, used.others + 1) FROM used WHERE a.id = used.id
        """

    /// Records that these ids are used now, where that is due. Waits for no lock: an id whose customer is being joined or
    /// deleted is left out. Of one customer at most one id may be among them.
    ///
    /// - Parameter now: ms since 1970.
    package static func mark(_ ids: Set<String>, now: Int64, on connection: PostgresConnection) throws {
        guard !ids.isEmpty else { return }
        _ = try connection.query(mark, [.texts(ids.sorted()), .int8(now), .int8(now - precision)])
    }
}
