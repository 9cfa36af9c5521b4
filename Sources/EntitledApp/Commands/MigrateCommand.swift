import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled migrate`.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "migrate", "Create or upgrade the schema, roles and privileges in Postgres.",
        discussion: "Connects with database.url, as the owner. It may run at any time, beside running processes:"
            + " it waits for a lock for at most half a second, then releases and retries. Interrupted, it leaves a whole"
            + " version, and the next run continues. --shards moves the tables of a database in use onto a cluster: reads go on, and"
            + " what Apple sends meanwhile is set aside.",
        examples: [
            "migrate --config /etc/entitled/entitled.json5", "migrate --status", "migrate --dry-run",
            "migrate --wait 10m", "migrate --adopt-database", "migrate --shards 8",
        ])

    @Flag("--status", "Change nothing; show the schema's version, pending migrations and unfinished steps.") private
        var isStatus: Bool
    @Flag("--dry-run", "Change nothing; show what would run, which tables it locks and how many rows they have.")
    private var isDry: Bool
    @Flag(
        "--adopt-database",
        "Accept the database although this host has seen another one, or a newer state of it; the processes accept"
            + " it, too."
    )
    private var adopts: Bool
    @Option(
        "--wait", .duration(Duration.zero...Duration.seconds(86_400)),
        "How long to retry locks that other sessions hold. Default: 60s.")
    private var wait: Duration = Migrator.wait

    @Option(
        "--shards", .integer(Distribution.shards, "N"),
        "Distribute the tables over the servers of a Citus cluster, with the lanes in N shards: 2 to 4 for each server that there"
            + " will ever be. Only on the coordinator. Experimental."
    )
    private var shards: Int64?

    func validate() throws {
        if shards != nil, isStatus || isDry {
            throw UsageError("--shards changes the database, and \(isDry ? "--dry-run" : "--status") does not")
        }
        if isStatus, isDry { throw UsageError("--status and --dry-run cannot be combined") }
        if adopts, isStatus || isDry {
            throw UsageError("--adopt-database changes the database, and \(isDry ? "--dry-run" : "--status") does not")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let database = try DatabaseAccess(try context.configuration())
        guard !isStatus, !isDry else {
            let connection = try PostgresConnection(try database.ownerTarget())
            let page = MigrationPage(
                plan: try MigrationPlan.make(on: connection), isDry: isDry,
                cluster: try ClusterState.read(on: connection)?.unfinished,
                differences: isDry ? try PrivilegeGranting.differences(on: connection) : [])
            if context.json { context.terminal.document(page.document) } else { page.print(on: context.terminal) }
            return 0
        }
        var display = MigrationDisplay(context)
        defer { display.clear() }
        let done = try MigrateCommand.migrate(
            database, adopts: adopts, shards: shards.map { Int($0) }, wait: self.wait
        ) { event in
            display.show(event)
        } onMove: { event in
            display.show(event)
        }
        display.clear()
        report(done, context)
        return 0
    }

    private func report(_ done: Migration, _ context: CommandContext) {
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
                .object([
                    "applied": .array(versions), "version": .int(Int64(done.version)),
                    "adopted": done.adopted.map { .string($0) }, "shards": done.shards.map { .int(Int64($0)) },
                ]))
        } else if done.version > SchemaVersion.current {
            context.terminal.print(
                "the schema has version \(done.version), newer than this program's \(SchemaVersion.current), which works "
                    + "with it: nothing to do")
        } else {
            let applied = done.applied.isEmpty ? "nothing to do" : "applied \(MigrateCommand.list(done.applied))"
            context.terminal.print("the schema has version \(done.version): \(applied)")
            for statement in done.granted { context.terminal.print("changed privileges: \(statement.sql)") }
        }
        if let shards = done.shards, !context.json {
            context.terminal.print("the tables are distributed over \(shards) shards")
        }
        if let adopted = done.adopted, !context.json {
            context.terminal.print("adopted the database at \(adopted); Apple's history will be scanned")
        }
    }

    private static func list(_ versions: [Int]) -> String { versions.map(String.init).joined(separator: ", ") }

    /// What a migration did, and what its user could not do.
    struct Migration {
        /// The version that the schema has now.
        let version: Int
        /// The versions that were applied.
        let applied: [Int]
        /// The statements that brought the roles' privileges to the table.
        var granted: [PrivilegeGranting.Statement]
        /// The statements that would, and that the connection's user may not run.
        var differences: [PrivilegeGranting.Statement]
        /// What every role may still do and no process needs.
        let left: [PublicPrivileges.Kind]
        /// Which database was adopted, for people; nil: none.
        var adopted: String?
        /// Over how many shards of a cluster the tables are distributed; nil: they are not.
        var shards: Int?
    }

    /// - Parameters:
    ///   - adopts: whether the database is accepted whatever this host has seen.
    ///   - shards: over how many shards of a cluster the tables are to be distributed; nil: as they are.
    static func migrate(
        _ database: DatabaseAccess, adopts: Bool = false, shards: Int? = nil, wait: Duration = Migrator.wait,
        onEvent: @escaping (Migrator.Event) -> Void = { _ in },
        onMove: @escaping (Distribution.Event) -> Void = { _ in }
    ) throws -> Migration {
        let connection = try database.connectAsOwner(adopts: adopts)
        var done = try migrate(connection, wait: wait, onEvent: onEvent)
        if try done.version == SchemaVersion.current && (shards != nil || Distribution.isDistributed(on: connection)) {
            try distribute(over: shards, wait, &done, on: connection, onMove)
        }
        if adopts {
            _ = try PositionTable.adopt(after: database.adoption, on: connection)
            let position = try DatabasePosition.read(on: connection)
            done.adopted =
                "\(connection.host):\(connection.port)"
                + (position.map { ", cluster \($0.cluster), timeline \($0.timeline)" } ?? "")
        }
        return done
    }

    private static func migrate(
        _ connection: PostgresConnection, wait: Duration, onEvent: @escaping (Migrator.Event) -> Void
    ) throws -> Migration {
        var granted: [PrivilegeGranting.Statement] = []
        switch try Migrator.migrate(on: connection, wait: wait, onGrant: { granted.append($0) }, onEvent: onEvent) {
        case .migrated(let versions):
            return Migration(
                version: SchemaVersion.current, applied: versions, granted: granted,
                differences: try PrivilegeGranting.differences(on: connection),
                left: try PublicPrivileges.left(on: connection))
        // The privileges are those of the newer program.
        case .ahead(let found):
            return Migration(version: found, applied: [], granted: [], differences: [], left: [])
        case .newer(let found): throw DatabaseRole.Rejection.newer(found: found)
        }
    }

    private static func distribute(
        over shards: Int?, _ wait: Duration, _ done: inout Migration, on connection: PostgresConnection,
        _ onMove: @escaping (Distribution.Event) -> Void
    ) throws {
        do {
            switch try Distribution.distribute(over: shards, wait: wait, on: connection, onEvent: onMove) {
            case .nothingToDo(let shards): done.shards = shards
            case .placed(_, let shards):
                done.shards = shards
                // What is placed makes the views anew that read it.
                try PrivilegeGranting.apply(on: connection).forEach { done.granted.append($0) }
                done.differences = try PrivilegeGranting.differences(on: connection)
            }
        } catch let refusal as Distribution.Refusal {
            throw CommandFailure("\(refusal)")
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
