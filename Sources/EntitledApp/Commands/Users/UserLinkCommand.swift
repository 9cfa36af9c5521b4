import Accounts
import Base
import CLI
import Daemon
import Database
import Postgres
import Schemas

/// `entitled users link`.
struct UserLinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "link", "Create a log-in link to the console for an operator and print it once.",
        discussion:
            "The link works once and for 15 minutes, and ends earlier links of the same operator. The session that it opens may"
            + " set a password.", examples: ["users link anna"])

    @Argument(UserCommands.name) private var name: String

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        guard let link = try LoginLinkTable.create(for: name, now: SystemClock().now(), on: connection) else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        let console = configuration.console
        let url = "\(console.address.text(listening: console.listen.description))/console/link/\(link.token.exposed)"
        if context.json {
            context.terminal.document(
                .object(["name": .string(name), "url": .string(url), "until": .date(link.until)]))
        } else {
            context.terminal.print(
                """
                \(url)
                Works once, until \(context.terminal.time(link.until)). Give it to \(name) only.
                """)
        }
        return 0
    }
}
