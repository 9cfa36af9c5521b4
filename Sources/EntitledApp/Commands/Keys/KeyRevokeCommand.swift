import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled keys revoke`.
struct KeyRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "revoke", "Revoke a key; takes effect within five seconds.",
        discussion: "Revoke a key of the configuration by removing it there and restarting `entitled api`.",
        examples: ["keys revoke ID"])

    @Argument(.text("ID"), "The key's id, as `keys list` shows it; not the key.") private var id: String
    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        if id == "configuration" {
            throw CommandFailure(
                "this key comes from the configuration: remove it there, and restart `entitled api`")
        }
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let stored = confirmation.isNeeded(context) ? try APIKeyTable.list(on: connection) : []
        if let key = stored.first(where: { $0.id == id }), key.revoked == nil {
            try confirmation.ask("Revoke this key? It cannot be undone.", context) {
                KeyRevokeCommand.preview(key, context.terminal)
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
