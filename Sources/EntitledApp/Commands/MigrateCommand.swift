import Base
import CLI
import Postgres
import Schemas

/// `entitled migrate`.
struct MigrateCommand: Command {
    static let declaration = ProcessDeclarations.migrate

    init(_ parsed: ParsedArguments) {}

    func run(_ context: CommandContext) throws -> Int32 {
        let done = try MigrateCommand.migrate(try DatabaseAccess(try context.configuration()))
        if !done.left.isEmpty {
            context.terminal.complain("warning: \(MigrateCommand.warning(done.left)). \(MigrateCommand.remedy)")
        }
        for statement in done.differences {
            context.terminal.complain(
                "warning: the privileges of the processes' roles differ from what entitled needs. Run as the owner of the "
                    + "object: \(statement.sql)")
        }
        if context.json {
            let versions = done.applied.map { JSON.int(Int64($0)) }
            context.terminal.document(
                .object(["applied": .array(versions), "version": .int(Int64(SchemaVersion.current))]))
        } else {
            let applied = done.applied.isEmpty ? "nothing to do" : "applied \(MigrateCommand.list(done.applied))"
            context.terminal.print("the schema has version \(SchemaVersion.current): \(applied)")
            for statement in done.granted { context.terminal.print("changed privileges: \(statement.sql)") }
        }
        return 0
    }

    private static func list(_ versions: [Int]) -> String { versions.map(String.init).joined(separator: ", ") }

    /// What a migration did, and what its user could not do.
    struct Migration {
        /// The versions that were applied.
        let applied: [Int]
        /// The statements that brought the roles' privileges to the table.
        let granted: [PrivilegeGranting.Statement]
        /// The statements that would, and that the connection's user may not run.
        let differences: [PrivilegeGranting.Statement]
        /// What every role may still do and no process needs.
        let left: [PublicPrivileges.Kind]
    }

    static func migrate(_ database: DatabaseAccess) throws -> Migration {
        let connection = try PostgresConnection(try database.ownerTarget())
        var granted: [PrivilegeGranting.Statement] = []
        switch try Migrator.migrate(on: connection, onGrant: { granted.append($0) }) {
        case .migrated(let versions):
            return Migration(
                applied: versions, granted: granted,
                differences: try PrivilegeGranting.differences(on: connection),
                left: try PublicPrivileges.left(on: connection))
        case .newer(let found): throw DatabaseRole.Rejection.newer(found: found)
        }
    }

    /// Says what the owner of a database could not withdraw, as on a managed Postgres.
    static func warning(_ left: [PublicPrivileges.Kind]) -> String {
        "the roles of the processes may use \(left.map(\.rawValue).joined(separator: ", ")), which no process needs"
    }

    static let remedy =
        "As a superuser, run: psql -d DATABASE < schemas/sql/public_privileges.sql; a managed Postgres without a superuser"
        + " keeps these privileges"
}
