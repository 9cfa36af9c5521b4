import Base
import CLI
import Database

/// A notification on a command line: its UUID, and the app scope where that is needed.
struct NotificationArgument: ParsableArguments {
    @Argument(.text("UUID"), "The notificationUUID.") var uuid: String
    @Option("--app", .text("ID"), "Select the app, if two have this UUID.") var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this UUID.")
    var environment: StoreEnvironment?

    var notFound: CommandFailure { CommandFailure("there is no notification \(uuid)") }

    /// - Parameter received: ms since 1970.
    func dropped(_ received: Int64) -> CommandFailure {
        CommandFailure(
            "\(uuid) came on \(Day(of: received).text) and is no longer kept (retention.notifications); what it said of"
                + " purchases is")
    }

    /// - Parameter scopes: the apps and environments that have the UUID.
    func ambiguous(_ scopes: [String]) -> CommandFailure {
        CommandFailure(
            "\(uuid) is in \(scopes.joined(separator: " and ")): say which with --app and --environment")
    }
}
