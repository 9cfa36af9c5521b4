import Base
import CLI
import Database
import HTTP
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints update`.
struct EndpointUpdateCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "update", "Change an endpoint's filters, headers or order.",
        discussion:
            "Only the given options change; a filter replaces the former one. Secrets and pending deliveries stay as they"
            + " are: a new retry schedule applies from the next failed attempt on. The format cannot be changed: add another"
            + " endpoint. --url is the endpoint's here: --console-url, or ENTITLED_URL, names the operator API. By that a URL on"
            + " another host, port or scheme is refused while the endpoint keeps an authorization or headers, which would be sent"
            + " there. --json prints the answer of the operator API then.",
        examples: [
            "endpoints update ID --url https://example.com/new --all-events",
            "endpoints update ID --retry-schedule 1m,5m,30m,2h", "endpoints update ID --retry-schedule default",
        ])

    static let urlOption = OptionDeclaration(
        "--console-url", .text("URL"),
        "Ask the operator API at this URL instead of the database; default: $ENTITLED_URL. No configuration is needed.")

    @Argument(EndpointCommands.id) private var id: String
    @Option("--url", .text("URL"), "New URL of the endpoint.") private var url: String?
    @OptionGroup private var filters: EndpointFilterOptions
    @Flag("--all-environments", "Remove the filter by environment.") private var isOfAllEnvironments: Bool
    @Flag("--all-events", "Remove the filter by type.") private var isOfAllEvents: Bool
    @Flag("--all-apps", "Remove the filter by app.") private var isOfAllApps: Bool
    @OptionGroup private var requestOptions: EndpointRequestOptions
    @Option(EndpointCommands.include) private var include: String?
    @Option(EndpointCommands.extensionVersion) private var extensionVersion: String?
    @Option(EndpointCommands.ordering) private var ordering: Ordering?
    @Flag("--no-authorization", "Remove the authorization header.") private var hasNoAuthorization: Bool
    @Option("--no-header", .text("NAME"), "Remove this header.") private var withoutHeaders: [String]
    @Flag("--asymmetric", "Sign with an ed25519 key pair too (v1a).") private var isAsymmetric: Bool
    @Flag("--symmetric", "Sign with the secret only and delete the key pair.") private var isSymmetric: Bool
    @OptionGroup private var change: ChangeOptions
    /// What is asked of the operator API.
    private(set) var body = EndpointRequestBody()
    /// With the URL as it was given.
    private(set) var changes = EndpointEdit()

    mutating func validate() throws {
        let request = try requestOptions.values()
        try exclude("--environment", !filters.environments.isEmpty, "--all-environments", isOfAllEnvironments)
        try exclude("--event", !filters.events.isEmpty, "--all-events", isOfAllEvents)
        try exclude("--except", !filters.exceptedEvents.isEmpty, "--all-events", isOfAllEvents)
        try exclude("--event", !filters.events.isEmpty, "--except", !filters.exceptedEvents.isEmpty)
        try exclude("--app", !filters.apps.isEmpty, "--all-apps", isOfAllApps)
        try exclude("--authorization", requestOptions.hasAuthorization, "--no-authorization", hasNoAuthorization)
        try exclude("--asymmetric", isAsymmetric, "--symmetric", isSymmetric)
        changes.url = url
        changes.environments = edited(filters.environments, isOfAllEnvironments)
        // Each takes the place of the other.
        changes.events = filters.exceptedEvents.isEmpty ? edited(filters.events, isOfAllEvents) : []
        changes.exceptedEvents = filters.events.isEmpty ? edited(filters.exceptedEvents, isOfAllEvents) : []
        changes.includesSubscriber = include.map { $0 == "subscriber" }
        changes.extensionVersion = extensionVersion
        changes.apps = edited(filters.apps, isOfAllApps)
        changes.authorization = request.authorization.map { .set($0) } ?? (hasNoAuthorization ? .clear : .keep)
        changes.retrySchedule = request.schedule.map { .set($0) } ?? (request.wantsStandardSchedule ? .clear : .keep)
        changes.ordering = ordering
        changes.headers = request.headers
        changes.withoutHeaders = withoutHeaders
        changes.isAsymmetric = isAsymmetric ? true : isSymmetric ? false : nil
        fill(request)
        let hasFilter = changes.environments != nil || changes.events != nil || changes.apps != nil
        guard
            hasFilter || url != nil || !requestOptions.isEmpty || ordering != nil || hasNoAuthorization
                || !withoutHeaders.isEmpty || changes.isAsymmetric != nil || include != nil || extensionVersion != nil
        else {
            throw UsageError("endpoints update needs at least one option; see `entitled endpoints update --help`")
        }
    }

    private mutating func fill(_ request: EndpointRequestValues) {
        body.add("url", url)
        body.add("environments", list: changes.environments?.map(\.rawValue))
        if !filters.events.isEmpty || isOfAllEvents { body.add("events", list: filters.events) }
        if !filters.exceptedEvents.isEmpty || isOfAllEvents {
            body.add("excepted_events", list: filters.exceptedEvents)
        }
        body.add("apps", list: changes.apps)
        body.add("include", include)
        body.add("extension_version", extensionVersion)
        body.add("ordering", ordering?.rawValue)
        body.add("asymmetric", changes.isAsymmetric.map { .bool($0) })
        body.add("without_authorization", hasNoAuthorization ? .bool(true) : nil)
        if !withoutHeaders.isEmpty { body.add("without_headers", list: withoutHeaders) }
        body.add(request)
    }

    private func exclude(_ option: String, _ isGiven: Bool, _ other: String, _ isOtherGiven: Bool) throws {
        if isGiven, isOtherGiven { throw UsageError("\(option) and \(other) cannot be combined") }
    }

    /// Nil where the filter stays; empty where it goes.
    private func edited<Value>(_ filter: [Value], _ isCleared: Bool) -> [Value]? {
        filter.isEmpty ? (isCleared ? [] : nil) : filter
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            return try change.ask(remote, ["endpoints", id], context, body: body.members, method: "PATCH")
        }
        try change.checkLocal()
        let configuration = try context.configuration()
        let (connection, sealer) = try EndpointCommands.open(configuration)
        let former = try EndpointCommands.find(id, on: connection)
        var changes = self.changes
        if former.isOperations { try checkOperations(changes) }
        try EndpointFilters.check(
            events: (changes.events ?? []) + (changes.exceptedEvents ?? []), apps: changes.apps ?? [],
            format: former.format, configuration, context)
        guard former.format == .revenuecat || changes.ordering == nil else {
            throw CommandFailure("endpoint \(former.id) receives raw notifications, which have no order")
        }
        guard former.formatName == EndpointFormat.revenuecat.name || changes.includesSubscriber != true else {
            throw CommandFailure(
                "endpoint \(former.id) receives \(former.formatName), and only events can include customers")
        }
        guard former.extensionVersion != nil || changes.extensionVersion == nil else {
            throw CommandFailure("endpoint \(former.id) does not have the format firebase, so it has no version")
        }
        for name in changes.withoutHeaders
        where !former.headerNames.contains(where: { $0.lowercased() == name.lowercased() }) {
            let hint = NearestName.hint(for: name, among: former.headerNames)
            throw CommandFailure("endpoint \(former.id) has no header \(name)\(hint)")
        }
        changes.url = try changes.url.map { url in
            if let warning = EndpointAddress.warning(about: url) { context.terminal.complain(warning) }
            return try EndpointAddress.check(
                url, allowed: configuration.webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)),
                isProxied: configuration.webhooks.proxy != nil, warn: context.terminal.complain)
        }
        let outcome = try EndpointUpdate.run(
            changes, of: id, sealer: sealer, now: SystemClock().now(), on: connection)
        switch outcome {
        case .changed: break
        case .notFound, .isElsewhere: throw try EndpointCommands.noSuch(id, on: connection)
        case .headersUnreadable:
            throw CommandFailure(
                "the present headers cannot be opened with webhooks.secret_keys: set each again with --header, "
                    + "or remove it with --no-header (\(former.headerNames.joined(separator: ", ")))")
        case .tooManyHeaders:
            throw CommandFailure("an endpoint can have at most \(CustomHeader.limit) headers of its own")
        }
        try EndpointCommands.show(id, configuration, on: connection, context)
        return 0
    }

    private func checkOperations(_ changes: EndpointEdit) throws {
        guard changes.url == nil else {
            throw CommandFailure(
                "\(OperationsEndpoint.id) comes from the configuration: set webhooks.operations_url, and start the"
                    + " worker again")
        }
        guard changes.events == nil, changes.exceptedEvents == nil, changes.environments == nil, changes.apps == nil,
            changes.ordering == nil, changes.includesSubscriber == nil
        else {
            throw CommandFailure("\(OperationsEndpoint.id) gets every operations event: no filter or order applies")
        }
    }
}
