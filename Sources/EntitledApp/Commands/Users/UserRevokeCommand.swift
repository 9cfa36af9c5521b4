import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users revoke`.
struct UserRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "revoke", "End the console sessions and log-in links of an operator; takes effect at once.",
        examples: ["users revoke anna", "users revoke anna --session ses_0123456789abcdef"])

    @Argument(UserCommands.name) private var name: String
    @Option("--session", .text("ID"), "End only this session, by its id from `users sessions`.") private var id: String?

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        guard try ConsoleUserTable.find(name, on: connection) != nil else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        if let id, try !SessionTable.list(of: name, on: connection).contains(where: { $0.id == id }) {
            throw CommandFailure("\(name) has no session with this id; see `entitled users sessions \(name)`")
        }
        if id == nil { try LoginLinkTable.end(of: name, now: SystemClock().now(), on: connection) }
        let ended = try SessionTable.end(id, of: name, now: SystemClock().now(), on: connection)
        if context.json {
            context.terminal.document(.object(["name": .string(name), "sessions_ended": .int(Int64(ended))]))
        } else {
            context.terminal.print("ended \(ended.counted("session")) of \(name)")
        }
        return 0
    }
}
