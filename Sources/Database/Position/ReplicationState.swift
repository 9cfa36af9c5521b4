import Postgres

/// How far a primary is, for judging its standbys.
package struct PrimaryState: Sendable, Equatable {
    /// Bytes of the write-ahead log that are written, as an LSN counts them.
    package let position: Int64
    /// Tells this installation from every other.
    package let installation: String
    /// Of the server; nil: it does not tell.
    package let timeline: Int64?
    /// That the leader has written into the database last, which standbys have, too; nil: none.
    package let notedTimeline: Int64?

    package init(position: Int64, installation: String, timeline: Int64?, notedTimeline: Int64?) {
        self.position = position
        self.installation = installation
        self.timeline = timeline
        self.notedTimeline = notedTimeline
    }

    private static let select = """
        SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8 AS position, installation, timeline
        FROM entitled.database_position
        """

    package static func read(on connection: PostgresConnection) throws -> PrimaryState {
        let server = try DatabasePosition.read(on: connection)
        let row = try connection.query(select).one()
        return PrimaryState(
            position: try row.int("position"), installation: try row.text("installation"),
            timeline: server?.timeline, notedTimeline: try row.optionalInt("timeline"))
    }

    /// Whether a standby of a former primary can be told from one of this: not where the server does not tell its timeline,
    /// and not before the leader has noted that of a promotion.
    package var isSettled: Bool { timeline != nil && timeline == notedTimeline }
}

/// How far a standby is.
package struct StandbyState: Sendable, Equatable {
    /// Bytes of the write-ahead log that are replayed, as an LSN counts them; nil: the server is no standby.
    package let position: Int64?
    package let installation: String
    /// The timeline that the leader had written into the database by then; nil: none.
    package let notedTimeline: Int64?

    package init(position: Int64?, installation: String, notedTimeline: Int64?) {
        self.position = position
        self.installation = installation
        self.notedTimeline = notedTimeline
    }

    private static let select = """
        SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 END AS position,
            installation, timeline
        FROM entitled.database_position
        """

    package static func read(on connection: PostgresConnection) throws -> StandbyState {
        let row = try connection.query(select).one()
        return StandbyState(
            position: try row.optionalInt("position"), installation: try row.text("installation"),
            notedTimeline: try row.optionalInt("timeline"))
    }

    /// Whether all that the primary had in this state can be read here.
    package func has(_ primary: PrimaryState) -> Bool {
        guard let position, primary.isSettled else { return false }
        return position >= primary.position && installation == primary.installation
            && notedTimeline == primary.notedTimeline
    }
}
