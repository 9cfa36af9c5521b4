import Base
import CLI
import Database
import Glibc
import Schemas

extension EndpointCommands {
    struct RotateSecret: Command {
        static let declaration = EndpointOptions.rotateSecret
        private let options: EndpointOptions.RotateSecret
        private let confirmation: Confirmation

        /// Workers look at the endpoints several times a second: after this, they sign with what is shown.
        private static let spreading = Duration.seconds(2)

        init(_ parsed: ParsedArguments) throws {
            options = try EndpointOptions.RotateSecret(parsed)
            confirmation = Confirmation(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let (connection, sealer) = try EndpointCommands.open(try context.configuration())
            // With an overlap the consumer has time to take the new secret over.
            if options.overlap == .zero {
                try confirmation.ask(
                    "End all secrets of \(options.id) now? The consumer rejects webhooks until it has the new one.",
                    context)
            }
            let rotated: EndpointSecrets.Rotated?
            do {
                rotated = try EndpointSecrets.rotate(
                    of: options.id, to: options.secret, overlap: options.overlap, sealer: sealer,
                    now: SystemClock().now(), on: connection)
            } catch let many as EndpointSecrets.TooMany {
                throw CommandFailure(
                    "\(EndpointSecrets.limit) secrets of \(options.id) live already, the first until "
                        + "\(Timestamp.text(many.firstEnd)); a shorter --overlap ends former ones earlier")
            }
            guard let rotated else { throw try EndpointCommands.noSuch(options.id, on: connection) }
            if try JobTable.isWorkerRunning(on: connection) {
                usleep(UInt32(clamping: RotateSecret.spreading.milliseconds * 1000))
            }
            tell(rotated, context)
            return 0
        }

        private func tell(_ rotated: EndpointSecrets.Rotated, _ context: CommandContext) {
            let secret = rotated.secret.text
            let publicKey = rotated.publicKey.map(WebhookPublicKey.text)
            if context.json {
                context.terminal.document(
                    .object([
                        "id": .string(options.id), "secret": .string(secret),
                        "public_key": publicKey.map { .string($0) },
                        "former_secrets_end_at": .date(rotated.formerEnd),
                    ]))
                return
            }
            let former =
                rotated.formerEnd.map { "Former ones sign too, the last until \(context.terminal.time($0))." }
                ?? "No former one signs any more."
            context.terminal.print(
                """
                new secret: \(secret)\(publicKey.map { "\nnew public key: \($0)" } ?? "")
                Save it now: it is not shown again. \(former)
                """)
        }
    }
}

/// `entitled secrets …`: the keys that encrypt the secrets of endpoints.
enum SecretCommands {
    struct Rewrap: Command {
        static let declaration = SecretOptions.rewrap
        /// A worker that was seen so lately runs still; ms.
        private static let patience: Int64 = 60_000
        private let isForced: Bool
        private let confirmation: Confirmation

        init(_ parsed: ParsedArguments) {
            isForced = parsed.has("--force")
            confirmation = Confirmation(parsed)
        }

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
                    with: sealer, patience: Rewrap.patience, isForced: isForced, now: SystemClock().now(),
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
}
