import Base
import CLI
import Database
import Schemas

/// `entitled keys …`: who may ask by REST.
enum KeyCommands {
    struct Create: Command {
        static let declaration = KeyOptions.create
        private let options: KeyOptions.Create

        init(_ parsed: ParsedArguments) throws {
            options = try KeyOptions.Create(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let apps = configuration.apps.map(\.id)
            if let app = options.app, !apps.contains(app) {
                throw UsageError(
                    apps.isEmpty
                        ? "no app is configured"
                        : "--app has to be one of those configured: \(apps.joined(separator: ", "))")
            }
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let (id, key) = try APIKeyTable.create(
                options.kind, app: options.app, scope: options.scope, name: options.name, now: SystemClock().now(),
                on: connection)
            if context.json {
                context.terminal.document(
                    .object([
                        "id": .string(id), "key": .string(key.exposed), "kind": .string(options.kind.rawValue),
                        "app": .text(options.app), "scope": .string(options.scope), "name": .text(options.name),
                    ]))
            } else {
                context.terminal.print(
                    """
                    added \(id)
                    key: \(key.exposed)
                    Save the key now: it is not shown again.
                    """)
            }
            return 0
        }
    }

    struct List: Command {
        static let declaration = KeyOptions.list

        init(_ parsed: ParsedArguments) {}

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let stored = try APIKeyTable.list(on: try DatabaseAccess(configuration).connect(.api))
            let rows = KeyCommands.rows(configuration) + stored.map(KeyCommands.row)
            if context.json {
                context.terminal.document(.object(["keys": .array(rows)]))
                return 0
            }
            guard !rows.isEmpty else {
                context.terminal.print("no keys yet; create one with: entitled keys create --kind public")
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
    }

    struct Revoke: Command {
        static let declaration = KeyOptions.revoke
        private let id: String
        private let confirmation: Confirmation

        init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? ""
            confirmation = Confirmation(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            if id == "configuration" {
                throw CommandFailure(
                    "this key comes from the configuration: remove it there, and restart `entitled api`")
            }
            let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
            let stored = confirmation.isNeeded(context) ? try APIKeyTable.list(on: connection) : []
            if let key = stored.first(where: { $0.id == id }), key.revoked == nil {
                try confirmation.ask("Revoke this key? It cannot be undone.", context) {
                    Revoke.preview(key, context.terminal)
                }
            }
            let outcome = try APIKeyTable.revoke(id, now: SystemClock().now(), on: connection)
            guard outcome != .unknown else {
                // The key itself may have been given by mistake, so the message does not repeat it.
                let hint = NearestName.hint(forID: id, among: try APIKeyTable.list(on: connection).map(\.id))
                throw CommandFailure("there is no key with this id\(hint); see `entitled keys list`")
            }
            if context.json {
                context.terminal.document(
                    .object(["id": .string(id), "revoked": .bool(true), "changed": .bool(outcome == .revoked)]))
            } else {
                context.terminal.print(
                    outcome == .revoked
                        ? "revoked \(Terminal.harmless(id))" : "\(Terminal.harmless(id)) was revoked before")
            }
            return 0
        }

        private static func preview(_ key: StoredAPIKey, _ terminal: Terminal) -> [String] {
            [
                "key           \(key.id), \(key.hint)…",
                "kind          \(key.kind.rawValue), \(key.app ?? "every app")",
                "name          \(key.name ?? "none")",
                "last used     \(key.lastUsed.map(terminal.time) ?? "never")",
            ]
        }
    }

    // MARK: - Rows

    private static func row(_ key: StoredAPIKey) -> JSON {
        .object([
            "id": .string(key.id), "kind": .string(key.kind.rawValue), "hint": .string(key.hint + "…"),
            "app": .text(key.app), "scope": .string(key.scope), "name": .text(key.name), "created": .date(key.created),
            "last_used": .date(key.lastUsed), "revoked": .date(key.revoked),
        ])
    }

    /// Those of the configuration, of which nothing may be shown.
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
