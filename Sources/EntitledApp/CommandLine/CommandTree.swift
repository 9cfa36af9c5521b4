import CLI

/// All commands.
package enum CommandTree {
    package static let root: CommandNode<CommandContext> = CommandNode(
        "entitled", "Receive App Store notifications, keep subscriber records, send webhooks.",
        [
            CommandNode(RunCommand.self), CommandNode(IngestCommand.self), CommandNode(WorkerCommand.self),
            CommandNode(APICommand.self), CommandNode(ConsoleCommand.self), CommandNode(MigrateCommand.self),
            CommandNode(VerifyCommand.self),
            CommandNode(
                "endpoints", "Manage webhook endpoints.",
                [
                    EndpointAddCommand.self, EndpointUpdateCommand.self, EndpointListCommand.self,
                    EndpointShowCommand.self, EndpointEnableCommand.self, EndpointDisableCommand.self,
                    EndpointRotateSecretCommand.self, EndpointTestCommand.self, EndpointRemoveCommand.self,
                ]),
            CommandNode(
                "secrets", "Manage the keys that encrypt endpoint secrets.",
                [SecretRewrapCommand.self, SecretResetCommand.self]),
            CommandNode(
                "notifications", "Inspect and reprocess notifications.",
                [NotificationListCommand.self, NotificationShowCommand.self, NotificationReprocessCommand.self]),
            CommandNode("events", "Inspect events.", [EventListCommand.self, EventShowCommand.self]),
            CommandNode(
                "deliveries", "Inspect and resend webhook deliveries.",
                [DeliveryListCommand.self, DeliveryShowCommand.self, DeliveryResendCommand.self]),
            CommandNode(
                "customers", "Inspect and change customers.",
                [
                    CustomerShowCommand.self, CustomerListCommand.self, CustomerAliasCommand.self,
                    CustomerTransferCommand.self, CustomerRestoreBehaviorCommand.self, CustomerDeleteCommand.self,
                    CustomerDeletionsCommand.self, CustomerExportCommand.self, CustomerGrantCommand.self,
                    CustomerRevokeGrantCommand.self,
                ]),
            CommandNode(
                "purchases", "Inspect and claim purchases.", [PurchaseListCommand.self, PurchaseClaimCommand.self]),
            CommandNode("products", "Inspect products.", [ProductListCommand.self]),
            CommandNode("catalog", "Check products, entitlements and offerings.", [CatalogCheckCommand.self]),
            CommandNode(
                "keys", "Manage API keys.", [KeyCreateCommand.self, KeyListCommand.self, KeyRevokeCommand.self]),
            CommandNode(
                "users", "Manage operators and their keys.",
                [
                    UserAddCommand.self, UserListCommand.self, UserLinkCommand.self, UserPasswordCommand.self,
                    UserSessionsCommand.self, UserRevokeCommand.self, UserKeyCommand.self, UserRemoveCommand.self,
                ]),
            CommandNode(
                "apple", "Query Apple's App Store Server API.",
                [
                    AppleOrderCommand.self, AppleStatusCommand.self, AppleRefundsCommand.self,
                    AppleTransactionsCommand.self, AppleExtendCommand.self, AppleExtendAllCommand.self,
                    AppleTestNotificationCommand.self,
                ]),
            CommandNode(
                "replay", "Resend webhooks or refetch Apple's notification history.",
                [
                    ReplayHistoryCommand.self, ReplayWebhooksCommand.self, ReplayListCommand.self,
                    ReplayShowCommand.self, ReplayCancelCommand.self,
                ]),
            CommandNode(ImportCommand.self), CommandNode(CompareCommand.self),
            CommandNode(
                "export", "Export tables for analysts.",
                [ExportTransactionsCommand.self, ExportCustomersCommand.self]),
            CommandNode(
                "journal", "Keep what no history of Apple's gives back, and apply it after a restore.",
                [JournalExportCommand.self, JournalApplyCommand.self]),
            CommandNode(
                "refunds", "Answer Apple's consumption requests.", [RefundListCommand.self, RefundAnswerCommand.self]),
            CommandNode(ReportCommand.self), CommandNode(ListenCommand.self), CommandNode(RebuildCommand.self),
            CommandNode(RetentionCommand.self), CommandNode(BackupCommand.self), CommandNode(RestoreCommand.self),
            CommandNode(UpgradePostgresCommand.self), CommandNode(DoctorCommand.self),
            CommandNode(CheckConfigCommand.self), CommandNode(VersionCommand.self),
        ])
}
