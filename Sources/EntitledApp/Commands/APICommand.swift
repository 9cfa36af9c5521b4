import API
import AppStore
import Base
import CLI
import Daemon

/// `entitled api`, and with `--routes` the list of what the REST listener answers, and with which key.
struct APICommand: ParsableCommand, ServingCommand {
    static let configuration = CommandConfiguration(
        "api", "Run the REST listener for apps and backends.", discussion: RoleProcess.ending,
        examples: ["api --config /etc/entitled/entitled.json5", "api --routes"])

    @Flag("--routes", "List the routes and the kind of key each needs; run nothing.") private var isRoutes: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        isRoutes ? try printRoutes(context) : try RoleProcess(.api).run(context)
    }

    private func printRoutes(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        // Nothing connects before it is started, so that it is no matter whether there is a database.
        let role = try APIRole(configuration, url: "postgresql:")
        let routes = role.handler.routes.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
        if context.json {
            context.terminal.document(.object(["routes": .array(routes.map(APICommand.json))]))
            return 0
        }
        var table = TextTable(["method", "path", "key", "supported"])
        for route in routes {
            table.add([route.method, route.path, route.access.spoken, route.isSupported ? "yes" : "no, 404"])
        }
        context.terminal.table(table)
        return 0
    }

    private static func json(_ route: APIRoute) -> JSON {
        .object([
            "method": .string(route.method), "path": .string(route.path), "key": .string(route.access.key),
            "scope": route.access.scope.map { .string($0.rawValue) }, "supported": .bool(route.isSupported),
        ])
    }
}

extension APIAccess {
    fileprivate var key: String {
        switch self {
        case .open: "none"
        case .anyKey, .anyWritingKey: "any"
        case .publicKey: "public"
        case .secretKey: "secret"
        }
    }

    fileprivate var scope: APIScope? {
        switch self {
        case .secretKey(let scope): scope
        case .anyWritingKey: .write
        case .open, .anyKey, .publicKey: nil
        }
    }

    fileprivate var spoken: String {
        switch self {
        case .open: "none"
        case .anyKey: "public or secret"
        case .anyWritingKey: "public or secret, may write"
        case .publicKey: "public"
        case .secretKey(.read): "secret"
        case .secretKey(.write): "secret, may write"
        }
    }
}
