import Base
import Postgres

/// Distributes the tables of a database over the servers of a cluster (Citus documentation: "Cluster Management", "Citus Utility
/// Functions"), each as `TablePlacement` says. Lanes decide where rows lie.
///
/// All of it is one transaction: no table is left half-way.
package enum Distribution {
    package enum Outcome: Sendable, Equatable {
        /// So many tables were placed.
        case placed(Int, shards: Int)
        /// Every table is where it belongs.
        case nothingToDo(shards: Int)
    }

    /// Why a database is not distributed, as a sentence.
    package struct Refusal: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// All shards are split by lanes: more of them would stay empty.
    package static let shards: ClosedRange<Int64> = 2...256

    private static let extensionOf = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_coordinator"

    private static let servers = """
        SELECT count(*) FROM pg_catalog.pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'
        """

    private static let tables = """
        SELECT c.relname::text AS name,
            CASE WHEN p.partmethod = 'h' THEN 'distributed' WHEN p.repmodel = 't' THEN 'reference'
                WHEN p.logicalrelid IS NOT NULL THEN 'managed' ELSE 'separate' END AS placement,
            (SELECT count(*) FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = c.oid) AS shards
        FROM pg_class c LEFT JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = c.oid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        """

    private static let isInUse = "SELECT EXISTS (SELECT FROM entitled.notification_key) AS is_in_use"

    /// What a shard can keep: keys that are unique in their lanes, which follow from what Apple signed; and no triggers, which keep facts
    /// in step for programs of before schema 22.
    private static let prepare = """
        ALTER TABLE entitled.notification_key DROP CONSTRAINT notification_key_pkey;
        ALTER TABLE entitled.notification_key
            ADD CONSTRAINT notification_key_pkey PRIMARY KEY (key, app, environment, lane);
        ALTER TABLE entitled.purchase_identifier DROP CONSTRAINT purchase_identifier_pkey;
        ALTER TABLE entitled.purchase_identifier ADD CONSTRAINT purchase_identifier_pkey
            PRIMARY KEY (identifier, app, environment, original_transaction_id, lane);
        DROP TRIGGER IF EXISTS facts_added ON entitled.fact;
        DROP TRIGGER IF EXISTS facts_allowed ON entitled.fact;
        DROP TRIGGER IF EXISTS facts_removed ON entitled.fact;
        """

    /// What keeps a day, without what a cluster takes in no function of SQL: parameters in statements about distributed tables.
    private static let functions = """
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

    private static let manage = """
        SELECT citus_add_local_table_to_metadata($1::text::regclass, cascade_via_foreign_keys => true)
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1::text::regclass)
        """

    /// Whether the lanes of this database lie on a cluster, so that tables that a migration made have to be placed.
    package static func isDistributed(on connection: PostgresConnection) throws -> Bool {
        guard try connection.query(extensionOf).one().bool("is_coordinator") else { return false }
        return try connection.query(tables).contains {
            try $0.text("name") == "lane" && $0.text("placement") == TablePlacement.distributed.rawValue
        }
    }

    /// Places each table that is not where it belongs.
    ///
    /// Connect as the owner, after the migrations.
    ///
    /// - Parameter wanted: how many shards lanes are split into; nil: as many as there are.
    /// - Throws: `Refusal`, or `PostgresError`.
    package static func distribute(over wanted: Int?, on connection: PostgresConnection) throws -> Outcome {
        guard try connection.query(extensionOf).one().bool("is_coordinator") else {
            throw Refusal(
                description: "the database has no extension citus: --shards is for the coordinator of a cluster")
        }
        guard try connection.query(servers).one().int("count") > 0 else {
            throw Refusal(
                description: "the cluster has no server that takes shards: add one by citus_add_node, then try again")
        }
        let rows = try connection.query(tables).map {
            (name: try $0.text("name"), placement: try $0.text("placement"), shards: try $0.int("shards"))
        }
        let misplaced = rows.filter { row in
            guard let placement = TablePlacement.tables[row.name], placement != .separate else { return false }
            return row.placement != placement.rawValue
        }
        let there = rows.first { $0.name == "lane" && $0.placement == TablePlacement.distributed.rawValue }
        if let there, let wanted, there.shards != Int64(wanted) {
            throw Refusal(
                description: "the tables are distributed over \(there.shards) shards already; a shard is split by "
                    + "citus_split_shard_by_split_points, on all servers alike")
        }
        guard let shards = there.map({ Int($0.shards) }) ?? wanted else { return .nothingToDo(shards: 1) }
        guard !misplaced.isEmpty else {
            try connection.execute(script: functions)
            return .nothingToDo(shards: shards)
        }
        if let wrong = misplaced.first(where: { $0.placement != TablePlacement.separate.rawValue }) {
            throw Refusal(
                description: "the table entitled.\(wrong.name) is \(wrong.placement) and must be "
                    + "\(TablePlacement.tables[wrong.name]?.rawValue ?? ""): undo that by undistribute_table, then try again"
            )
        }
        if there == nil, try connection.query(isInUse).one().bool("is_in_use") {
            throw Refusal(
                description:
                    "the database has notifications: only a new one can be distributed. Make a new database, and play "
                    + "Apple's history into it")
        }
        try connection.transaction {
            try place(misplaced.map(\.name), over: shards, isFirst: there == nil, on: connection)
        }
        // What follows on this connection is sent to a cluster.
        try connection.findShards(of: "entitled.lane", count: 256)
        return .placed(misplaced.count, shards: shards)
    }

    private static func place(
        _ names: [String], over shards: Int, isFirst: Bool, on connection: PostgresConnection
    ) throws {
        // One connection for each server: several could wait for each other in one transaction.
        _ = try connection.query(
            """
            SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true),
                set_config('citus.shard_count', $1, true), set_config('client_min_messages', 'error', true)
            """, [.text("\(shards)")])
        if isFirst { try connection.execute(script: prepare) }
        let places = Set(names)
        for name in TablePlacement.names(.distributed) where places.contains(name) {
            // The first one makes the shards, and the others lie where it lies.
            _ = try connection.query(
                "SELECT create_distributed_table($1::text::regclass, 'lane', colocate_with => $2)",
                [.text("entitled.\(name)"), .text(name == "lane" ? "none" : "entitled.lane")])
        }
        for name in TablePlacement.names(.reference) where places.contains(name) {
            _ = try connection.query("SELECT create_reference_table($1::text::regclass)", [.text("entitled.\(name)")])
        }
        for name in TablePlacement.names(.managed) where places.contains(name) {
            _ = try connection.query(manage, [.text("entitled.\(name)")])
        }
        try connection.execute(script: functions)
        guard isFirst else { return }
        let database = try connection.query("SELECT current_database()::text AS name").one().text("name")
        try connection.execute(
            script: """
                ALTER DATABASE \(PostgresIdentifier.quoted(database)) SET citus.multi_shard_modify_mode = 'sequential'
                """)
        // The coordinator logs in to the other servers as the role that asks.
        for role in DatabaseRole.allCases {
            try connection.execute(script: "ALTER ROLE \(PostgresIdentifier.quoted(role.rawValue)) LOGIN")
        }
    }
}
