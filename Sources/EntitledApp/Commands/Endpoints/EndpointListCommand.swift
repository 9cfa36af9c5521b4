import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints list`.
struct EndpointListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List endpoints with their state, health and latency.", discussion: AnsweredEndpoint.help,
        examples: ["endpoints list", "endpoints list --json"])

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            AnsweredEndpoint.show(list: try remote.all(["endpoints"]).items, context)
            return 0
        }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        let endpoints = try EndpointTable.list(on: connection)
        let health = try EndpointHealthPage.load(configuration.healthPolicy, on: connection)
        let latencies = try EndpointLatency.readAll(
            of: endpoints.count, now: SystemClock().now(), on: connection)
        let unreadable = UnreadableEndpoints.load(configuration)
        if context.json {
            context.terminal.document(
                .object([
                    "endpoints": .array(
                        endpoints.map { endpoint in
                            unreadable.adding(
                                to: EndpointRow.document(
                                    endpoint.document(health.of(endpoint)), latencies[endpoint.id]),
                                of: endpoint.id)
                        })
                ]))
            return 0
        }
        guard !endpoints.isEmpty else {
            context.terminal.print("no endpoints yet; add one with: entitled endpoints add URL")
            return 0
        }
        var table = TextTable(AnsweredEndpoint.columns)
        for endpoint in endpoints {
            let page = health.of(endpoint)
            table.add([
                endpoint.id, page.disablingCode.map { "disabled (\($0))" } ?? "enabled", page.word, endpoint.url,
                endpoint.filterText,
                endpoint.ordering.rawValue, latencies[endpoint.id].map { String($0.answered.p50) } ?? "",
                latencies[endpoint.id].map { String($0.answered.p95) } ?? "",
                latencies[endpoint.id].map { String($0.deliveries) } ?? "",
            ])
        }
        context.terminal.table(table)
        for line in unreadable.lines(configuration) { context.terminal.complain(line) }
        return 0
    }
}
