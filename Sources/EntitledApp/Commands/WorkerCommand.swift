import CLI

/// `entitled worker`.
struct WorkerCommand: ParsableCommand, ServingCommand {
    static let configuration = CommandConfiguration(
        "worker", "Run a worker: apply notifications and send webhooks.",
        discussion: "Any number may run, on any hosts. " + RoleProcess.ending,
        examples: ["worker --config /etc/entitled/entitled.json5"])

    func run(_ context: CommandContext) throws -> Int32 { try RoleProcess(.worker).run(context) }
}
