import CLI

/// `entitled console`.
struct ConsoleCommand: ParsableCommand, ServingCommand {
    static let configuration = CommandConfiguration(
        "console", "Run the listener for operators: the web console and the operator API.",
        discussion:
            "Connects as the Postgres role entitled_console, which may read, store sessions and passwords, and record"
            + " the changes that operators request; workers make them. `entitled users` creates operators, their"
            + " log-in links and their keys. "
            + RoleProcess.ending,
        examples: ["console --config /etc/entitled/entitled.json5"])

    func run(_ context: CommandContext) throws -> Int32 { try RoleProcess(.console).run(context) }
}
