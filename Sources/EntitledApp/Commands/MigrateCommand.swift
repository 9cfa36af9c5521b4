import Base
import CLI
import Postgres
import Schemas

/// `entitled migrate`.
struct MigrateCommand: Command {
    static let declaration = ProcessDeclarations.migrate

    init(_ parsed: ParsedArguments) {}

    func run(_ context: CommandContext) throws -> Int32 {
        let (applied, left) = try MigrateCommand.migrate(try DatabaseAccess(try context.configuration()))
        if !left.isEmpty {
            context.terminal.complain("warning: \(MigrateCommand.warning(left)). \(MigrateCommand.remedy)")
        }
        if context.json {
            let versions = applied.map { JSON.int(Int64($0)) }
            context.terminal.document(
                .object(["applied": .array(versions), "version": .int(Int64(SchemaVersion.current))]))
        } else {
            let done = applied.isEmpty ? "nothing to do" : "applied \(applied.map(String.init).joined(separator: ", "))"
            context.terminal.print("the schema has version \(SchemaVersion.current): \(done)")
        }
        return 0
    }

    /// The versions that were applied, and what roles may still do that no process needs.
    static func migrate(_ database: DatabaseAccess) throws -> (applied: [Int], left: [PublicPrivileges.Kind]) {
        let connection = try PostgresConnection(try database.ownerTarget())
        switch try Migrator.migrate(on: connection) {
        case .migrated(let versions): return (versions, try PublicPrivileges.left(on: connection))
        case .newer(let found): throw DatabaseRole.Rejection.newer(found: found)
        }
    }

    /// That a database's owner could not take everything away, as on a managed Postgres.
    static func warning(_ left: [PublicPrivileges.Kind]) -> String {
        "the roles of the processes may use \(left.map(\.rawValue).joined(separator: ", ")), which no process needs"
    }

    static let remedy =
        "As a superuser, run: psql -d DATABASE < schemas/sql/public_privileges.sql; a managed Postgres without a superuser"
        + " keeps these privileges"
}
