import Base
import Daemon
import Glibc
import Postgres

/// Brings a database to the schema of this program, while processes work with it.
///
/// The missing migrations are one transaction, which locks every table before it changes one (`MigrationLocks`): a
/// database is at a version or at the one before, whenever the migrator is interrupted. Only where a migration has online
/// steps does the transaction end with it; the next begins when they are finished.
package struct Migrator {
    package enum Outcome: Sendable, Equatable {
        /// The versions that were applied, in order; none if the schema was current.
        case migrated([Int])
        /// The database is newer than this program, which works with it all the same. Nothing was changed.
        case ahead(Int)
        /// The database is newer than this program works with. Nothing was changed.
        case newer(Int)
    }

    /// Tables, or the migrator's own lock, were not free in time. Nothing was changed since the last whole version.
    package struct Busy: Error, Equatable, CustomStringConvertible {
        let waited: Duration
        let blockers: [String]
        let reason: String

        package var description: String {
            let held = blockers.isEmpty ? "" : "; they are held by \(blockers.joined(separator: ", "))"
            return
                "the tables were not free for \(waited.text) (\(reason))\(held): end those transactions, or wait longer "
                + "with `entitled migrate --wait`"
        }
    }

    /// What there is to report of a migration that goes on.
    package enum Event: Sendable, Equatable {
        /// Locks were not free; the migrator pauses and repeats.
        ///
        /// - Parameter holders: the connections that hold them, the longest first, each with its process, role, application
        ///   and time, as far as this role may see them.
        case waiting(holders: [String])
        /// This transaction was committed.
        case applied([Int])
        case step(OnlineStep.Progress)
    }

    /// How long locks are waited for unless a caller says otherwise.
    package static let wait: Duration = .seconds(60)

    /// Lets one migration run at a time in this database, also from several hosts; held until the connection ends. Asked
    /// for again and again, since a statement that waits would keep an index from being built concurrently.
    private static let lock = "SELECT pg_try_advisory_lock(\(lockNumber))"
    private static let unlock = "SELECT pg_advisory_unlock(\(lockNumber))"
    static let lockNumber: Int64 = 4_992_030_524_978_970_960

    private static let prepare = """
        CREATE SCHEMA IF NOT EXISTS entitled;
        CREATE TABLE IF NOT EXISTS entitled.schema_version (
            version int PRIMARY KEY,
            name text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        """

    /// A statement ends soon after the program that asked for it was killed, and its transaction with it.
    private static let notice = """
        SELECT set_config(name, '2s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'
        """

    private let connection: PostgresConnection
    private let migrations: [Schemas.Migration]
    private let last: Int
    private let wait: Duration
    private let onGrant: (PrivilegeGranting.Statement) -> Void
    private let onEvent: (Event) -> Void

    /// Applies the missing migrations and the table of privileges, and runs the online steps.
    ///
    /// Connect as the owner of the database.
    ///
    /// - Parameters:
    ///   - migrations: those of this program, unless a test has others.
    ///   - last: the version to stop at, for tests of upgrading: the privileges of an earlier one are what its
    ///     migrations grant.
    ///   - wait: for how long locks are waited for.
    ///   - onGrant: called with each statement that changed privileges.
    /// - Throws: `Busy` or `PostgresError`.
    package static func migrate(
        on connection: PostgresConnection, _ migrations: [Schemas.Migration] = Schemas.migrations,
        upTo last: Int? = nil, wait: Duration = wait,
        onGrant: @escaping (PrivilegeGranting.Statement) -> Void = { _ in },
        onEvent: @escaping (Event) -> Void = { _ in }
    ) throws -> Outcome {
        try Migrator(
            connection: connection, migrations: migrations, last: last ?? migrations.last?.version ?? 0, wait: wait,
            onGrant: onGrant, onEvent: onEvent
        ).run()
    }

    /// Runs the body while no other migration of the database runs.
    ///
    /// - Throws: `Busy` where another one runs for as long as that, or what the body throws.
    static func alone<Result>(
        wait: Duration, on connection: PostgresConnection, onWait: ([String]) -> Void, _ body: () throws -> Result
    ) throws -> Result {
        _ = try connection.query(notice)
        try MigrationLocks.repeating(for: wait, on: connection, onWait: onWait) {
            guard try connection.query(lock).one().bool("pg_try_advisory_lock") else {
                throw PostgresError(.query, "another migration is running", sqlstate: "55P03")
            }
        }
        defer { _ = try? connection.query(unlock) }  // ends with the connection at the latest
        return try body()
    }

    private func run() throws -> Outcome {
        try Migrator.alone(wait: wait, on: connection, onWait: { onEvent(.waiting(holders: $0)) }, migrate)
    }

    private func migrate() throws -> Outcome {
        let newest = migrations.last?.version ?? 0
        if let found = try SchemaVersion.find(on: connection), found.version > newest {
            return SchemaVersion.fit(found, current: newest) == .fits ? .ahead(found.version) : .newer(found.version)
        }
        try RoleMaking.make(for: nil, on: connection)
        var applied: [Int] = []
        var version = try SchemaVersion.read(on: connection) ?? 0
        try runSteps(upTo: version)
        while case let batch = batch(after: version), let end = batch.last?.version {
            let statements = try repeating { try apply(batch) }
            statements.forEach(onGrant)
            applied += batch.map(\.version)
            onEvent(.applied(batch.map(\.version)))
            try runSteps(upTo: end)
            version = end
        }
        // Each time: the database may have been restored or copied, and its user may have more privileges than before.
        if last == SchemaVersion.current { try PrivilegeGranting.apply(on: connection).forEach(onGrant) }
        try PublicPrivileges.withdraw(on: connection)
        return .migrated(applied)
    }

    private func repeating<Result>(_ work: () throws -> Result) throws -> Result {
        try MigrationLocks.repeating(for: wait, on: connection, onWait: { onEvent(.waiting(holders: $0)) }, work)
    }

    /// The missing migrations up to the first that leaves steps to be done.
    private func batch(after version: Int) -> [Schemas.Migration] {
        let missing = migrations.filter { $0.version > version && $0.version <= last }
        let end = missing.firstIndex { !$0.steps.isEmpty } ?? missing.count - 1
        return Array(missing.prefix(end + 1))
    }

    /// Returns the statements that changed privileges: they are committed with the schema that they are for.
    private func apply(_ batch: [Schemas.Migration]) throws -> [PrivilegeGranting.Statement] {
        try connection.transaction {
            try MigrationLocks.lockEveryTable(on: connection)
            try connection.execute(script: Migrator.prepare)
            for migration in batch {
                try connection.execute(script: migration.sql)
                try record(migration)
            }
            guard batch.last?.version == SchemaVersion.current else { return [] }
            return try PrivilegeGranting.applyInTransaction(on: connection)
        }
    }

    private func record(_ migration: Schemas.Migration) throws {
        let version = PostgresValue.int8(Int64(migration.version))
        _ = try connection.query(
            "INSERT INTO entitled.schema_version (version, name) VALUES ($1, $2)", [version, .text(migration.name)])
        if let oldest = migration.oldestProgram {
            let least = connection.isCluster ? max(oldest, SchemaVersion.oldestOnCluster) : oldest
            _ = try connection.query(
                "UPDATE entitled.schema_version SET oldest_program = $2 WHERE version = $1",
                [version, .int8(Int64(least))])
        }
        for step in migration.steps {
            _ = try connection.query(
                "INSERT INTO entitled.migration_step (version, name) VALUES ($1, $2)", [version, .text(step.name)])
        }
    }

    private func runSteps(upTo version: Int) throws {
        let done = Set(try OnlineStep.read(on: connection).filter(\.isFinished).map { "\($0.version) \($0.name)" })
        for migration in migrations where migration.version <= version {
            for step in migration.steps where !done.contains("\(migration.version) \(step.name)") {
                let runner = OnlineStepRunner(
                    connection: connection, version: migration.version, step: step, wait: wait, onEvent: onEvent)
                try runner.run()
            }
        }
    }
}
