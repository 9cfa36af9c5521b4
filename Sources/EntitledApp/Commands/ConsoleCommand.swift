import CLI

/// `entitled console`.
struct ConsoleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "console", "Run the listener for operators: the web console and the operator API.",
        discussion:
            "As the Postgres role entitled_console it reads, keeps sessions and passwords, and writes down the changes that"
            + " operators ask for; workers do them. `entitled users` makes"
            + " operators, their log-in links and their keys. "
            + RoleProcess.ending,
        examples: ["console --config /etc/entitled/entitled.json5"])

    func run(_ context: CommandContext) throws -> Int32 { try RoleProcess(.console).run(context) }
}
