import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled keys list`.
struct KeyListCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "list", "List API keys by their first characters, with their last use.",
        examples: ["keys list", "keys list --json"])

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let stored = try APIKeyTable.list(on: try DatabaseAccess(configuration).connect(.api))
        let rows = KeyListCommand.rows(configuration) + stored.map(KeyListCommand.row)
        if context.json {
            context.terminal.document(.object(["keys": .array(rows)]))
            return 0
        }
        guard !rows.isEmpty else {
            context.terminal.paragraph("no keys yet; create one with: entitled keys create --kind public")
            return 0
        }
        var table = TextTable([
            .key("id"), "kind", "key", "app", "scope", "name", .time("last used"), .time("revoked"),
        ])
        for row in rows {
            func text(_ name: String, _ none: String = "") -> String { row[name]?.stringValue ?? none }
            table.add([
                text("id"), text("kind"), text("hint", "not shown"), text("app", "every app"), text("scope"),
                text("name"),
                text("last_used", row["id"] == .string("configuration") ? "not known" : "never"), text("revoked"),
            ])
        }
        context.terminal.table(table)
        return 0
    }

    private static func row(_ key: StoredAPIKey) -> JSON {
        .object([
            "id": .string(key.id), "kind": .string(key.kind.rawValue), "hint": .string(key.hint + "…"),
            "app": .text(key.app), "scope": .string(key.scope), "name": .text(key.name), "created": .date(key.created),
            "last_used": .date(key.lastUsed), "revoked": .date(key.revoked),
        ])
    }

    /// Rows for the keys of the configuration, of which nothing may be shown.
    private static func rows(_ configuration: Configuration) -> [JSON] {
        func rows(_ count: Int, _ kind: StoredAPIKey.Kind, _ app: String?) -> [JSON] {
            Array(
                repeating: .object([
                    "id": .string("configuration"), "kind": .string(kind.rawValue), "hint": .null, "app": .text(app),
                    "scope": .string("write"), "name": .null, "created": .null, "last_used": .null, "revoked": .null,
                ]), count: count)
        }
        return rows(configuration.api.publicKeys.count, .public, nil)
            + rows(configuration.api.secretKeys.count, .secret, nil)
            + configuration.apps.flatMap { rows($0.publicKeys.count, .public, $0.id) }
    }
}
