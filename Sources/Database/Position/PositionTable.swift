import Postgres

/// The number that the leader raises every few seconds, and what processes have seen of it.
package struct PositionTable: Sendable, Equatable {
    /// Tells this installation from every other; a copy of its database is the same one.
    package let installation: String
    package let number: Int64
    /// Where the number was raised last; nil: never, or the server does not tell.
    package let position: DatabasePosition?
    /// Grows when an operator adopts the database.
    package let adoption: Int64
    /// Whether it was adopted and the leader has not seen that yet.
    package let isAdopted: Bool
    /// That the database went back, while something is left to do about it.
    package let pending: DatabaseReturn?

    /// Those that the schema takes.
    package static let numbers: ClosedRange<Int64> = 0...3_999_999_999_999_999_999

    private static let isThere = "SELECT to_regclass('entitled.database_position') IS NOT NULL AS is_there"

    /// Whether the schema has it, from version 33 on. Asked each time: a database may go back to before.
    package static func isThere(on connection: PostgresConnection) throws -> Bool {
        try connection.query(isThere).one().bool("is_there")
    }

    private static let columns =
        "installation, number, cluster, timeline, adoption, is_adopted, returned_ms, reason, lost"
    private static let select = "SELECT \(columns) FROM entitled.database_position"

    package static func read(on connection: PostgresConnection) throws -> PositionTable {
        try PositionTable(connection.query(select).one())
    }

    /// In a transaction: the row stays as it is until its end.
    package static func lock(on connection: PostgresConnection) throws -> PositionTable {
        try PositionTable(connection.query("\(select) FOR UPDATE").one())
    }

    private init(_ row: PostgresRow) throws {
        installation = try row.text("installation")
        number = try row.int("number")
        let (cluster, timeline) = (try row.optionalText("cluster"), try row.optionalInt("timeline"))
        position = cluster.flatMap { cluster in
            timeline.map { DatabasePosition(cluster: cluster, timeline: $0) }
        }
        adoption = try row.int("adoption")
        isAdopted = try row.bool("is_adopted")
        pending = try row.optionalInt("returned_ms").map { at in
            let reason = try row.optionalText("reason").flatMap(DatabaseReturn.Reason.init(rawValue:))
            return DatabaseReturn(at: at, reason: reason ?? .number, lost: try row.optionalInt("lost") ?? 0)
        }
    }

    private static let write = """
        UPDATE entitled.database_position SET number = $1, cluster = coalesce($2, cluster),
            timeline = coalesce($3, timeline), is_adopted = false, returned_ms = $4, reason = $5, lost = $6
        """

    /// Behind the fence of the leader.
    ///
    /// - Parameter position: nil leaves the last one that was known.
    package static func write(
        _ number: Int64, at position: DatabasePosition?, _ pending: DatabaseReturn?, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            write,
            [
                .int8(number), .text(position?.cluster), .int8(position?.timeline), .int8(pending?.at),
                .text(pending?.reason.rawValue), .int8(pending?.lost),
            ])
    }

    private static let adopt = """
        UPDATE entitled.database_position SET is_adopted = true,
            adoption = greatest(adoption, $1, (extract(epoch FROM clock_timestamp()) * 1000)::int8) + 1
        RETURNING adoption
        """

    /// Says that this is the database, wherever it was before. For its owner.
    ///
    /// The time makes it greater than those that other hosts have seen.
    ///
    /// - Parameter seen: the greatest adoption that this host has seen.
    package static func adopt(after seen: Int64, on connection: PostgresConnection) throws -> Int64 {
        try connection.query(adopt, [.int8(min(seen, numbers.upperBound))]).one().int("adoption")
    }

    private static let report = "INSERT INTO entitled.database_sighting (number) VALUES ($1) ON CONFLICT DO NOTHING"

    /// Says that this number was seen here, greater than the one that is.
    package static func report(_ number: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(report, [.int8(number)])
    }

    private static let take = """
        WITH taken AS (DELETE FROM entitled.database_sighting RETURNING number)
        SELECT max(number) FILTER (WHERE number <= $1) AS number FROM taken
        """

    /// The greatest number that was reported; the reports are gone. Behind the fence of the leader.
    ///
    /// - Parameter limit: a greater one is made up: the role of ingest is a public one.
    package static func takeReports(upTo limit: Int64, on connection: PostgresConnection) throws -> Int64? {
        try connection.query(take, [.int8(limit)]).one().optionalInt("number")
    }

    private static let selectReturn = "SELECT returned_ms FROM entitled.database_position"

    /// Which return is pending, by its time in ms; nil: none, or the schema does not know.
    package static func pendingReturn(on connection: PostgresConnection) throws -> Int64? {
        guard try isThere(on: connection) else { return nil }
        return try connection.query(selectReturn).first?.optionalInt("returned_ms")
    }
}
