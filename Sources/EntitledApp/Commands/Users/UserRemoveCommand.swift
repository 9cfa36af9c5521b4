import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users remove`.
struct UserRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove an operator, or with --key one key; takes effect at once.",
        examples: ["users remove anna", "users remove anna --key opk_0123456789abcdef"])

    @Argument(UserCommands.name) private var name: String
    @Option("--key", .text("ID"), "Revoke only this key, by its id from `users list`.") private var key: String?
    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        guard let user = try ConsoleUserTable.find(name, on: connection) else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        if let key { return try revoke(key, of: user, on: connection, context) }
        try confirmation.ask("Remove \(name), with all keys?", context)
        guard try ConsoleUserTable.remove(name, now: SystemClock().now(), on: connection) else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        if context.json {
            context.terminal.document(.object(["name": .string(name), "removed": .bool(true), "key": .null]))
        } else {
            context.terminal.print("removed \(name)")
        }
        return 0
    }

    private func revoke(
        _ id: String, of user: ConsoleUser, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> Int32 {
        let keys = try OperatorKeyTable.list(of: user.name, on: connection)
        guard keys.contains(where: { $0.id == id }) else {
            // The key itself may have been given by mistake, so the message does not repeat it.
            throw CommandFailure("\(user.name) has no key with this id; see `entitled users list`")
        }
        try confirmation.ask("Revoke this key of \(user.name)?", context)
        _ = try OperatorKeyTable.revoke(id, now: SystemClock().now(), on: connection)
        if context.json {
            context.terminal.document(
                .object(["name": .string(user.name), "removed": .bool(false), "key": .string(id)]))
        } else {
            context.terminal.print("revoked \(id) of \(user.name)")
        }
        return 0
    }
}
