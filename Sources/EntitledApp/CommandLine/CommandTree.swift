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
            "entitled", "Takes the App Store's notifications, keeps subscriber records, sends webhooks.",
            [
                command(ProcessDeclarations.run), command(ProcessDeclarations.ingest),
                command(ProcessDeclarations.worker), command(ProcessDeclarations.api),
                command(ProcessDeclarations.migrate),
                command(VerifyOptions.declaration),
                group("endpoints", "The consumers of webhooks.", EndpointOptions.declarations),
                group("secrets", "The keys that encrypt the secrets of endpoints.", SecretOptions.declarations),
                group("notifications", "What Apple sent.", NotificationOptions.declarations),
                group("deliveries", "Webhooks on their way to consumers.", DeliveryOptions.declarations),
                group(
                    "customers", "Subscriber records.",
                    [
                        CustomerOptions.declaration, CustomerActionOptions.list, CustomerActionOptions.alias,
                        CustomerActionOptions.transfer, CustomerActionOptions.restoreBehavior, PrivacyOptions.delete,
                        PrivacyOptions.deletions, PrivacyOptions.export, GrantOptions.grant, GrantOptions.revoke,
                    ]),
                group("purchases", "What was bought.", [PurchaseOptions.list, PurchaseOptions.claim]),
                group("products", "Products that were bought.", [PurchaseOptions.products]),
                group("catalog", "What is sold, and what it gives.", [CatalogOptions.check]),
                group("keys", "Who may ask by REST.", KeyOptions.declarations),
                group("apple", "What Apple knows, by its App Store Server API.", AppleOptions.declarations),
                group("replay", "Sending again, and fetching again, what was missed.", ReplayOptions.declarations),
                group("refunds", "What Apple asks before it decides on a refund.", RefundOptions.declarations),
                command(ReportOptions.declaration),
                command(ListenOptions.declaration), command(RebuildOptions.declaration),
                command(DoctorOptions.declaration),
                CommandNode(CheckConfigCommand.self), CommandNode(VersionCommand.self),
            ])
    }
}
