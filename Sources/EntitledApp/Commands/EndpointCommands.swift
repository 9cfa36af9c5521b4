import Base
import Crypto
import HTTPClient
import Postgres
import Queue
import Records
import Replay
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
            let now = SystemClock().now()
            let (added, job) = try connection.transaction {
                let added = try EndpointStore.add(
                    url: url, authorization: options.authorization, environments: options.environments,
                    events: options.events, apps: options.apps, sealer: sealer, now: now, on: connection)
                return (
                    added, try EndpointBackFill.make(for: added.id, options.since, now: now, context, on: connection)
                )
            }
            let secret = WebhookSecret.text(added.secret.exposed)
            if context.json {
                context.terminal.document(
                    .object([
                        "id": .string(added.id), "url": .string(url), "secret": .string(secret),
                        "job": job.map { .int($0.id) },
                    ]))
            } else {
                context.terminal.print(
                    """
                    added \(added.id): \(url)
                    secret: \(secret)
                    Keep it now: it is not shown again. Send a test event with: entitled endpoints test \(added.id)
                    """)
                if let job { context.terminal.print(try EndpointBackFill.text(job, on: connection)) }
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
            let endpoints = try EndpointStore.list(on: try database.connect(.api))
            if context.json {
                context.terminal.document(.object(["endpoints": .array(endpoints.map(\.document))]))
                return 0
            }
            guard !endpoints.isEmpty else {
                context.terminal.print("no endpoints yet; add one with: entitled endpoints add URL")
                return 0
            }
            var table = TextTable(["id", "state", "url", "gets"])
            for endpoint in endpoints {
                table.add([endpoint.id, endpoint.stateText, endpoint.url, endpoint.filterText])
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
            let event = TestEventMaker.make(app: endpoint.apps.first ?? configuration.apps.first?.id ?? "none")
            try TestEventMaker.insert(event.new, for: endpoint, on: connection)
            if context.json {
                context.terminal.document(.object(["id": .string(endpoint.id), "event_id": .string(event.id)]))
            } else {
                context.terminal.print(
                    "TEST event \(event.id) is on its way; see: entitled deliveries list --endpoint \(endpoint.id)")
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
    static func settleDeliveries(on connection: PostgresConnection) throws {
        while try DeliveryStore.followEndpoints(in: Lane.all, now: SystemClock().now(), on: connection) > 0 {}
    }

    /// - Parameter more: members that the document has beside the endpoint's.
    static func show(
        _ id: String, more: [JSON.Member] = [], on connection: PostgresConnection, _ context: CommandContext
    ) throws {
        guard let endpoint = try EndpointStore.list(id: id, on: connection).first else { throw noSuch(id) }
        if context.json {
            context.terminal.document(.object((endpoint.document.members ?? []) + more))
        } else {
            context.terminal.print(
                """
                \(endpoint.id)
                url      \(Terminal.harmless(endpoint.url))
                state    \(endpoint.stateText)
                gets     \(endpoint.filterText)
                since    \(Timestamp.text(endpoint.created))
                """)
        }
    }

    static func noSuch(_ id: String) -> CommandFailure {
        CommandFailure("there is no endpoint \(id); see: entitled endpoints list")
    }
}

extension Endpoint {
    fileprivate var document: JSON {
        .object([
            "id": .string(id), "url": .string(url), "state": .string(isEnabled ? "enabled" : "disabled"),
            "disabled_reason": .text(disabledReason), "environments": .strings(environments.map(\.rawValue)),
            "events": .strings(events), "apps": .strings(apps), "created_at": .date(created),
        ])
    }

    fileprivate var stateText: String { disabledReason.map { "disabled (\($0))" } ?? "enabled" }

    fileprivate var filterText: String {
        let parts = [apps, environments.map(\.rawValue), events].filter { !$0.isEmpty }
        return parts.isEmpty ? "every event" : parts.map { $0.joined(separator: ", ") }.joined(separator: "; ")
    }
}
