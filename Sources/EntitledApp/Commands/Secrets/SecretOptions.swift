import CLI

/// What the commands of `entitled secrets` take.
package enum SecretOptions {
    package static let rewrap = CommandDeclaration(
        "rewrap", "Reencrypt all secrets with the newest of webhooks.secret_keys.",
        discussion: """
            To change the key: 1. make one (openssl rand -base64 32) and put it first into webhooks.secret_keys on every \
            host, before the old one, and restart the workers; nothing uses it yet. 2. Run this on one host; from then on \
            it seals everything. 3. Remove the old key everywhere, if this said so. A key of state_dir \
            (webhook-secrets.key, in hex) is old in this sense too. Run again, it does no harm. If the key in use \
            is lost: secrets reset.
            """,
        options: [
            OptionDeclaration("--force", "Even if a worker that runs lacks the newest key, or the key in use is lost."),
            Confirmation.option,
        ],
        examples: ["secrets rewrap"])

    package static let reset = CommandDeclaration(
        "reset", "Replace secrets whose sealing key is lost, and print the new ones once.",
        discussion: """
            Where this host lacks the key in use and no worker has it, a key is made in state_dir (or the first of \
            webhooks.secret_keys is used), and each endpoint whose secret no key opens gets a new one: all or none of \
            them. Where nothing is lost, all secrets are replaced, working ones too. Deliveries wait until then, and \
            none is lost; workers that share state_dir go on by themselves. An authorization, headers or a key pair \
            that the lost key had sealed are named: nothing is sent to that endpoint until they are given again, or \
            taken away, with endpoints update.
            """,
        options: [
            OptionDeclaration("--endpoint", .text("ID"), "Only the secret of this endpoint, lost or not."),
            Confirmation.option,
        ],
        examples: ["secrets reset", "secrets reset --endpoint ID --yes"])

    package static let declarations = [rewrap, reset]
}
