import Base
import Glibc
import Postgres

/// Places tables on the servers of a cluster, with the rows that they have, while processes work.
///
/// Until the last moment readers pass. Writers of tables that are copied wait from its begin to its end, and give up as they do with
/// a database that does not answer; the endpoint for Apple sets aside what it accepts meanwhile (`DivertedNotifications`).
struct DistributionMove {
    let connection: PostgresConnection
    /// The tables that are not where they belong.
    let names: [String]
    let shards: Int
    /// Whether no table is distributed yet.
    let isFirst: Bool
    let wait: Duration
    let onEvent: (Distribution.Event) -> Void

    private struct Size {
        let name: String
        let rows: Int64
        let bytes: Int64
    }

    private static let sizes = """
        SELECT c.relname::text AS name, greatest(0, sum(p.reltuples))::int8 AS rows,
            sum(pg_total_relation_size(p.oid))::int8 AS bytes, bool_or(pg_relation_size(p.oid) > 0) AS has_rows
        FROM pg_class c CROSS JOIN LATERAL (
            SELECT l.oid, l.reltuples FROM pg_class l
            WHERE l.oid = c.oid AND c.relkind = 'r' OR c.relkind = 'p' AND l.oid IN (
                SELECT relid FROM pg_partition_tree(c.oid) WHERE isleaf)
        ) p
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = ANY($1) GROUP BY c.relname ORDER BY c.relname
        """

    func run() throws {
        let copied = placed(.distributed) + placed(.reference)
        let sizes = try connection.query(DistributionMove.sizes, [.texts(copied)]).filter { try $0.bool("has_rows") }
            .map { Size(name: try $0.text("name"), rows: try $0.int("rows"), bytes: try $0.int("bytes")) }
        let bytes = sizes.reduce(0) { $0 + $1.bytes }
        try ClusterServers.check(for: bytes, on: connection)
        if isFirst { try prepareKeys() }
        let notes = placed(.managed).contains("owner_lane")
        onEvent(.begun(tables: sizes.count, rows: sizes.reduce(0) { $0 + $1.rows }, bytes: bytes))
        try begin(copied + (notes && !isFirst ? ["purchase", "purchase_identifier"] : []))
        do {
            let began = ContinuousClock.now
            try configure()
            if notes { try connection.execute(script: Distribution.noting) }
            try copy(Dictionary(uniqueKeysWithValues: sizes.map { ($0.name, $0) }), of: bytes)
            try lockForGood(for: max(wait, ContinuousClock.now - began))
            try finish()
            try commit(ending: isFirst || notes)
            onEvent(.committed(took: ContinuousClock.now - began))
        } catch {
            _ = try? connection.query("ROLLBACK")
            throw error
        }
        for size in sizes where isFirst { _ = try connection.query("ANALYZE entitled.\(size.name)") }
    }

    /// Those of the tables that get this place, in the order in which they are placed.
    private func placed(_ placement: TablePlacement) -> [String] {
        let names = Set(names)
        return TablePlacement.names(placement).filter(names.contains)
    }

    private func waiting(_ holders: [String]) { onEvent(.waiting(holders: holders)) }

    // MARK: - Before

    /// What is unique in a shard is so by its lane, which follows from what Apple signed: so these keys mean the same as the ones
    /// that they replace, on one Postgres, too.
    private static let keys = [
        (table: "notification_key", columns: "key, app, environment, lane"),
        (
            table: "purchase_identifier",
            columns: "identifier, app, environment, original_transaction_id, lane"
        ),
    ]

    private static let isWide = """
        SELECT EXISTS (
            SELECT FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY(k.conkey)
            WHERE k.conrelid = $1::text::regclass AND k.contype = 'p' AND a.attname = 'lane') AS is_wide
        """

    /// The indexes are built beside readers and writers; then each key is replaced in a moment.
    private func prepareKeys() throws {
        // As long as it takes; locks are bounded by the attempts.
        _ = try connection.query("SELECT set_config('statement_timeout', '0', false)")
        for key in DistributionMove.keys {
            let table = "entitled.\(key.table)"
            guard try !connection.query(DistributionMove.isWide, [.text(table)]).one().bool("is_wide") else { continue }
            let (index, constraint) = ("\(key.table)_wide", "\(key.table)_pkey")
            try MigrationLocks.repeating(for: wait, on: connection, onWait: waiting) {
                _ = try connection.query("DROP INDEX CONCURRENTLY IF EXISTS entitled.\(index)")
                _ = try connection.query("CREATE UNIQUE INDEX CONCURRENTLY \(index) ON \(table) (\(key.columns))")
            }
            try MigrationLocks.repeating(for: wait, on: connection, onWait: waiting) {
                try connection.transaction {
                    try MigrationLocks.yield(on: connection)
                    try connection.execute(
                        script: """
                            ALTER TABLE \(table) DROP CONSTRAINT \(constraint),
                                ADD CONSTRAINT \(constraint) PRIMARY KEY USING INDEX \(index)
                            """)
                }
            }
        }
    }

    // MARK: - The transaction

    /// Begins the transaction and keeps writers away from what is copied, and vacuums from what is placed at the end, which would
    /// wait for them.
    private func begin(_ copied: [String]) throws {
        let limit = try MigrationLocks.limit(on: connection)
        try MigrationLocks.repeating(for: wait, on: connection, onWait: waiting) {
            _ = try connection.query("BEGIN")
            do {
                _ = try connection.query("SELECT set_config('statement_timeout', $1, true)", [.text("\(limit)ms")])
                try lock(copied, "EXCLUSIVE")
                try lock(placed(.managed), "SHARE UPDATE EXCLUSIVE")
            } catch {
                _ = try? connection.query("ROLLBACK")
                throw DistributionMove.busy(error)
            }
        }
    }

    private func lock(_ names: [String], _ mode: String) throws {
        guard !names.isEmpty else { return }
        _ = try connection.query("LOCK TABLE \(names.map { "entitled.\($0)" }.joined(separator: ", ")) IN \(mode) MODE")
    }

    /// The time for a lock was over: it may be tried again.
    private static func busy(_ error: any Error) -> any Error {
        guard let error = error as? PostgresError, error.isCancelled else { return error }
        return PostgresError(.query, "tables are in use", sqlstate: "55P03")
    }

    /// One connection for each server, because several could wait for each other in one transaction. Triggers are copied with their
    /// table and removed at the end, since to remove them from the table keeps its readers waiting; the servers have to know, too,
    /// that these rows are nothing new.
    private func configure() throws {
        try connection.execute(
            script: """
                SET LOCAL statement_timeout TO 0;
                SET LOCAL client_min_messages TO error;
                SET LOCAL citus.multi_shard_modify_mode TO sequential;
                SET LOCAL citus.shard_count TO \(shards);
                SET LOCAL citus.enable_unsafe_triggers TO on;
                SET LOCAL citus.propagate_set_commands TO local;
                SET LOCAL entitled.folds TO 'on';
                """)
    }

    private func copy(_ sizes: [String: Size], of total: Int64) throws {
        var done: Int64 = 0
        for placement in [TablePlacement.distributed, .reference] {
            for name in placed(placement) {
                let size = sizes[name]
                if size != nil { onEvent(.copying(name: name, share: Double(done) / Double(max(total, 1)))) }
                let began = ContinuousClock.now
                if placement == .reference {
                    _ = try connection.query(
                        "SELECT create_reference_table($1::text::regclass)", [.text("entitled.\(name)")])
                } else {
                    // The first one makes the shards, and the others lie where it lies.
                    _ = try connection.query(
                        "SELECT create_distributed_table($1::text::regclass, 'lane', colocate_with => $2)",
                        [.text("entitled.\(name)"), .text(name == "lane" ? "none" : "entitled.lane")])
                }
                guard let size else { continue }
                done += size.bytes
                let took = ContinuousClock.now - began
                onEvent(.copied(name: name, rows: size.rows, bytes: size.bytes, took: took))
            }
        }
    }

    // MARK: - The last moment

    private static let clear = "SELECT pg_stat_clear_snapshot()::text"

    /// The sessions of this owner and of the processes.
    private static let others = """
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND usename IN (\(DatabaseRole.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")), current_user)
            AND application_name NOT LIKE 'citus%'
        """

    /// Writers that wait for this transaction may have locked what it still needs.
    private static let cancelWaiting =
        "SELECT pg_cancel_backend(pid) \(others) AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"

    /// Keeps readers from what changes last: all of it at once, so that the transaction waits for nothing after it, and so briefly
    /// each time that Postgres ends no transaction as a deadlock.
    ///
    /// - Parameter patience: as long as copying took, at least: to begin anew takes as long.
    private func lockForGood(for patience: Duration) throws {
        let limit = try MigrationLocks.limit(on: connection)
        let end = ContinuousClock.now + patience
        while true {
            _ = try connection.query("SAVEPOINT locking")
            do {
                _ = try connection.query(DistributionMove.clear)
                _ = try connection.query(DistributionMove.cancelWaiting)
                _ = try connection.query("SELECT set_config('statement_timeout', $1, true)", [.text("\(limit)ms")])
                try connection.query("LOCK TABLE \(try lockedForGood()) IN ACCESS EXCLUSIVE MODE")
                _ = try connection.query("SELECT set_config('statement_timeout', '0', true)")
                return
            } catch let error as PostgresError where error.isCancelled || error.isContention {
                _ = try connection.query("ROLLBACK TO SAVEPOINT locking")
                _ = try connection.query(DistributionMove.clear)
                let holders = try MigrationLocks.blockers(on: connection)
                guard ContinuousClock.now < end else {
                    throw Migrator.Busy(waited: patience, blockers: holders, reason: error.message)
                }
                waiting(holders)
                usleep(500_000)
            }
        }
    }

    /// Views are made anew with the tables that they read.
    private func lockedForGood() throws -> String {
        let views = isFirst ? AnalystRole.views.map { "\(AnalystRole.schema).\($0)" } : []
        let tables = placed(.managed) + (isFirst ? ["fact"] : [])
        return (views + tables.map { "entitled.\($0)" }).joined(separator: ", ")
    }

    private static let manage = """
        SELECT citus_add_local_table_to_metadata($1::text::regclass, cascade_via_foreign_keys => true)
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1::text::regclass)
        """

    /// The number that an identity gave last; a table that gets another place begins with its first one.
    private struct Identity {
        let table: String
        let column: String
        let last: Int64
        let isUsed: Bool
    }

    private static let sequences = """
        SELECT c.relname::text AS table_name, a.attname::text AS column_name,
            pg_get_serial_sequence('entitled.' || quote_ident(c.relname), a.attname) AS sequence
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = ANY($1) AND a.attidentity <> ''
        """

    private func readIdentities() throws -> [Identity] {
        try connection.query(DistributionMove.sequences, [.texts(placed(.managed))]).map { row in
            let state = try connection.query("SELECT last_value, is_called FROM \(try row.text("sequence"))").one()
            return Identity(
                table: try row.text("table_name"), column: try row.text("column_name"),
                last: try state.int("last_value"), isUsed: try state.bool("is_called"))
        }
    }

    private func finish() throws {
        let identities = try readIdentities()
        for name in placed(.managed) {
            _ = try connection.query(DistributionMove.manage, [.text("entitled.\(name)")])
        }
        try connection.execute(script: Distribution.functions)
        for identity in identities {
            try connection.query(
                "SELECT setval(pg_get_serial_sequence($1, $2), $3, $4)",
                [
                    .text("entitled.\(identity.table)"), .text(identity.column), .int8(identity.last),
                    .bool(identity.isUsed),
                ])
        }
        guard isFirst else { return }
        let database = try connection.query("SELECT current_database()::text AS name").one().text("name")
        // Facts are kept in step by programs since schema 22. One by one: the servers are sent what the coordinator was.
        for trigger in ["facts_added", "facts_allowed", "facts_removed"] {
            try connection.query("DROP TRIGGER IF EXISTS \(trigger) ON entitled.fact")
        }
        let name = PostgresIdentifier.quoted(database)
        try connection.query("ALTER DATABASE \(name) SET citus.multi_shard_modify_mode = 'sequential'")
        // Views that were made anew have no grants.
        _ = try PrivilegeGranting.applyInTransaction(on: connection)
    }

    /// Ends the sessions of the processes, too, which connect again and learn then that the database is a cluster: in the same
    /// message, so that both happen although this process is killed.
    private func commit(ending sessions: Bool) throws {
        guard sessions else {
            _ = try connection.query("COMMIT")
            return
        }
        try connection.execute(
            script: "COMMIT; SELECT pg_terminate_backend(pid) \(DistributionMove.others)")
    }
}
