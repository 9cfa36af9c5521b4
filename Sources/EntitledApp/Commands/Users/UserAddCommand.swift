import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users add`.
struct UserAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "add", "Add an operator.",
        discussion:
            "support sees customers and their webhooks; integrator sees webhooks and endpoints; operator sees everything;"
            + " finance sees money, and no customer; read sees all but personal data, actions and jobs. Roles can be"
            + " given on this host only.",
        examples: ["users add anna --role support", "users add ben@example.com --role operator"])

    @Argument(UserCommands.name) private var name: String
    @Option("--role", .choice(of: OperatorRole.self, "ROLE"), "What the operator sees and may do.")
    private var role: OperatorRole

    func validate() throws { try UserCommands.check(name) }

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        // By the clock that dates changes: what an operator asked for who had the name before is told by it.
        switch try ConsoleUserTable.add(name, role, now: connection.serverTime(), on: connection) {
        case .added: break
        case .exists(let role):
            throw CommandFailure("there is a user \(name) already, with the role \(role.rawValue)")
        }
        if context.json {
            context.terminal.document(.object(["name": .string(name), "role": .string(role.rawValue)]))
        } else {
            context.terminal.print(
                "added \(name) as \(role.rawValue); a key for the operator API: entitled users key \(name)")
        }
        return 0
    }
}
