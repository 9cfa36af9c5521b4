import CLI
import Database

/// `--secret` and `--secret-file`: a secret that the consumer has already, as one that moves here has.
struct WebhookSecretOption: ParsableArguments {
    @Option("--secret", .text("SECRET"), "Sign with this secret (whsec_…) instead of a new one.")
    private var secret: String?
    @Option(
        "--secret-file", .file,
        "Read the secret from a file, - for standard input, because other users of this host can see options.")
    private var file: String?

    /// Reads the file.
    ///
    /// - Throws: `UsageError`, which does not show the value.
    func value() throws(UsageError) -> WebhookSecret? {
        guard let text = try SecretFile.value("--secret", secret, file: file) else { return nil }
        guard let secret = WebhookSecret(text) else {
            let lengths = WebhookSecret.lengths
            throw UsageError(
                "--secret must be whsec_ and the base64 of \(lengths.lowerBound) to \(lengths.upperBound) bytes, padded"
                    + " with =")
        }
        return secret
    }
}
