import CLI

/// `entitled run`.
struct RunCommand: ParsableCommand, ServingCommand {
    static let configuration = CommandConfiguration(
        "run", "Run ingest, worker, api and console in one process.",
        discussion: "For small installations and for trying it out. Without database.url a private Postgres cluster is"
            + " started in state_dir. " + RoleProcess.ending,
        examples: ["run", "run --config /etc/entitled/entitled.json5"])

    func run(_ context: CommandContext) throws -> Int32 { try RoleProcess(.run).run(context) }
}
