import Base
import CLI
import Database
import HTTP

extension EndpointCommands {
    struct Update: Command {
        static let declaration = EndpointOptions.update
        private let options: EndpointOptions.Update

        init(_ parsed: ParsedArguments) throws {
            options = try EndpointOptions.Update(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let (connection, sealer) = try EndpointCommands.open(configuration)
            let former = try EndpointCommands.find(options.id, on: connection)
            var changes = options.changes
            if former.isOperations { try checkOperations(changes) }
            try EndpointFilters.check(
                events: (changes.events ?? []) + (changes.exceptedEvents ?? []), apps: changes.apps ?? [],
                format: former.format, configuration, context)
            guard former.format == .revenuecat || changes.ordering == nil else {
                throw CommandFailure("endpoint \(former.id) gets notifications as they came, which have no order")
            }
            guard former.formatName == EndpointFormat.revenuecat.name || changes.includesSubscriber != true else {
                throw CommandFailure(
                    "endpoint \(former.id) gets \(former.formatName), and only events include customers")
            }
            guard former.extensionVersion != nil || changes.extensionVersion == nil else {
                throw CommandFailure("endpoint \(former.id) is not of the format firebase, which has a version")
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
                changes, of: options.id, sealer: sealer, now: SystemClock().now(), on: connection)
            switch outcome {
            case .changed: break
            case .notFound: throw try EndpointCommands.noSuch(options.id, on: connection)
            case .headersUnreadable:
                throw CommandFailure(
                    "the headers that it has cannot be opened with webhooks.secret_keys: give each anew with --header, "
                        + "or take it away with --no-header (\(former.headerNames.joined(separator: ", ")))")
            case .tooManyHeaders:
                throw CommandFailure("an endpoint has at most \(CustomHeader.limit) headers of its own")
            }
            try EndpointCommands.show(options.id, configuration, on: connection, context)
            return 0
        }

        private func checkOperations(_ changes: EndpointEdit) throws {
            guard changes.url == nil else {
                throw CommandFailure(
                    "\(OperationsEndpoint.id) comes from the configuration: set webhooks.operations_url, and start the"
                        + " worker again")
            }
            guard changes.events == nil, changes.exceptedEvents == nil, changes.environments == nil,
                changes.apps == nil,
                changes.ordering == nil, changes.includesSubscriber == nil
            else {
                throw CommandFailure("\(OperationsEndpoint.id) gets every operations event: no filter or order applies")
            }
        }
    }
}
