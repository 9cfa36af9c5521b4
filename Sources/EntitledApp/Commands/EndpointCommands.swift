import Base
import Crypto
import HTTPClient
import Postgres
import Queue
import Records
import Schemas
import Subscriptions
import Telemetry

/// `entitled endpoints …`: the consumers of webhooks.
enum EndpointCommands {
    struct Add: Command {
        static let declaration = EndpointOptions.add
        private let options: EndpointOptions.Add

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.Add(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            try checkFilters(configuration)
            let url = try EndpointAddress.check(
                options.url, allowed: configuration.webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)))
            if let value = options.authorization, value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
                throw UsageError("--authorization must not contain control characters")
            }
            let (connection, sealer) = try EndpointCommands.open(configuration)
            let added = try EndpointStore.add(
                url: url, authorization: options.authorization, environments: options.environments,
                events: options.events, apps: options.apps, sealer: sealer, now: SystemClock().now(), on: connection)
            let secret = WebhookSecret.text(added.secret.exposed)
            if context.json {
                context.terminal.document(
                    .object(["id": .string(added.id), "url": .string(url), "secret": .string(secret)]))
            } else {
                context.terminal.print(
                    """
                    added \(added.id): \(url)
                    secret: \(secret)
                    Keep it now: it is not shown again. Send a test event with: entitled endpoints test \(added.id)
                    """)
            }
            return 0
        }

        private func checkFilters(_ configuration: Configuration) throws {
            let known = EventType.allCases.map(\.rawValue)
            for event in options.events where !known.contains(event) {
                throw UsageError("--event \(event): there is no such event; known are \(known.joined(separator: ", "))")
            }
            let apps = configuration.apps.map(\.id)
            for app in options.apps where !apps.contains(app) {
                throw UsageError(
                    "--app \(app): no such app is configured; configured are \(apps.joined(separator: ", "))")
            }
        }
    }

    struct List: Command {
        static let declaration = EndpointOptions.list

        init(_ parsed: ParsedArguments) {}

        func run(_ context: CommandContext) throws -> Int32 {
            let database = try DatabaseAccess(try context.configuration())
            let connection = try database.connect(.api)
            let endpoints = try EndpointStore.list(on: connection)
            let health = try EndpointHealthPage.load(context, on: connection)
            if context.json {
                context.terminal.document(
                    .object(["endpoints": .array(endpoints.map { $0.document(health.of($0)) })]))
                return 0
            }
            guard !endpoints.isEmpty else {
                context.terminal.print("no endpoints yet; add one with: entitled endpoints add URL")
                return 0
            }
            var table = TextTable(["id", "state", "health", "url", "gets"])
            for endpoint in endpoints {
                table.add([
                    endpoint.id, endpoint.stateText, health.of(endpoint).word, endpoint.url, endpoint.filterText,
                ])
            }
            context.terminal.table(table)
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
            let database = try DatabaseAccess(try context.configuration())
            try EndpointCommands.show(options.id, on: try database.connect(.api), context)
            return 0
        }
    }

    struct Enable: Command {
        static let declaration = EndpointOptions.enable
        private let options: EndpointOptions.One

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            try EndpointCommands.change(options.id, context) { connection in
                try EndpointStore.enable(options.id, on: connection)
            }
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
                try EndpointStore.disable(options.id, reason: "by an operator", on: connection)
            }
        }
    }

    struct RotateSecret: Command {
        static let declaration = EndpointOptions.rotateSecret
        private let options: EndpointOptions.One

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let (connection, sealer) = try EndpointCommands.open(try context.configuration())
            let rotated = try EndpointStore.rotateSecret(
                of: options.id, sealer: sealer, now: SystemClock().now(), on: connection)
            guard let secret = rotated.map({ WebhookSecret.text($0.exposed) }) else {
                throw EndpointCommands.noSuch(options.id)
            }
            if context.json {
                context.terminal.document(.object(["id": .string(options.id), "secret": .string(secret)]))
            } else {
                context.terminal.print(
                    """
                    new secret: \(secret)
                    Keep it now: it is not shown again. The old one signs too for another \(EndpointStore.overlap.text).
                    """)
            }
            return 0
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
            guard let endpoint = try EndpointStore.list(id: options.id, on: connection).first else {
                throw EndpointCommands.noSuch(options.id)
            }
            guard endpoint.isEnabled else {
                throw CommandFailure("endpoint \(endpoint.id) is disabled: \(endpoint.disabledReason ?? "")")
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
            }
            return 0
        }
    }

    struct Remove: Command {
        static let declaration = EndpointOptions.remove
        private let options: EndpointOptions.One

        init(_ parsed: ParsedArguments) {
            options = EndpointOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            guard options.id != OperationsEndpoint.id else {
                throw CommandFailure(
                    "\(options.id) comes from the configuration: take webhooks.operations_url away, and start the worker"
                        + " again")
            }
            let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
            guard try EndpointStore.remove(options.id, now: SystemClock().now(), on: connection) else {
                throw EndpointCommands.noSuch(options.id)
            }
            try EndpointCommands.settleDeliveries(on: connection)
            if context.json {
                context.terminal.document(.object(["id": .string(options.id), "state": .string("removed")]))
            } else {
                context.terminal.print("removed \(options.id); what was on its way to it is given up")
            }
            return 0
        }
    }

    // MARK: - Shared by these commands

    private static func open(_ configuration: Configuration) throws -> (PostgresConnection, SecretSealer) {
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let sealer = try SealingKeys.load(configuration)
        try SealingKeys.check(sealer, configuration, on: connection)
        return (connection, sealer)
    }

    private static func change(
        _ id: String, _ context: CommandContext, _ body: (PostgresConnection) throws -> Bool
    ) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        guard try body(connection) else { throw noSuch(id) }
        try settleDeliveries(on: connection)
        try show(id, on: connection, context)
        return 0
    }

    /// Deliveries follow their endpoint; if this is cut short, the workers go on with it.
    private static func settleDeliveries(on connection: PostgresConnection) throws {
        while try DeliveryStore.followEndpoints(in: Lane.all, now: SystemClock().now(), on: connection) > 0 {}
    }

    private static func show(_ id: String, on connection: PostgresConnection, _ context: CommandContext) throws {
        guard let endpoint = try EndpointStore.list(id: id, on: connection).first else { throw noSuch(id) }
        let health = try EndpointHealthPage.load(id: id, context, on: connection).of(endpoint)
        if context.json {
            context.terminal.document(endpoint.document(health))
        } else {
            context.terminal.print(
                """
                \(endpoint.id)
                url      \(Terminal.harmless(endpoint.url))
                state    \(endpoint.stateText)
                gets     \(endpoint.filterText)
                since    \(Timestamp.text(endpoint.created))
                health   \(health.text)
                """)
        }
    }

    private static func noSuch(_ id: String) -> CommandFailure {
        CommandFailure("there is no endpoint \(id); see: entitled endpoints list")
    }
}

extension Endpoint {
    fileprivate func document(_ health: EndpointHealthPage) -> JSON {
        .object([
            "id": .string(id), "url": .string(url), "state": .string(isEnabled ? "enabled" : "disabled"),
            "disabled_reason": .text(disabledReason), "disabled_code": .text(health.disablingCode),
            "environments": .strings(environments.map(\.rawValue)),
            "events": .strings(events), "apps": .strings(apps), "created_at": .date(created),
            "is_operations": .bool(isOperations), "health": health.document,
        ])
    }

    fileprivate var stateText: String { disabledReason.map { "disabled (\($0))" } ?? "enabled" }

    fileprivate var filterText: String {
        if isOperations { return "operations events" }
        let parts = [apps, environments.map(\.rawValue), events].filter { !$0.isEmpty }
        return parts.isEmpty ? "every event" : parts.map { $0.joined(separator: ", ") }.joined(separator: "; ")
    }
}
