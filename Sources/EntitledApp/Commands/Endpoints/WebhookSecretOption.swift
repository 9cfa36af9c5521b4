import CLI
import Database

/// `--secret` and `--secret-file`: a secret that the consumer has already, as one that moves here has.
enum WebhookSecretOption {
    static let declarations = [
        OptionDeclaration(
            "--secret", .text("SECRET"), "Sign with this secret (whsec_…) instead of a new one."),
        OptionDeclaration(
            "--secret-file", .file,
            "The same from a file, - for standard input: other users of this host see what options hold."),
    ]

    /// - Throws: `UsageError`, which does not show the value.
    static func value(_ parsed: ParsedArguments) throws(UsageError) -> WebhookSecret? {
        guard let text = try SecretFile.value("--secret", parsed) else { return nil }
        guard let secret = WebhookSecret(text) else {
            let lengths = WebhookSecret.lengths
            throw UsageError(
                "--secret must be whsec_ and the base64 of \(lengths.lowerBound) to \(lengths.upperBound) bytes, padded"
                    + " with =")
        }
        return secret
    }
}
