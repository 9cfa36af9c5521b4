import Base
import CLI
import Database

/// A notification on a command line: its UUID, and the app scope where that is needed.
struct NotificationArgument: ParsableArguments, NotificationNaming {
    @Argument(.text("UUID"), "The notificationUUID.") var uuid: String
    @Option("--app", .text("ID"), "Select the app, if two have this UUID.") var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this UUID.")
    var environment: StoreEnvironment?
}

/// What names a notification: its UUID, which several apps and environments may have.
protocol NotificationNaming {
    var uuid: String { get }
    var app: String? { get }
    var environment: StoreEnvironment? { get }
}

extension NotificationNaming {
    /// Where the operator API has it.
    func path(of source: any OperatorSource) throws -> [String] {
        if let app, let environment { return ["notifications", app, environment.rawValue, uuid] }
        let hits = try source.json(["search"], [("q", uuid)])["items"]?.arrayValue ?? []
        let found = hits.filter { hit in
            hit.cell("kind") == "notification" && (app.map { $0 == hit.cell("app") } ?? true)
                && (environment.map { $0.rawValue == hit.cell("environment") } ?? true)
        }
        guard let one = found.first else { throw notFound }
        guard found.count == 1 else {
            throw ambiguous(found.map { "\($0.cell("app")) \($0.cell("environment"))" })
        }
        return ["notifications", one.cell("app"), one.cell("environment"), one.cell("id")]
    }

    var notFound: CommandFailure { CommandFailure("there is no notification \(uuid)") }

    /// - Parameter received: ms since 1970.
    func dropped(_ received: Int64) -> CommandFailure {
        CommandFailure(
            "\(uuid) came on \(Day(of: received).text) and is no longer stored (retention.notifications); its facts"
                + " about purchases are"
        )
    }

    /// - Parameter scopes: the apps and environments that have the UUID.
    func ambiguous(_ scopes: [String]) -> CommandFailure {
        CommandFailure(
            "\(uuid) is in \(scopes.joined(separator: " and ")): say which with --app and --environment")
    }
}
