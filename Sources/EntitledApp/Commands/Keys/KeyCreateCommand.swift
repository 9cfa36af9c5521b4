import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled keys create`.
struct KeyCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "create", "Create an API key and print it once.",
        discussion:
            "The key works at once; only its hash is stored. A public key (appl_…) ships in an app, from which it can be"
            + " extracted: it may do what the app does. A secret key (sk_…) is for backends; requests of apps and web pages"
            + " with it are rejected.",
        examples: [
            "keys create --kind public --app demo", "keys create --kind secret --scope read --name dashboard",
        ])

    @Option(
        "--kind", .choice(of: StoredAPIKey.Kind.self, "KIND"),
        "Caller of the key: public for apps, secret for backends.")
    private var kind: StoredAPIKey.Kind
    @Option("--app", .text("ID"), "Restrict the key to this app; default: all apps.")
    private var app: String?
    @Option("--scope", .choice(["read", "write"], "SCOPE"), "Access of a secret key; write (default) includes read.")
    private var givenScope: String?
    @Option("--name", .text("NAME"), "Label, shown by `keys list`.")
    private var name: String?

    private var scope: String { givenScope ?? "write" }

    func validate() throws {
        guard kind == .secret || givenScope == nil else {
            throw UsageError("--scope needs --kind secret")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let apps = configuration.apps.map(\.id)
        if let app = app, !apps.contains(app) {
            throw UsageError(
                apps.isEmpty
                    ? "no app is configured"
                    : "--app: no app has this id; configured: \(apps.joined(separator: ", "))")
        }
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let (id, key) = try APIKeyTable.create(
            kind, app: app, scope: scope, name: name, now: SystemClock().now(),
            on: connection)
        if context.json {
            context.terminal.document(
                .object([
                    "id": .string(id), "key": .string(key.exposed), "kind": .string(kind.rawValue),
                    "app": .text(app), "scope": .string(scope), "name": .text(name),
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

extension StoredAPIKey.Kind: InputValue {}
