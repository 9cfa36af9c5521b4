import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled secrets reset`.
struct SecretResetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "reset", "Replace secrets whose sealing key is lost, and print the new ones once.",
        discussion: """
            Where this host lacks the key in use and no worker has it, a key is made in state_dir (or the first of \
            webhooks.secret_keys is used), and each endpoint whose secret no key opens gets a new one: all or none of \
            them. Where nothing is lost, all secrets are replaced, working ones too. Deliveries wait until then, and \
            none is lost; workers that share state_dir go on by themselves. An authorization, headers or a key pair \
            that the lost key had sealed are named: nothing is sent to that endpoint until they are given again, or \
            taken away, with endpoints update.
            """,
        examples: ["secrets reset", "secrets reset --endpoint ID --yes"])

    @Option("--endpoint", .text("ID"), "Replace only the secret of this endpoint, even a working one.") private
        var endpoint: String?
    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        // A worker that was seen so lately may still run.
        let patience = configuration.worker.lease.milliseconds * 2
        try SealingKeys.begin(configuration, on: connection)
        let sealer = try SealingKeys.existing(configuration) ?? SecretSealer(keys: [])
        let plan = try explaining(configuration) {
            try SecretReset.plan(
                for: endpoint, sealer: sealer, patience: patience, now: SystemClock().now(), on: connection)
        }
        if let endpoint, plan.endpoints.isEmpty { throw try EndpointCommands.noSuch(endpoint, on: connection) }
        try confirm(plan, context)
        let keys = plan.lostKey == nil ? sealer : try SealingKeys.make(configuration)
        let renewed = try explaining(configuration) {
            try SecretReset.run(
                plan, for: endpoint, sealer: keys, patience: patience, now: SystemClock().now(),
                on: connection)
        }
        tell(renewed, plan, keys, configuration, context)
        return 0
    }

    private func explaining<Result>(_ configuration: Configuration, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let elsewhere as SecretReset.KeyElsewhere {
            throw CommandFailure(
                "the key \(elsewhere.fingerprint) is not lost: a worker on \(elsewhere.hosts.joined(separator: ", "))"
                    + " has it; copy it from there, or stop that worker and try again in half a minute")
        }
    }

    private func confirm(_ plan: SecretReset.Plan, _ context: CommandContext) throws {
        let ids = plan.endpoints.map(\.id).joined(separator: ", ")
        if plan.replacesWorking {
            try confirmation.require(
                "Replace secrets that work, of \(ids)? Consumers reject webhooks until they have the new ones.",
                context)
        } else if let key = plan.lostKey {
            try confirmation.ask(
                "Give up the key \(key), and replace the secrets of \(ids.isEmpty ? "no endpoint" : ids)?", context)
        } else {
            try confirmation.ask("Replace the secrets of \(ids.isEmpty ? "no endpoint" : ids)?", context)
        }
    }

    private func tell(
        _ renewed: [SecretReset.Renewed], _ plan: SecretReset.Plan, _ sealer: SecretSealer,
        _ configuration: Configuration, _ context: CommandContext
    ) {
        if context.json {
            context.terminal.document(
                .object([
                    "endpoints": .array(
                        renewed.map { endpoint in
                            .object([
                                "id": .string(endpoint.id),
                                "secret": .string(endpoint.secret.text),
                                "unreadable": .strings(endpoint.unreadable.map(\.rawValue)),
                            ])
                        })
                ]))
            return
        }
        for endpoint in renewed {
            context.terminal.print("\(endpoint.id)  \(endpoint.secret.text)")
            guard !endpoint.unreadable.isEmpty else { continue }
            context.terminal.print("  nothing is sent to it before it has again:")
            for line in UnreadableEndpoints.remedies(endpoint.id, endpoint.unreadable) {
                context.terminal.print("  \(line)")
            }
        }
        if renewed.isEmpty { context.terminal.print("no endpoint needed a new secret") }
        if !renewed.isEmpty { context.terminal.print("Save the secrets now: they are not shown again.") }
        guard plan.lostKey != nil else { return }
        let place =
            configuration.webhooks.secretKeys.isEmpty
            ? "Copy \(SealingKeys.path(configuration)) to the other hosts of workers, and back it up."
            : "It is the first of webhooks.secret_keys: workers elsewhere need it too."
        context.terminal.print("The key \(sealer.fingerprint) seals from now on. \(place)")
    }
}
