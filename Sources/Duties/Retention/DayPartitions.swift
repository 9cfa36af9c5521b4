import Base
import Database
import Postgres

/// A table that is divided by the day, with a default partition for what no day is made for.
package enum DayPartitions: String, Sendable, CaseIterable {
    case notifications = "notification"
    case attempts = "attempt"

    // MARK: - What there is

    /// A day that has a partition.
    struct Partition: Sendable {
        let day: Day
        /// On disk, with indexes.
        let bytes: Int64
    }

    /// From the catalogue: the worker's role may look nowhere else.
    private static let list = """
        SELECT to_date(right(c.relname, 8), 'YYYYMMDD') - DATE '1970-01-01' AS day,
            coalesce(/* cluster: citus_total_relation_size(c.oid) for: */pg_total_relation_size(c.oid)/* end */, 0) AS bytes
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = ('entitled.' || $1)::regclass AND c.relname ~ '_[0-9]{8}$'
        ORDER BY 1
        """

    /// The oldest first.
    func partitions(on connection: PostgresConnection) throws -> [Partition] {
        try connection.query(DayPartitions.list, [.text(rawValue)]).map { row in
            Partition(day: Day(number: try row.int("day")), bytes: try row.int("bytes"))
        }
    }

    /// The days that have a partition, the oldest first.
    package func days(on connection: PostgresConnection) throws -> [Day] {
        try partitions(on: connection).map(\.day)
    }

    /// The day of a row, from what the table is divided by.
    private var day: String {
        switch self {
        case .notifications: "((seq >> 22) + 1704067200000) / 86400000"
        case .attempts: "started_ms / 86400000"
        }
    }

    /// How many rows of each day the default partition holds; none, if all is well.
    func strays(on connection: PostgresConnection) throws -> [Day: Int64] {
        let rows = try connection.query("SELECT \(day) AS day, count(*) FROM entitled.\(rawValue)_default GROUP BY 1")
        return Dictionary(try rows.map { (Day(number: try $0.int("day")), try $0.int("count")) }) { $1 }
    }

    /// How many rows a day has, counted. Through the whole table: the worker's role may read no partition by itself.
    func rows(of day: Day, on connection: PostgresConnection) throws -> Int64 {
        let (key, bounds) =
            switch self {
            case .notifications: ("seq", [day, day.adding(1)].map { SequenceGenerator.least(at: $0.start) })
            case .attempts: ("started_ms", [day, day.adding(1)].map(\.start))
            }
        return try connection.query(
            "SELECT count(*) FROM entitled.\(rawValue) WHERE \(key) >= $1 AND \(key) < $2", bounds.map { .int8($0) }
        ).one().int("count")
    }

    /// By lane, as their keys begin.
    private static func need(_ table: String) -> String {
        """
        EXISTS (SELECT 1 FROM /* cluster: entitled.\(table) n WHERE n.seq >= $1 AND n.seq < $2 for: */entitled.lane l
            CROSS JOIN LATERAL (
                SELECT FROM entitled.\(table) n WHERE n.lane = l.lane AND n.seq >= $1 AND n.seq < $2 LIMIT 1
            ) waiting/* end */)
        """
    }

    /// What keeps a day of notifications, as `drop` finds it.
    func need(of day: Day, on connection: PostgresConnection) throws -> Dropped? {
        guard self == .notifications else { return nil }
        let row = try connection.query(
            """
            SELECT \(DayPartitions.need("pending")) AS is_pending, \(DayPartitions.need("held_notification")) AS is_held
            """,
            [
                .int8(SequenceGenerator.least(at: day.start)),
                .int8(SequenceGenerator.least(at: day.adding(1).start)),
            ]
        ).one()
        return try row.bool("is_pending") ? .pending : try row.bool("is_held") ? .held : nil
    }

    // MARK: - Making and dropping

    package enum Made: String, Sendable {
        case made
        case there
        /// So many rows of a day that is not over are in the default partition that they stay there until it is.
        case crowded
    }

    package enum Dropped: String, Sendable {
        case dropped
        case absent
        /// A notification of the day is not applied yet.
        case pending
        /// A notification of the day needs a person.
        case held
    }

    private static let make = "SELECT entitled.make_day($1, DATE '1970-01-01' + $2::int4) AS outcome"
    private static let drop = "SELECT entitled.drop_day($1, DATE '1970-01-01' + $2::int4) AS outcome"

    /// - Returns: nil while another transaction uses the table in a way that excludes it; no transaction waits for that.
    package func make(_ day: Day, on connection: PostgresConnection) throws -> Made? {
        try call(DayPartitions.make, day, on: connection).flatMap(Made.init(rawValue:))
    }

    /// - Returns: nil while another transaction uses the table; no transaction waits for that.
    package func drop(_ day: Day, on connection: PostgresConnection) throws -> Dropped? {
        try call(DayPartitions.drop, day, on: connection).flatMap(Dropped.init(rawValue:))
    }

    private func call(_ sql: String, _ day: Day, on connection: PostgresConnection) throws -> String? {
        do {
            return try connection.query(sql, [.text(rawValue), .int4(Int32(clamping: day.number))]).one().text(
                "outcome")
        } catch  where error.isContention {
            // The functions' lock timeout passed, or two workers met.
            return nil
        }
    }
}
