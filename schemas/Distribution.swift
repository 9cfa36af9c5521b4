import Base
import Postgres

/// Distributes the tables of a database over the servers of a cluster (Citus documentation: "Cluster Management", "Citus Utility
/// Functions"), each as `TablePlacement` says. Lanes decide where rows lie.
///
/// The tables may have rows, and processes may work with them. All tables are placed by one transaction (`DistributionMove`), so that
/// none is left half-way; what comes before and after it is repeated safely.
package enum Distribution {
    package enum Outcome: Sendable, Equatable {
        /// So many tables were placed.
        case placed(Int, shards: Int)
        /// Every table is where it belongs.
        case nothingToDo(shards: Int)
    }

    /// What happens while it lasts.
    package enum Event: Sendable, Equatable {
        /// Tables with rows are about to be copied, so many bytes of them, indexes included.
        case begun(tables: Int, rows: Int64, bytes: Int64)
        /// The locks are held by others, which are described.
        case waiting(holders: [String])
        /// The table is copied from now on, of which so much is done: 0 to 1.
        case copying(name: String, share: Double)
        /// The table is copied.
        case copied(name: String, rows: Int64, bytes: Int64, took: Duration)
        /// Everything is committed; writers had waited for so long.
        case committed(took: Duration)
        /// So many bytes of hidden copies were removed from the coordinator.
        case removed(bytes: Int64)
    }

    /// Why a database is not distributed, as a sentence.
    package struct Refusal: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// All shards are split by lanes: more of them would stay empty.
    package static let shards: ClosedRange<Int64> = 2...256

    /// What keeps a day, without what a cluster takes in no function of SQL: parameters in statements about distributed tables.
    package static let functions = """
        CREATE OR REPLACE FUNCTION entitled.day_need(least_seq bigint, end_seq bigint) RETURNS text LANGUAGE plpgsql STABLE
            SET search_path = pg_catalog, pg_temp
        AS $$
        BEGIN
            PERFORM 1 FROM entitled.pending p WHERE p.seq >= least_seq AND p.seq < end_seq LIMIT 1;
            IF FOUND THEN RETURN 'pending'; END IF;
            PERFORM 1 FROM entitled.held_notification h WHERE h.seq >= least_seq AND h.seq < end_seq LIMIT 1;
            IF FOUND THEN RETURN 'held'; END IF;
            RETURN NULL;
        END $$;
        """

    /// The number of the account that a purchase forms which another one goes on as, of its row in `purchase_identifier`.
    private static let account = """
        ('x' || encode(substr(sha256(convert_to(
            app || '|' || environment || '|purchase ' || substr(identifier, 11), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
        """

    /// Notes in which lanes owners and accounts have purchases, as programs do from then on, and keeps programs away that do not.
    package static let noting = """
        DELETE FROM entitled.owner_lane;
        DELETE FROM entitled.account_lane;
        INSERT INTO entitled.owner_lane (owner, lane) SELECT DISTINCT owner, lane FROM entitled.purchase;
        INSERT INTO entitled.account_lane (account, lane)
        SELECT DISTINCT account, lane FROM (
            SELECT account, lane FROM entitled.purchase WHERE account IS NOT NULL
            UNION ALL
            SELECT \(account), lane FROM entitled.purchase_identifier
            WHERE identifier >= 'continues:' AND identifier < 'continues;'
        ) AS found;
        UPDATE entitled.schema_version SET oldest_program = greatest(oldest_program, \(SchemaVersion.oldestOnCluster))
        WHERE version >= \(SchemaVersion.oldestOnCluster);
        """

    /// Whether the lanes of this database lie on a cluster, so that tables that a migration made have to be placed.
    package static func isDistributed(on connection: PostgresConnection) throws -> Bool {
        try ClusterState.read(on: connection)?.shards != nil
    }

    private static let isNoted = """
        SELECT EXISTS (
            SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = to_regclass('entitled.owner_lane')) AS is_noted
        """

    /// Whether a cluster has what programs write of purchases on its coordinator, and with it what they wrote before.
    static func isWhole(on connection: PostgresConnection) throws -> Bool {
        try connection.query(isNoted).one().bool("is_noted")
    }

    /// Places each table that is not where it belongs, and removes what an earlier run left of the tables as they were.
    ///
    /// Connect as the owner, after the migrations.
    ///
    /// - Parameters:
    ///   - wanted: how many shards lanes are split into; nil: as many as there are.
    ///   - wait: for how long locks are waited for.
    /// - Throws: `Refusal`, `Migrator.Busy` or `PostgresError`.
    package static func distribute(
        over wanted: Int?, wait: Duration = Migrator.wait, on connection: PostgresConnection,
        onEvent: @escaping (Event) -> Void = { _ in }
    ) throws -> Outcome {
        guard let state = try ClusterState.read(on: connection) else {
            throw Refusal(
                description: "the database has no extension citus: --shards is for the coordinator of a cluster")
        }
        guard state.servers > 0 else {
            throw Refusal(
                description: "the cluster has no server that takes shards: add one by citus_add_node, then try again")
        }
        let there = state.shards
        if let there, let wanted, there != wanted {
            throw Refusal(
                description: "the tables are distributed over \(there) shards already; a shard is split by "
                    + "citus_split_shard_by_split_points, on all servers alike")
        }
        guard let shards = there ?? wanted else { return .nothingToDo(shards: 1) }
        let misplaced = state.misplaced
        if let wrong = misplaced.first(where: { $0.placement != TablePlacement.separate.rawValue }) {
            throw Refusal(
                description: "the table entitled.\(wrong.name) is \(wrong.placement) and must be "
                    + "\(TablePlacement.tables[wrong.name]?.rawValue ?? ""): undo that by undistribute_table, then try again"
            )
        }
        return try Migrator.alone(wait: wait, on: connection, onWait: { onEvent(.waiting(holders: $0)) }) {
            if !misplaced.isEmpty {
                let move = DistributionMove(
                    connection: connection, names: misplaced.map(\.name), shards: shards, isFirst: there == nil,
                    wait: wait, onEvent: onEvent)
                try move.run()
            } else {
                try connection.execute(script: functions)
            }
            // What follows on this connection is sent to a cluster.
            try connection.findShards(of: "entitled.lane", count: 256)
            try removeCopies(wait: wait, on: connection, onEvent: onEvent)
            return misplaced.isEmpty ? .nothingToDo(shards: shards) : .placed(misplaced.count, shards: shards)
        }
    }

    /// Table by table, each with a lock of a moment that keeps readers waiting.
    private static func removeCopies(
        wait: Duration, on connection: PostgresConnection, onEvent: @escaping (Event) -> Void
    ) throws {
        let copies = try ClusterState.read(on: connection)?.copies ?? []
        guard !copies.isEmpty else { return }
        for copy in copies {
            try MigrationLocks.repeating(
                for: wait, on: connection, onWait: { onEvent(.waiting(holders: $0)) },
                {
                    try connection.transaction {
                        try MigrationLocks.yield(on: connection)
                        _ = try connection.query(
                            "SELECT truncate_local_data_after_distributing_table($1::text::regclass)",
                            [.text("entitled.\(copy.name)")])
                    }
                })
        }
        onEvent(.removed(bytes: copies.reduce(0) { $0 + $1.bytes }))
    }
}
