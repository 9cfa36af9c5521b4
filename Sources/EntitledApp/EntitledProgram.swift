/// The program with all its commands.
package enum EntitledProgram {
    /// Runs one command line, without the program's own name. The exit status.
    package static func run(_ words: [String]) -> Int32 {
        Program(root: CommandTree.root(makers)).run(words)
    }

    private static let makers: [String: CommandNode.Maker] = [
        "verify": VerifyCommand.init,
        "ingest": { _ in ProcessCommand(.ingest) },
        "worker": { _ in ProcessCommand(.worker) },
        "api": { _ in ProcessCommand(.api) },
        "run": { _ in ProcessCommand(.run) },
        "migrate": MigrateCommand.init,
        "endpoints add": EndpointCommands.Add.init,
        "endpoints list": EndpointCommands.List.init,
        "endpoints show": EndpointCommands.Show.init,
        "endpoints enable": EndpointCommands.Enable.init,
        "endpoints disable": EndpointCommands.Disable.init,
        "endpoints rotate-secret": EndpointCommands.RotateSecret.init,
        "endpoints test": EndpointCommands.Test.init,
        "endpoints remove": EndpointCommands.Remove.init,
        "notifications list": NotificationCommands.List.init,
        "notifications show": NotificationCommands.Show.init,
        "deliveries list": DeliveryCommands.List.init,
        "deliveries show": DeliveryCommands.Show.init,
        "deliveries resend": DeliveryCommands.Resend.init,
        "customers show": CustomerCommands.Show.init,
        "check-config": CheckConfigCommand.init,
        "version": VersionCommand.init,
    ]
}
