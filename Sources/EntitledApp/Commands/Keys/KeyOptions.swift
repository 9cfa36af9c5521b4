import CLI
import Database

/// What the commands of `entitled keys` take.
package enum KeyOptions {
    /// `keys create`.
    package struct Create: Sendable, Equatable {
        package let kind: StoredAPIKey.Kind
        package let app: String?
        /// `read` or `write`.
        package let scope: String
        package let name: String?

        /// Throws `UsageError`.
        package init(_ parsed: ParsedArguments) throws {
            guard let kind = parsed.text("--kind").flatMap(StoredAPIKey.Kind.init(rawValue:)) else {
                throw UsageError("--kind is missing: public, for apps, or secret, for backends")
            }
            guard kind == .secret || !parsed.has("--scope") else {
                throw UsageError("--scope goes with --kind secret only: apps may do what apps do")
            }
            self.kind = kind
            app = parsed.text("--app")
            scope = parsed.text("--scope") ?? "write"
            name = parsed.text("--name")
        }
    }

    package static let create = CommandDeclaration(
        "create", "Create an API key and print it once.",
        discussion:
            "The key works at once; only its hash is stored. A public key (appl_…) ships in an app, from which it can be"
            + " extracted: it may do what the app does. A secret key (sk_…) is for backends; requests of apps and web pages"
            + " with it are rejected.",
        options: [
            OptionDeclaration(
                "--kind", .choice(StoredAPIKey.Kind.allCases.map(\.rawValue), "KIND"), isRequired: true,
                "Caller of the key: public for apps, secret for backends."),
            OptionDeclaration("--app", .text("ID"), "Restrict the key to this app; default: all apps."),
            OptionDeclaration(
                "--scope", .choice(["read", "write"], "SCOPE"), "Access of a secret key; write (default) includes read."
            ),
            OptionDeclaration("--name", .text("NAME"), "Label, shown by `keys list`."),
        ],
        examples: [
            "keys create --kind public --app demo", "keys create --kind secret --scope read --name dashboard",
        ])

    package static let list = CommandDeclaration(
        "list", "List API keys by their first characters, with their last use.",
        examples: ["keys list", "keys list --json"])

    package static let revoke = CommandDeclaration(
        "revoke", "Revoke a key; takes effect within five seconds.",
        discussion: "Revoke a key of the configuration by removing it there and restarting `entitled api`.",
        arguments: [ArgumentDeclaration(.text("ID"), "The key's id, as `keys list` shows it; not the key.")],
        options: [Confirmation.option],
        examples: ["keys revoke ID"])

    package static let declarations = [create, list, revoke]
}
