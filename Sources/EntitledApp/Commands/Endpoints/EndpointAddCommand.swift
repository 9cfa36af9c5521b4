import Base
import CLI
import Crypto
import Database
import HTTP
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints add`.
struct EndpointAddCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "add", "Add an endpoint and print its secret once.",
        discussion:
            "Without options an endpoint receives every event except SUBSCRIBER_ALIAS and CONSUMPTION_REQUEST, which need"
            + " --event. The secret (whsec_…) signs each request; it is shown once. With --format raw the endpoint receives"
            + " Apple's notifications instead, unchanged, for a second consumer of them; --event then takes Apple's types,"
            + " such as DID_RENEW. With --url a worker adds the endpoint and seals its secret for the console alone, which answers it"
            + " once; if the answer is lost, rotate it. --json prints the answer of the operator API.",
        examples: [
            "endpoints add https://example.com/hooks",
            "endpoints add https://example.com/hooks --environment Production --event RENEWAL --event EXPIRATION",
            "endpoints add https://example.com/apple --format raw --header 'X-Tenant: demo'",
            "endpoints add https://example.com/hooks --secret-file secret.txt",
            "endpoints add https://example.com/hooks --include subscriber --except TEST",
        ])

    @Argument(.text("URL"), "URL that receives events; https:, or http: within webhooks.allow_private_networks.")
    var url: String
    @OptionGroup var filters: EndpointFilterOptions
    @OptionGroup private var requestOptions: EndpointRequestOptions
    @OptionGroup private var givenSecret: WebhookSecretOption
    @Flag("--asymmetric", "Sign with an ed25519 key pair too (v1a), and show its public key (whpk_…).")
    private var isAsymmetric: Bool
    @Option(
        "--format", .choice(EndpointFormat.allCases.map(\.name) + [EndpointFormat.firebase], "FORMAT"),
        "Content: events in RevenueCat's format (the default), Apple's notifications unchanged (raw), or events"
            + " for RevenueCat's Firebase extension (firebase).")
    private var formatName: String?
    @Option(EndpointCommands.include) private var include: String?
    @Option(EndpointCommands.extensionVersion) private var givenExtensionVersion: String?
    @Option(EndpointCommands.ordering) var ordering: Ordering = .none
    @Option("--since", .moment, "Also send the events since this time, as `replay webhooks --missing` does.")
    private var since: TimeArgument?
    @OptionGroup private var change: ChangeOptions
    /// Nil: a new one.
    private(set) var secret: WebhookSecret?
    private(set) var request = EndpointRequestValues()

    private var isFirebase: Bool { formatName == EndpointFormat.firebase }
    private var format: EndpointFormat { formatName.flatMap(EndpointFormat.init(name:)) ?? .revenuecat }
    var includesSubscriber: Bool { include == "subscriber" }
    /// For RevenueCat's Firebase extension.
    var extensionVersion: String? { isFirebase ? givenExtensionVersion ?? EndpointFormat.newestExtension : nil }

    mutating func validate() throws {
        secret = try givenSecret.value()
        request = try requestOptions.values()
        guard format == .revenuecat || ordering == .none && since == nil else {
            throw UsageError("--format raw excludes --ordering purchase and --since")
        }
        guard filters.events.isEmpty || filters.exceptedEvents.isEmpty else {
            throw UsageError(EndpointCommands.eventOrExcept)
        }
        guard !includesSubscriber || format == .revenuecat && !isFirebase else {
            throw UsageError("--include subscriber needs --format revenuecat")
        }
        guard isFirebase || givenExtensionVersion == nil else {
            throw UsageError("--extension-version needs --format firebase")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try ask(remote, context) }
        try change.checkLocal()
        let configuration = try context.configuration()
        try EndpointFilters.check(
            events: filters.events + filters.exceptedEvents, apps: filters.apps, format: format, configuration, context)
        let url = try EndpointAddress.check(
            self.url, allowed: configuration.webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)),
            isProxied: configuration.webhooks.proxy != nil, warn: context.terminal.complain)
        if let warning = EndpointAddress.warning(about: url) { context.terminal.complain(warning) }
        let (connection, sealer) = try EndpointCommands.open(configuration)
        let now = SystemClock().now()
        let (added, job) = try connection.transaction {
            let added = try EndpointTable.add(
                url: url, authorization: request.authorization?.exposed,
                environments: filters.environments, events: filters.events, exceptedEvents: filters.exceptedEvents,
                apps: filters.apps, includesSubscriber: includesSubscriber, extensionVersion: extensionVersion,
                ordering: ordering, retrySchedule: request.schedule,
                headers: request.headers, format: format, isAsymmetric: isAsymmetric,
                secret: secret, sealer: sealer, now: now, on: connection)
            return (
                added, try EndpointBackFill.make(for: added.id, since, now: now, context, on: connection)
            )
        }
        tell(added, url, job, context)
        if let job, !context.json { context.terminal.print(try EndpointBackFill.text(job, on: connection)) }
        return 0
    }

    private func ask(_ remote: OperatorClient, _ context: CommandContext) throws -> Int32 {
        var body = EndpointRequestBody()
        body.add("url", url)
        body.add("format", formatName)
        body.add("environments", list: filters.environments.map(\.rawValue))
        body.add("events", list: filters.events)
        body.add("excepted_events", list: filters.exceptedEvents)
        body.add("apps", list: filters.apps)
        body.add("include", include)
        body.add("extension_version", extensionVersion)
        body.add("ordering", ordering.rawValue)
        body.add("asymmetric", isAsymmetric ? .bool(true) : nil)
        body.add(
            "since",
            try since.map { Timestamp.text(try $0.milliseconds(ofOption: "--since", now: SystemClock().now())) })
        body.add(request)
        body.add("secret", secret?.text)
        let (answer, isOver) = try change.post(remote, ["endpoints"], body: body.members)
        let job = answer.cell("job")
        guard isOver else {
            throw CommandFailure(
                "no worker has added the endpoint yet (job \(job)), and its secret will not be shown; when"
                    + " `entitled jobs show \(job) --wait` says that it is done, rotate the secret")
        }
        let id = answer["outcome"]?.cell("endpoint") ?? ""
        let given = answer["outcome"]?["secret"]?.stringValue
        guard given != nil || secret != nil else {
            throw CommandFailure("\(id) was added (job \(job)), but the answer has no secret: rotate it")
        }
        guard !context.json else {
            context.terminal.document(answer)
            return ExitStatus.done
        }
        let publicKey = answer["outcome"]?["public_key"]?.stringValue
        context.terminal.print(
            Terminal.harmless("added \(id): \(url) (job \(job))") + "\n"
                + (given.map { "secret: \(Terminal.harmless($0))\n" } ?? "")
                + (publicKey.map { "public key: \(Terminal.harmless($0))\n" } ?? "")
                + (given == nil
                    ? "It signs with the secret that was given." : "Save the secret now: it is not shown again."))
        return ExitStatus.done
    }

    private func tell(_ added: EndpointTable.Added, _ url: String, _ job: Job?, _ context: CommandContext) {
        let secret = added.secret.text
        let publicKey = added.publicKey.map(WebhookPublicKey.text)
        if context.json {
            context.terminal.document(
                .object([
                    "id": .string(added.id), "url": .string(url), "secret": .string(secret),
                    "public_key": publicKey.map { .string($0) }, "job": job.map { .int($0.id) },
                ]))
            return
        }
        let test = format == .raw ? "" : " Send a test event with: entitled endpoints test \(added.id)"
        context.terminal.print(
            """
            added \(added.id): \(url)
            secret: \(secret)\(publicKey.map { "\npublic key: \($0)" } ?? "")
            Save the secret now: it is not shown again.\(test)
            """)
    }
}

extension Ordering: InputValue {}
