import CLI

/// What the commands of `entitled secrets` take.
package enum SecretOptions {
    package static let rewrap = CommandDeclaration(
        "rewrap", "Reencrypt all secrets with the newest of webhooks.secret_keys.",
        discussion: """
            To change the key: 1. make one (openssl rand -base64 32) and put it first into webhooks.secret_keys on every \
            host, before the old one, and restart the workers; nothing uses it yet. 2. Run this on one host; from then on \
            it seals everything. 3. Remove the old key everywhere, if this said so. A key of state_dir \
            (webhook-secrets.key, in hex) is old in this sense too. Run again, it does no harm. If a key is lost, --force \
            goes on without it, and names what it sealed: endpoints rotate-secret --overlap 0s and endpoints update \
            give that anew.
            """,
        options: [
            OptionDeclaration("--force", "Even if a worker that runs lacks the newest key, or the key in use is lost."),
            Confirmation.option,
        ],
        examples: ["secrets rewrap"])

    package static let declarations = [rewrap]
}
