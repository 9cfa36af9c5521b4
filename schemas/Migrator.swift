import Base
import Daemon
import Postgres

/// Brings a database to the schema of this program.
package struct Migrator {
    package enum Outcome: Sendable, Equatable {
        /// The versions that were applied, in order; none if the schema was current.
        case migrated([Int])
        /// The database is newer than this program.
        case newer(Int)
    }

    /// Lets one migration run at a time in this database, also from several hosts; held until the connection ends.
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

    /// Applies the missing migrations, each in a transaction of its own, and then the table of privileges.
    ///
    /// Connect as the owner of the database.
    ///
    /// - Parameters:
    ///   - last: the version to stop at, for tests of upgrading: the privileges of an earlier one are what its
    ///     migrations grant.
    ///   - onGrant: called with each statement that changed privileges.
    package static func migrate(
        on connection: PostgresConnection, upTo last: Int = SchemaVersion.current,
        onGrant: (PrivilegeGranting.Statement) -> Void = { _ in }
    ) throws -> Outcome {
        _ = try connection.query(lock)
        defer { _ = try? connection.query(unlock) }  // ends with the connection at the latest
        if let newest = try SchemaVersion.read(on: connection), newest > SchemaVersion.current {
            return .newer(newest)
        }
        try RoleMaking.make(for: nil, on: connection)
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
        // Each time: the database may have been restored or copied, and its user may have more privileges than before.
        if last == SchemaVersion.current { try PrivilegeGranting.apply(on: connection).forEach(onGrant) }
        try PublicPrivileges.withdraw(on: connection)
        return .migrated(applied)
    }
}

/// The version of a database's schema.
package enum SchemaVersion {
    /// The schema that this program works with.
    package static let current = Schemas.migrations.last?.version ?? 0

    /// Reads the newest migration that was applied; nil if the database has no schema.
    package static func read(on connection: PostgresConnection) throws -> Int? {
        let there = try connection.query("SELECT to_regclass('entitled.schema_version') IS NOT NULL").first?.bool(0)
        guard there == true else { return nil }
        let rows = try connection.query("SELECT max(version)::int8 FROM entitled.schema_version")
        return try rows.first?.optionalInt(0).map { Int($0) } ?? 0
    }
}
