import Base
import Postgres
import Telemetry

/// Brings a database to the schema of this program.
package struct Migrator {
    package enum Outcome: Sendable, Equatable {
        /// The versions that were applied, in order; none if the schema was current.
        case migrated([Int])
        /// The database is newer than this program.
        case newer(Int)
    }

    /// One migration at a time in this database, also from several hosts; held until the connection ends.
    private static let lock = "SELECT pg_advisory_lock(4992030524978970960)"
    private static let unlock = "SELECT pg_advisory_unlock(4992030524978970960)"

    private static let prepare = """
        CREATE SCHEMA IF NOT EXISTS entitled;
        CREATE TABLE IF NOT EXISTS entitled.schema_version (
            version int PRIMARY KEY,
            name text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        """

    /// Roles are the whole cluster's: another database may have made them, perhaps at this moment.
    private static func make(_ role: DatabaseRole) -> String {
        """
        DO $$ BEGIN
            CREATE ROLE \(role.rawValue) NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END $$;
        GRANT \(role.rawValue) TO CURRENT_USER;
        """
    }

    /// Timeouts of who logs in as a role itself; through PgBouncer there is no other way to set them.
    private static func configure(_ role: DatabaseRole) -> String {
        """
        ALTER ROLE \(role.rawValue) SET statement_timeout = '\(role.statementTimeout)';
        ALTER ROLE \(role.rawValue) SET idle_in_transaction_session_timeout = '60s';
        """
    }

    /// Roles are the whole cluster's, and the lock is this database's: where a migration of another database changes the
    /// same rows, Postgres waits for it and then fails, and the next attempt finds its work.
    private static func makeRoles(on connection: PostgresConnection) throws {
        for script in DatabaseRole.allCases.flatMap({ [make($0), configure($0)] }) {
            var attempts = 1
            while true {
                do {
                    try connection.execute(script: script)
                    break
                } catch {
                    // "tuple concurrently updated", or somebody else's insert came first.
                    guard ["XX000", "23505"].contains(error.sqlstate), attempts < 50 else { throw error }
                    attempts += 1
                }
            }
        }
    }

    /// Applies what is missing, each migration in a transaction of its own. Connect as the owner of the database.
    ///
    /// - Parameter last: the version to stop at; for tests of upgrading.
    package static func migrate(
        on connection: PostgresConnection, upTo last: Int = SchemaVersion.current
    ) throws -> Outcome {
        _ = try connection.query(lock)
        defer { _ = try? connection.query(unlock) }  // ends with the connection at the latest
        if let newest = try SchemaVersion.read(on: connection), newest > SchemaVersion.current {
            return .newer(newest)
        }
        try makeRoles(on: connection)
        try connection.execute(script: prepare)
        let newest = try SchemaVersion.read(on: connection) ?? 0
        var applied: [Int] = []
        for migration in Schemas.migrations where migration.version > newest && migration.version <= last {
            try connection.execute(
                script: """
                    BEGIN;
                    SET LOCAL synchronous_commit = on;
                    SET LOCAL lock_timeout = '10s';
                    \(migration.sql)
                    INSERT INTO entitled.schema_version (version, name)
                    VALUES (\(migration.version), '\(migration.name)');
                    COMMIT;
                    """)
            applied.append(migration.version)
        }
        return .migrated(applied)
    }
}

/// Which schema a database has.
package enum SchemaVersion {
    /// The schema that this program works with.
    package static let current = Schemas.migrations.last?.version ?? 0

    /// The newest migration that was applied; nil if there is no schema at all.
    package static func read(on connection: PostgresConnection) throws -> Int? {
        let there = try connection.query("SELECT to_regclass('entitled.schema_version') IS NOT NULL").first?.bool(0)
        guard there == true else { return nil }
        let rows = try connection.query("SELECT max(version)::int8 FROM entitled.schema_version")
        return try rows.first?.optionalInt(0).map { Int($0) } ?? 0
    }
}
