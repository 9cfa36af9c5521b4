/// The program as it is installed.
package enum EntitledApp {
    /// What each declared command does.
    package static let makers: [String: CommandNode.Maker] = [
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
        "notifications reprocess": NotificationCommands.Reprocess.init,
        "deliveries list": DeliveryCommands.List.init,
        "deliveries show": DeliveryCommands.Show.init,
        "deliveries resend": DeliveryCommands.Resend.init,
        "customers show": CustomerCommands.Show.init,
        "customers list": CustomerActionCommands.List.init,
        "customers alias": CustomerActionCommands.Alias.init,
        "customers transfer": CustomerActionCommands.Transfer.init,
        "customers delete": CustomerActionCommands.Delete.init,
        "purchases list": PurchaseCommands.List.init,
        "purchases claim": PurchaseCommands.Claim.init,
        "products list": PurchaseCommands.Products.init,
        "rebuild": RebuildCommand.init,
        "doctor": DoctorCommand.init,
        "check-config": CheckConfigCommand.init,
        "version": VersionCommand.init,
    ]

    package static let program = Program(root: CommandTree.root(makers))
}
