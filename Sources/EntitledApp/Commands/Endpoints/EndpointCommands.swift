import Base
import CLI
import Crypto
import Daemon
import Database
import HTTP
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints …`: the consumers of webhooks.
enum EndpointCommands {
    struct Add: Command {
        static let declaration = EndpointOptions.add
        private let options: EndpointOptions.Add

        init(_ parsed: ParsedArguments) throws {
            options = try EndpointOptions.Add(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            try EndpointFilters.check(
                events: options.events, apps: options.apps, format: options.format, configuration, context)
            let url = try EndpointAddress.check(
                options.url, allowed: configuration.webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)),
                isProxied: configuration.webhooks.proxy != nil, warn: context.terminal.complain)
            if let warning = EndpointAddress.warning(about: url) { context.terminal.complain(warning) }
            let (connection, sealer) = try EndpointCommands.open(configuration)
            let now = SystemClock().now()
            let (added, job) = try connection.transaction {
                let added = try EndpointTable.add(
                    url: url, authorization: options.request.authorization?.exposed,
                    environments: options.environments, events: options.events, apps: options.apps,
                    ordering: options.ordering, retrySchedule: options.request.schedule,
                    headers: options.request.headers, format: options.format, isAsymmetric: options.isAsymmetric,
                    secret: options.secret, sealer: sealer, now: now, on: connection)
                return (
                    added, try EndpointBackFill.make(for: added.id, options.since, now: now, context, on: connection)
                )
            }
            tell(added, url, job, context)
            if let job, !context.json { context.terminal.print(try EndpointBackFill.text(job, on: connection)) }
            return 0
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
            let test = options.format == .raw ? "" : " Send a test event with: entitled endpoints test \(added.id)"
            context.terminal.print(
                """
                added \(added.id): \(url)
                secret: \(secret)\(publicKey.map { "\npublic key: \($0)" } ?? "")
                Save the secret now: it is not shown again.\(test)
                """)
        }
    }

    struct List: Command {
        static let declaration = EndpointOptions.list

        init(_ parsed: ParsedArguments) {}

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.api)
            let endpoints = try EndpointTable.list(on: connection)
            let health = try EndpointHealthPage.load(configuration, on: connection)
            let unreadable = UnreadableEndpoints.load(configuration)
            if context.json {
                context.terminal.document(
                    .object([
                        "endpoints": .array(
                            endpoints.map { endpoint in
                                unreadable.adding(to: endpoint.document(health.of(endpoint)), of: endpoint.id)
                            })
                    ]))
                return 0
            }
            guard !endpoints.isEmpty else {
                context.terminal.print("no endpoints yet; add one with: entitled endpoints add URL")
                return 0
            }
            var table = TextTable([.key("id"), "state", "health", .prose("url"), .prose("gets"), "ordering"])
            for endpoint in endpoints {
                let page = health.of(endpoint)
                table.add([
                    endpoint.id, page.disablingCode.map { "disabled (\($0))" } ?? "enabled", page.word, endpoint.url,
                    endpoint.filterText,
                    endpoint.ordering.rawValue,
                ])
            }
            context.terminal.table(table)
            for line in unreadable.lines(configuration) { context.terminal.complain(line) }
            return 0
        }
    }

    struct Show: Command {
        static let declaration = EndpointOptions.show
        private let options: EndpointOptions.One

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.api)
            try EndpointCommands.show(options.id, configuration, on: connection, context)
            return 0
        }
    }

    struct Disable: Command {
        static let declaration = EndpointOptions.disable
        private let options: EndpointOptions.One

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            try EndpointCommands.change(options.id, context) { connection in
                try EndpointTable.disable(options.id, reason: "by an operator", on: connection)
            }
        }
    }

    struct Test: Command {
        static let declaration = EndpointOptions.test
        private let options: EndpointOptions.One

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let endpoint = try EndpointCommands.find(options.id, on: connection)
            guard endpoint.isEnabled else {
                throw CommandFailure("endpoint \(endpoint.id) is disabled: \(endpoint.disabledReason ?? "")")
            }
            guard endpoint.format == .revenuecat else {
                throw CommandFailure(
                    "endpoint \(endpoint.id) gets only what Apple signed: have Apple send a TEST notification instead")
            }
            let app = endpoint.apps.first ?? configuration.apps.first?.id ?? "none"
            let event =
                endpoint.isOperations ? TestEventMaker.makeForOperations() : TestEventMaker.make(app: app)
            try TestEventMaker.insert(event.new, for: endpoint, on: connection)
            if context.json {
                context.terminal.document(.object(["id": .string(endpoint.id), "event_id": .string(event.id)]))
            } else {
                context.terminal.print(
                    "\(event.new.type) event \(event.id) is on its way; see: entitled deliveries list --endpoint \(endpoint.id)"
                )
                if context.terminal.screen != nil {
                    let id = DeliveryID(lane: event.new.lane, event: event.new.id, endpoint: endpoint.id)
                    context.terminal.print(try Test.outcome(of: id, on: connection))
                }
            }
            return 0
        }

        /// How long a person waits for the first attempt: a worker begins it within a second.
        private static let patience = Duration.seconds(5)

        /// The first attempt in a sentence, once there is one.
        private static func outcome(of id: DeliveryID, on connection: PostgresConnection) throws -> String {
            let deadline = ContinuousClock.now + patience
            while true {
                guard let found = try DeliveryQuery.show(id, on: connection) else { return "the delivery is gone" }
                if let attempt = found.attempts.last {
                    let detail = attempt.detail ?? attempt.status.map { "status \($0)" } ?? attempt.outcome
                    let verdict = found.delivery.state == .delivered ? "delivered" : "not delivered"
                    return Terminal.harmless("\(verdict) in \(attempt.milliseconds) ms: \(detail)")
                }
                guard ContinuousClock.now < deadline else {
                    return "no attempt has ended within \(patience.text): `entitled deliveries show \(id.text)` shows"
                        + " it later, and `entitled doctor` checks the workers"
                }
                Pause.wait(.milliseconds(200))
            }
        }
    }

    struct Remove: Command {
        static let declaration = EndpointOptions.remove
        private let options: EndpointOptions.One
        private let confirmation: Confirmation

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
            confirmation = Confirmation(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            guard options.id != OperationsEndpoint.id else {
                throw CommandFailure(
                    "\(options.id) comes from the configuration: take webhooks.operations_url away, and start the worker"
                        + " again")
            }
            let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
            if confirmation.isNeeded(context) {
                let endpoint = try EndpointCommands.find(options.id, on: connection)
                try confirmation.ask("Remove this endpoint? It cannot be undone.", context) {
                    try EndpointCommands.preview(endpoint, on: connection)
                }
            }
            guard try EndpointTable.remove(options.id, now: SystemClock().now(), on: connection) else {
                throw try EndpointCommands.noSuch(options.id, on: connection)
            }
            try EndpointCommands.settleDeliveries(on: connection)
            if context.json {
                context.terminal.document(.object(["id": .string(options.id), "state": .string("removed")]))
            } else {
                context.terminal.print("removed \(options.id); deliveries that waited for it are given up")
            }
            return 0
        }
    }

    // MARK: - Shared by these commands

    static func open(_ configuration: Configuration) throws -> (PostgresConnection, SecretSealer) {
        let connection = try DatabaseAccess(configuration).connect(.worker)
        return (connection, try SealingKeys.sealing(configuration, on: connection))
    }

    private static func change(
        _ id: String, _ context: CommandContext, _ body: (PostgresConnection) throws -> Bool
    ) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        guard try body(connection) else { throw try noSuch(id, on: connection) }
        try settleDeliveries(on: connection)
        try tellState(of: id, configuration, on: connection, context)
        return 0
    }

    /// Deliveries follow their endpoint; if this is cut short, the workers go on with it.
    static func settleDeliveries(on connection: PostgresConnection) throws {
        while try DeliveryTable.followEndpoints(in: Lane.all, now: SystemClock().now(), on: connection) > 0 {}
    }

    /// A line for people, who know the rest of the endpoint; the whole endpoint for machines.
    ///
    /// - Parameter more: members that the document has beside the endpoint's.
    static func tellState(
        of id: String, more: [JSON.Member] = [], _ configuration: Configuration, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws {
        guard !context.json else {
            return try show(id, more: more, configuration, on: connection, context)
        }
        let endpoint = try find(id, on: connection)
        let rest = endpoint.isEnabled ? "" : "; its events are kept for it until it is enabled"
        context.terminal.paragraph(
            Terminal.harmless("\(endpoint.id) is \(endpoint.stateText)\(rest): \(endpoint.url)"))
    }

    /// - Parameter more: members that the document has beside the endpoint's.
    static func show(
        _ id: String, more: [JSON.Member] = [], _ configuration: Configuration, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws {
        let endpoint = try find(id, on: connection)
        let page = EndpointPage(
            endpoint, health: try EndpointHealthPage.load(id: id, configuration, on: connection).of(endpoint),
            live: try EndpointSecrets.list(of: id, now: SystemClock().now(), on: connection),
            standard: RetrySchedule(waits: configuration.webhooks.retrySchedule.map(\.milliseconds)),
            blocked: try DeliveryOrder.blocked(of: id, atMost: EndpointPage.blockedLimit, on: connection))
        let unreadable = UnreadableEndpoints.load(configuration, id: id)
        if context.json {
            let document = JSON.object((page.document.members ?? []) + more)
            context.terminal.document(unreadable.adding(to: document, of: id))
        } else {
            context.terminal.print(page.text(context.terminal.time))
            for line in unreadable.lines(configuration) { context.terminal.complain(line) }
        }
    }

    /// - Throws: `CommandFailure` where there is none with this id.
    static func find(_ id: String, on connection: PostgresConnection) throws -> Endpoint {
        guard let endpoint = try EndpointTable.list(id: id, on: connection).first else {
            throw try noSuch(id, on: connection)
        }
        return endpoint
    }

    static func noSuch(_ id: String, on connection: PostgresConnection) throws -> CommandFailure {
        let hint = NearestName.hint(forID: id, among: try EndpointTable.list(on: connection).map(\.id))
        return CommandFailure("there is no endpoint \(id)\(hint); see: entitled endpoints list")
    }

    /// Deliveries that are counted for the question before an endpoint is removed.
    private static let counted = 1000

    private static func preview(_ endpoint: Endpoint, on connection: PostgresConnection) throws -> [String] {
        let open = try [DeliveryState.pending, .held].reduce(0) { count, state in
            try count
                + DeliveryQuery.list(.init(endpoint: endpoint.id, state: state), .init(limit: counted), on: connection)
                .rows.count
        }
        let least = open < counted ? "" : "at least "
        let lost = open == 1 ? "1 delivery that waits to be sent" : "\(least)\(open) deliveries that wait to be sent"
        return [
            "endpoint      \(endpoint.id)", "url           \(endpoint.url)", "state         \(endpoint.stateText)",
            "gets          \(endpoint.filterText)", "given up      \(lost)",
        ]
    }
}

extension Endpoint {
    func document(_ health: EndpointHealthPage) -> JSON {
        .object([
            "id": .string(id), "url": .string(url), "state": .string(isEnabled ? "enabled" : "disabled"),
            "disabled_reason": .text(disabledReason), "disabled_code": .text(health.disablingCode),
            "environments": .strings(environments.map(\.rawValue)),
            "events": .strings(events), "apps": .strings(apps), "format": .string(format.name),
            "ordering": .string(ordering.rawValue), "created_at": .date(created),
            "is_operations": .bool(isOperations), "health": health.document,
        ])
    }

    var stateText: String { disabledReason.map { "disabled (\($0))" } ?? "enabled" }

    var filterText: String {
        if isOperations { return "operations events" }
        let parts = [apps, environments.map(\.rawValue), events].filter { !$0.isEmpty }
        let filters = parts.map { $0.joined(separator: ", ") }.joined(separator: "; ")
        switch format {
        case .revenuecat: return parts.isEmpty ? "every event" : filters
        case .raw: return parts.isEmpty ? "every notification as it came" : "notifications as they came: \(filters)"
        }
    }
}
