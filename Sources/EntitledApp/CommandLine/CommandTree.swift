import CLI

/// All commands.
package enum CommandTree {
    /// The tree, with the work of each command by the words that lead to it: `endpoints add`. A command without any
    /// is known to the help, and refused.
    package static func root(_ makers: [String: CommandNode.Maker]) -> CommandNode {
        func command(_ declaration: CommandDeclaration, in group: String? = nil) -> CommandNode {
            CommandNode(declaration, make: makers[group.map { "\($0) \(declaration.name)" } ?? declaration.name])
        }
        func group(_ name: String, _ summary: String, _ declarations: [CommandDeclaration]) -> CommandNode {
            CommandNode(name, summary, declarations.map { command($0, in: name) })
        }
        return CommandNode(
            "entitled", "Receive App Store notifications, keep subscriber records, send webhooks.",
            [
                command(ProcessDeclarations.run), command(ProcessDeclarations.ingest),
                command(ProcessDeclarations.worker), command(ProcessDeclarations.api),
                command(ProcessDeclarations.migrate),
                command(VerifyOptions.declaration),
                group("endpoints", "Manage webhook endpoints.", EndpointOptions.declarations),
                group("secrets", "Manage the keys that encrypt endpoint secrets.", SecretOptions.declarations),
                group("notifications", "Inspect and reprocess notifications.", NotificationOptions.declarations),
                group("deliveries", "Inspect and resend webhook deliveries.", DeliveryOptions.declarations),
                group(
                    "customers", "Inspect and change customers.",
                    [
                        CustomerOptions.declaration, CustomerActionOptions.list, CustomerActionOptions.alias,
                        CustomerActionOptions.transfer, CustomerActionOptions.restoreBehavior, PrivacyOptions.delete,
                        PrivacyOptions.deletions, PrivacyOptions.export, GrantOptions.grant, GrantOptions.revoke,
                    ]),
                group("purchases", "Inspect and claim purchases.", [PurchaseOptions.list, PurchaseOptions.claim]),
                group("products", "Inspect products.", [PurchaseOptions.products]),
                group("catalog", "Check products, entitlements and offerings.", [CatalogOptions.check]),
                group("keys", "Manage API keys.", KeyOptions.declarations),
                group("apple", "Query Apple's App Store Server API.", AppleOptions.declarations),
                group("replay", "Resend webhooks or refetch Apple's notification history.", ReplayOptions.declarations),
                command(ImportOptions.declaration),
                group("refunds", "Answer Apple's consumption requests.", RefundOptions.declarations),
                command(ReportOptions.declaration),
                command(ListenOptions.declaration), command(RebuildOptions.declaration),
                command(DoctorOptions.declaration),
                CommandNode(CheckConfigCommand.self), CommandNode(VersionCommand.self),
            ])
    }
}
