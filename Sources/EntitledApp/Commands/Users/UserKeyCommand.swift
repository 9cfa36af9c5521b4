import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users key`.
struct UserKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "key", "Create a key of the operator API for an operator and print it once.",
        discussion:
            "The key works at once; only its hash is stored. `users remove NAME --key ID` revokes it, and so does"
            + " removing its operator.",
        examples: ["users key anna", "users key ben@example.com --role read --until 2027-01-01"])

    @Argument(UserCommands.name) private var name: String
    @Option(
        "--role", .choice(of: OperatorRole.self, "ROLE"),
        "Role of the key; default: that of the operator. Only an operator's key can have another one.")
    private var givenRole: OperatorRole?
    @Option("--until", .moment, "Time at which the key expires; default: never.") private var until: TimeArgument?

    func run(_ context: CommandContext) throws -> Int32 {
        let now = SystemClock().now()
        let end = until?.milliseconds(now: now)
        if let end, end <= now { throw UsageError("--until must be in the future") }
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        guard let user = try ConsoleUserTable.find(name, on: connection) else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        let role = givenRole ?? user.role
        guard user.role.includes(role) else {
            throw CommandFailure(
                "\(name) has the role \(user.role.rawValue), which a key with the role \(role.rawValue) would exceed")
        }
        guard let made = try OperatorKeyTable.create(for: name, role, until: end, now: now, on: connection) else {
            throw try UserCommands.noSuch(name, on: connection)
        }
        if context.json {
            context.terminal.document(
                .object([
                    "id": .string(made.id), "key": .string(made.key.exposed), "user": .string(name),
                    "role": .string(role.rawValue), "until": .date(end),
                ]))
        } else {
            context.terminal.print(
                """
                added \(made.id)
                key: \(made.key.exposed)
                Save the key now: it is not shown again.
                """)
        }
        return 0
    }
}
