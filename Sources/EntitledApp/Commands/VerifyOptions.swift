import Base
import CLI

/// What `entitled verify` takes.
package struct VerifyOptions: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case notification, transaction, renewal
        case appTransaction = "app-transaction"
        case auto
    }

    /// Nil: standard input.
    package let file: String?
    /// Paths; empty: Apple's root.
    package let rootFiles: [String]
    package let bundleID: String?
    package let appleAppID: Int64?
    package let environment: StoreEnvironment?
    package let kind: Kind
    /// The date at which certificates must be valid, in milliseconds since 1970; nil: the date of signing.
    package let at: Int64?

    package init(_ parsed: ParsedArguments) {
        let path = parsed.text("FILE")
        file = path == "-" ? nil : path
        rootFiles = parsed.texts("--root")
        bundleID = parsed.text("--bundle-id")
        appleAppID = parsed.integer("--apple-app-id")
        environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
        kind = parsed.text("--kind").flatMap(Kind.init(rawValue:)) ?? .auto
        at = parsed.time("--at")
    }

    package static let declaration = CommandDeclaration(
        "verify", "Verify and decode data signed by Apple, offline.",
        discussion:
            "Reads one JWS, raw or as {\"signedPayload\":\"…\"}. Ends with 0 if it is genuine and is what the options say,"
            + " with 1 and the reason if not. Without options: Apple's root, any bundle, Sandbox or Production. With --config: the roots of that"
            + " configuration.",
        arguments: [
            ArgumentDeclaration(.file, isOptional: true, "The file with the JWS; - or nothing: standard input.")
        ],
        options: [
            OptionDeclaration(
                "--root", .file, isRepeatable: true, "A root certificate (PEM or DER) in place of Apple's."),
            OptionDeclaration("--bundle-id", .text("ID"), "What was signed must be for this bundle."),
            OptionDeclaration("--apple-app-id", .integer(1...Int64.max, "N"), "And for this app, in production."),
            OptionDeclaration("--environment", .environment, "And of this environment."),
            OptionDeclaration(
                "--kind", .choice(Kind.allCases.map(\.rawValue), "KIND"), "What it must be; auto takes any."),
            OptionDeclaration("--at", .time, "When the certificates must have been valid; else the date of signing."),
        ],
        examples: [
            "verify notification.jws", "verify - --json < body.json",
            "verify transaction.jws --kind transaction --bundle-id com.example.app --environment Production",
            "verify test.jws --root storesim-root.pem",
        ])
}
