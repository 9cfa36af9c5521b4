import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users sessions`.
struct UserSessionsCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "sessions", "List an operator's console sessions.",
        examples: ["users sessions anna"])

    @Argument(UserCommands.name) private var name: String

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        guard try ConsoleUserTable.find(name, on: connection) != nil else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        let now = SystemClock().now()
        let sessions = try SessionTable.list(of: name, on: connection).filter {
            SessionTable.isLive($0, configuration.console.limits, now: now)
        }
        if context.json {
            let rows = sessions.map { session in
                JSON.object([
                    "id": .string(session.id), "address": .string(session.address), "browser": .string(session.browser),
                    "by_link": .bool(session.isByLink), "started": .date(session.started), "seen": .date(session.seen),
                ])
            }
            context.terminal.document(.object(["sessions": .array(rows)]))
            return 0
        }
        guard !sessions.isEmpty else {
            context.terminal.print("\(name) is not logged in")
            return 0
        }
        var table = TextTable([.key("id"), "address", "browser", .time("started"), .time("last used")])
        for session in sessions {
            table.add([
                session.id, session.address, session.browser, Timestamp.text(session.started),
                Timestamp.text(session.seen),
            ])
        }
        context.terminal.table(table)
        return 0
    }
}
