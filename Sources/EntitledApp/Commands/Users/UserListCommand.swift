import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users list`.
struct UserListCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "list", "List operators and the keys that they have.", examples: ["users list", "users list --json"])

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let users = try ConsoleUserTable.list(live: true, on: connection)
        let now = SystemClock().now()
        let keys = Dictionary(
            grouping: try OperatorKeyTable.list(on: connection).filter { key in
                key.ended == nil && key.until.map { $0 > now } ?? true
            }, by: \.user)
        if context.json {
            let rows = users.map { user in
                JSON.object([
                    "name": .string(user.name), "role": .string(user.role.rawValue), "created": .date(user.created),
                    "keys": .array((keys[user.name] ?? []).map(UserListCommand.document)),
                ])
            }
            context.terminal.document(.object(["users": .array(rows)]))
            return 0
        }
        guard !users.isEmpty else {
            context.terminal.print("no users yet; add one with: entitled users add NAME --role operator")
            return 0
        }
        var table = TextTable([
            .key("name"), "role", .time("added"), .id("key"), "key's role", .time("until"), .time("last used"),
        ])
        for user in users {
            let own = keys[user.name] ?? []
            let first = [user.name, user.role.rawValue, Timestamp.text(user.created)]
            if own.isEmpty { table.add(first + ["none", "", "", ""]) }
            for key in own {
                table.add(
                    first + [
                        key.id, key.role.rawValue, key.until.map(Timestamp.text) ?? "",
                        key.lastUsed.map(Timestamp.text) ?? "never",
                    ])
            }
        }
        context.terminal.table(table)
        return 0
    }

    private static func document(_ key: OperatorKey) -> JSON {
        .object([
            "id": .string(key.id), "role": .string(key.role.rawValue), "hint": .string(key.hint + "…"),
            "created": .date(key.created), "until": .date(key.until), "last_used": .date(key.lastUsed),
        ])
    }
}
