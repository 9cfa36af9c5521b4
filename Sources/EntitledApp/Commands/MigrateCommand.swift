import Base
import Postgres
import Schemas

/// `entitled migrate`.
struct MigrateCommand: Command {
    static let declaration = ProcessDeclarations.migrate

    init(_ parsed: ParsedArguments) {}

    func run(_ context: CommandContext) throws -> Int32 {
        let applied = try MigrateCommand.migrate(try DatabaseAccess(try context.configuration()))
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

    /// The versions that were applied.
    static func migrate(_ database: DatabaseAccess) throws -> [Int] {
        switch try Migrator.migrate(on: try PostgresConnection(try database.ownerTarget())) {
        case .migrated(let versions): return versions
        case .newer(let found): throw DatabaseRole.Refusal.newer(found: found)
        }
    }
}
