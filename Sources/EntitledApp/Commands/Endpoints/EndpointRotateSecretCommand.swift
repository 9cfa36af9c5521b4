import Base
import CLI
import Database
import Glibc
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints rotate-secret`.
struct EndpointRotateSecretCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "rotate-secret", "Create a new secret and print it once; former secrets also sign for a while.",
        discussion:
            "Each former secret expires when it was going to, but after --overlap at the latest. After a leak, give"
            + " --overlap 0s, which ends all former secrets at once. A key pair, if there is one, is rotated too. With"
            + " --url a worker makes the secret and seals it for the console alone, which answers it once; if the answer"
            + " is lost, rotate again. One that you give is sealed to the workers. --json prints the answer of the operator API.",
        examples: ["endpoints rotate-secret ID", "endpoints rotate-secret ID --overlap 0s"])

    @Argument(EndpointCommands.id) private var id: String
    @Option(
        "--overlap", .duration(.zero...EndpointSecrets.overlapLimit),
        "How long former secrets also sign, at most; default: 24h.")
    private var overlap: Duration = EndpointSecrets.standardOverlap
    @OptionGroup private var confirmation: Confirmation
    @OptionGroup private var givenSecret: WebhookSecretOption
    @OptionGroup private var change: ChangeOptions
    /// Nil: a new one.
    private(set) var secret: WebhookSecret?

    mutating func validate() throws {
        secret = try givenSecret.value()
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try rotate(remote, context) }
        try change.checkLocal()
        let (connection, sealer) = try EndpointCommands.open(try context.configuration())
        // With an overlap the consumer has time to take the new secret over.
        if overlap == .zero {
            try confirmation.ask(
                "End all secrets of \(id) now? The consumer rejects webhooks until it has the new one.",
                context)
        }
        let rotated: EndpointSecrets.Rotated?
        do {
            rotated = try EndpointSecrets.rotate(
                of: id, to: secret, overlap: overlap, sealer: sealer,
                now: SystemClock().now(), on: connection)
        } catch let many as EndpointSecrets.TooMany {
            throw CommandFailure(
                "\(EndpointSecrets.limit) secrets of \(id) are valid already, the first until "
                    + "\(Timestamp.text(many.firstEnd)); a shorter --overlap ends the former ones earlier")
        }
        guard let rotated else { throw try EndpointCommands.noSuch(id, on: connection) }
        // Once it is shown, every webhook is signed with it.
        // It is told whatever happens to the database now.
        if (try? JobTable.isWorkerRunning(on: connection)) ?? true {
            usleep(UInt32(clamping: EndpointSecrets.spreading.milliseconds * 1000))
        }
        tell(rotated, context)
        return 0
    }

    private func rotate(_ remote: OperatorClient, _ context: CommandContext) throws -> Int32 {
        if overlap == .zero {
            try confirmation.ask(
                "End all secrets of \(id) now? The consumer rejects webhooks until it has the new one.",
                context)
        }
        var body = EndpointRequestBody()
        body.add("overlap", overlap.text)
        body.add("secret", secret?.text)
        // Of one that is given there is nothing to show.
        guard secret == nil else {
            return try change.ask(
                remote, ["endpoints", id, "rotate-secret"], context, body: body.members, method: "POST")
        }
        let (answer, isOver) = try change.post(remote, ["endpoints", id, "rotate-secret"], body: body.members)
        let job = answer.cell("job")
        guard isOver else {
            throw CommandFailure(
                "no worker has done the rotation yet (job \(job)), and its secret will not be shown; when"
                    + " `entitled jobs show \(job) --wait` says that it is done, rotate again")
        }
        guard let made = answer["outcome"]?["secret"]?.stringValue else {
            throw CommandFailure(
                "the secret of \(id) was rotated (job \(job)), but the answer has no secret; rotate again")
        }
        guard !context.json else {
            context.terminal.document(answer)
            return ExitStatus.done
        }
        let publicKey = answer["outcome"]?["public_key"]?.stringValue
        context.terminal.print(
            """
            new secret: \(Terminal.harmless(made))\(publicKey.map { "\nnew public key: \(Terminal.harmless($0))" } ?? "")
            Save it now: it is not shown again (job \(job)).

            """)
        return ExitStatus.done
    }

    private func tell(_ rotated: EndpointSecrets.Rotated, _ context: CommandContext) {
        let newSecret = rotated.secret.text
        let publicKey = rotated.publicKey.map(WebhookPublicKey.text)
        if context.json {
            context.terminal.document(
                .object([
                    "id": .string(id), "secret": .string(newSecret),
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
            new secret: \(newSecret)\(publicKey.map { "\nnew public key: \($0)" } ?? "")
            Save it now: it is not shown again. \(former)
            """)
    }
}
