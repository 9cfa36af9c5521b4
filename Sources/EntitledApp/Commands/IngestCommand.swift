import CLI

/// `entitled ingest`.
struct IngestCommand: ParsableCommand, ServingCommand {
    static let configuration = CommandConfiguration(
        "ingest", "Run the endpoint for Apple: verify and store notifications.", discussion: RoleProcess.ending,
        examples: ["ingest --config /etc/entitled/entitled.json5"])

    func run(_ context: CommandContext) throws -> Int32 { try RoleProcess(.ingest).run(context) }
}
