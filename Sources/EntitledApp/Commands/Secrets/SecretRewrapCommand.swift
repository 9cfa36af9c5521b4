import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled secrets rewrap`.
struct SecretRewrapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rewrap", "Re-encrypt all secrets with the newest of webhooks.secret_keys.",
        discussion: """
            To change the key: 1. create one (openssl rand -base64 32) and put it first into webhooks.secret_keys on every \
            host, before the old one, and restart the workers; nothing uses it yet. 2. Run this command on one host; from then \
            on the new key seals everything. 3. Remove the old key everywhere, if the command says so. A key of state_dir \
            (webhook-secrets.key, in hex) is old in this sense too. Repeating the command does no harm. If the key \
            in use is lost, use secrets reset.
            """,
        examples: ["secrets rewrap"])

    @Flag("--force", "Continue even if a running worker lacks the newest key, or the key in use is lost.") private
        var isForced: Bool
    @OptionGroup private var confirmation: Confirmation

    /// A worker that was seen so lately runs still; ms.
    private static let patience: Int64 = 60_000

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let sealer: SecretSealer
        if isForced {
            guard let existing = try SealingKeys.existing(configuration) else {
                throw CommandFailure("no key is on this host: \(SealingKeys.remedy(configuration))")
            }
            sealer = existing
            try confirmation.ask(
                "Encrypt all secrets with the key \(sealer.fingerprint), which workers may lack?", context)
        } else {
            sealer = try SealingKeys.sealing(configuration, on: connection)
        }
        let outcome: SecretRewrap.RewrapResult
        do {
            outcome = try SecretRewrap.run(
                with: sealer, patience: SecretRewrapCommand.patience, isForced: isForced, now: SystemClock().now(),
                on: connection)
        } catch let unprepared as SecretRewrap.Unprepared {
            throw CommandFailure(
                "workers ran within the last minute that lack the key \(sealer.fingerprint), on "
                    + "\(unprepared.hosts.joined(separator: ", ")): add it to webhooks.secret_keys there, restart "
                    + "them, and try again")
        }
        tell(outcome, sealer, context)
        guard outcome.unreadable.isEmpty else {
            let names = outcome.unreadable.map { "\($0.endpoint) (\($0.what))" }
            throw CommandFailure(
                "no key given opens \(names.count) of \(names.count + outcome.sealed), so remove none: "
                    + names.joined(separator: ", "))
        }
        return 0
    }

    private func tell(_ outcome: SecretRewrap.RewrapResult, _ sealer: SecretSealer, _ context: CommandContext) {
        if context.json {
            context.terminal.document(
                .object([
                    "key": .string(sealer.fingerprint), "sealed": .int(Int64(outcome.sealed)),
                    "changed": .int(Int64(outcome.changed)),
                    "unreadable": .array(
                        outcome.unreadable.map {
                            .object(["endpoint_id": .string($0.endpoint), "what": .string($0.what)])
                        }),
                ]))
            return
        }
        context.terminal.print(
            "\(outcome.sealed) secrets are encrypted with the key \(sealer.fingerprint), \(outcome.changed) of them newly"
        )
        if outcome.unreadable.isEmpty, sealer.fingerprints.count > 1 {
            context.terminal.print("older keys may be removed from webhooks.secret_keys now, on every host")
        }
    }
}
