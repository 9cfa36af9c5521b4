import Base
import Postgres

/// The first statement of every data transaction: locks the lanes' rows and compares owner and epoch.
///
/// A takeover updates the same rows, so the transaction of a worker that comes back late either ends before it, or
/// finds no row. The timeouts are below the lease, so that a stopped worker does not keep its lock. `entitled.folds` says that this
/// program keeps what facts come to in step with them (see `PurchaseFoldTable`).
package enum Fence {
    private static let lock = """
        WITH settings AS MATERIALIZED (
            SELECT \(Durability.setting), set_config('statement_timeout', $4, true),
                set_config('idle_in_transaction_session_timeout', $4, true), set_config('lock_timeout', $4, true),
                set_config('entitled.folds', 'on', true)
        ),
        held AS MATERIALIZED (
            SELECT l.lane, l.touched FROM entitled.lane l
            JOIN unnest($1::int2[], $2::int8[]) AS t(lane, epoch) ON l.lane = t.lane AND l.epoch = t.epoch
            WHERE l.owner = $3 /* cluster: AND l.lane = ANY($1::int2[]) */ ORDER BY l.lane FOR NO KEY UPDATE OF l
        )
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms,
            (SELECT string_agg(lane || ' ' || touched, ',') FROM held) AS touched
        FROM settings
        """

    package struct Passed: Sendable {
        /// Milliseconds since 1970 by the server's clock.
        package let now: Int64
        /// The lanes that are ours, with how often others changed something in each.
        package let touched: [Lane: Int64]

        package var lanes: Set<Lane> { Set(touched.keys) }
    }

    private static let look = """
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms,
            string_agg(lane || ' ' || touched, ',') AS touched
        FROM entitled.lane WHERE lane = ANY($1::int2[])
        """

    /// Of no lanes: a cluster would ask any of its servers.
    private static let lookAtNone =
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms, NULL::text AS touched"

    /// What `pass` says of these lanes, without a lock: for what is read before a transaction, and is as good as read in it while
    /// no other process touched the lane.
    package static func look(at lanes: [Lane], on connection: PostgresConnection) throws -> Passed {
        guard !lanes.isEmpty else { return try passed(try connection.query(lookAtNone).one()) }
        return try passed(try connection.query(look, [.int2s(lanes.map(\.number))]).one())
    }

    private static func passed(_ row: PostgresRow) throws -> Passed {
        var touched: [Lane: Int64] = [:]
        for entry in try (row.optionalText("touched") ?? "").split(separator: ",") {
            let numbers = entry.split(separator: " ").compactMap { Int64($0) }
            guard numbers.count == 2 else { throw PostgresError(.decoding, "the fence returned no lanes") }
            touched[Lane(number: Int16(clamping: numbers[0]))] = numbers[1]
        }
        return Passed(now: try row.int("now_ms"), touched: touched)
    }

    /// How long a statement of a worker's transaction may take, and wait for a lock.
    package static func limit(lease: Duration) -> Duration { max(.seconds(1), lease / 2) }

    /// Call as the first statement of a transaction; writes may concern only the lanes that passed.
    package static func pass(
        _ lanes: [Lane], leases: LaneLeases, on connection: PostgresConnection
    ) throws -> Passed {
        let timeout = "\(limit(lease: leases.duration).milliseconds)ms"
        let rows = try connection.query(
            lock,
            [
                .int2s(lanes.map(\.number)), .int8s(lanes.map { leases.epochs[$0] ?? -1 }), .uuid(leases.worker),
                .text(timeout),
            ])
        guard let row = rows.first else { throw PostgresError(.decoding, "the fence returned no row") }
        return try passed(row)
    }

    /// For a transaction of the owner's own that has bounds already, and finds only late that it changes what others wait
    /// for: locks the lanes as `hold` does.
    package static func lock(_ lanes: some Sequence<Lane>, on connection: PostgresConnection) throws {
        for numbers in steps(lanes, on: connection) where !numbers.isEmpty {
            _ = try connection.query(touch, [.int2s(numbers)])
        }
    }

    /// What one statement locks: all lanes, in their order; on a cluster those of one group after the other.
    private static func steps(_ lanes: some Sequence<Lane>, on connection: PostgresConnection) -> [[Int16]] {
        let lanes = Set(lanes).sorted()
        let steps = connection.laneGroups.split(lanes).map { $0.elements.map(\.number) }
        return steps.isEmpty ? [[]] : steps
    }

    private static let touch = """
        WITH held AS MATERIALIZED (
            SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[]) ORDER BY lane FOR NO KEY UPDATE
        )
        UPDATE entitled.lane l SET touched = l.touched + 1 FROM held
        WHERE l.lane = held.lane /* cluster: AND l.lane = ANY($1::int2[]) */
        """

    /// The setting of a transaction which says how long its locks are waited for, in place of the 30 s of `hold`.
    static let lockTimeout = "entitled.lock_timeout"

    private static let bounds = """
        SELECT \(Durability.setting), set_config('statement_timeout', '30s', true),
            set_config('idle_in_transaction_session_timeout', '5s', true),
            set_config('lock_timeout', coalesce(nullif(current_setting('\(lockTimeout)', true), ''), '30s'), true),
            set_config('entitled.folds', 'on', true)
        """

    /// A cluster locks nothing without naming a lane.
    private static let takeNone = """
        WITH settings AS MATERIALIZED (\(bounds))
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms FROM settings
        """

    private static let take = """
        WITH settings AS MATERIALIZED (\(bounds)),
        held AS MATERIALIZED (
            SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[]) ORDER BY lane FOR NO KEY UPDATE
        ),
        touched AS (
            UPDATE entitled.lane l SET touched = l.touched + 1 FROM held
            WHERE l.lane = held.lane /* cluster: AND l.lane = ANY($1::int2[]) */
        )
        SELECT (SELECT count(*) FROM held), (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms FROM settings
        """

    /// For who owns no lane and changes what is in some: locks them like their owners, who wait meanwhile. Call as the
    /// first statement of a short transaction; who then stands still loses it. Returns milliseconds since 1970 by the
    /// server's clock, read once they are locked.
    package static func hold(_ lanes: some Sequence<Lane>, on connection: PostgresConnection) throws -> Int64 {
        var now: Int64?
        for numbers in steps(lanes, on: connection) {
            let isNone = connection.isCluster && numbers.isEmpty
            now = try connection.query(isNone ? takeNone : take, isNone ? [] : [.int2s(numbers)]).first?.int("now_ms")
        }
        guard let now else { throw PostgresError(.decoding, "the fence returned no row") }
        return now
    }
}
