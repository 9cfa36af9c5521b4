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
        "create", "Makes a key of the REST api and shows it, once.",
        discussion:
            "It works at once; only its hash is kept. A public key (appl_…) is for apps, which anybody can take it from: it"
            + " can do what the app does. A secret key (sk_…) is for backends, and is refused in apps and web pages.",
        options: [
            OptionDeclaration(
                "--kind", .choice(StoredAPIKey.Kind.allCases.map(\.rawValue), "KIND"), "Needed: for whom it is."),
            OptionDeclaration("--app", .text("ID"), "Of this app only; without it of every app."),
            OptionDeclaration(
                "--scope", .choice(["read", "write"], "SCOPE"), "What a secret key may do; write, the default, is both."
            ),
            OptionDeclaration("--name", .text("NAME"), "What it is for; shown by `keys list`."),
        ],
        examples: [
            "keys create --kind public --app demo", "keys create --kind secret --scope read --name dashboard",
        ])

    package static let list = CommandDeclaration(
        "list", "Lists the keys of the REST api: never the keys, but how they begin and when they were used last.",
        examples: ["keys list", "keys list --json"])

    package static let revoke = CommandDeclaration(
        "revoke", "Ends a key: within five seconds nobody gets an answer with it.",
        discussion: "A key of the configuration ends when it is taken out there and `entitled api` is restarted.",
        arguments: [ArgumentDeclaration(.text("ID"), "The key's id, as `keys list` shows it; not the key.")],
        options: [Confirmation.option],
        examples: ["keys revoke ID"])

    package static let declarations = [create, list, revoke]
}
