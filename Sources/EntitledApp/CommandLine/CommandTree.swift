import CLI

/// All commands.
package enum CommandTree {
    private typealias Group = CommandNode<CommandContext>

    package static let root: CommandNode<CommandContext> = CommandNode(
        "entitled", "Receive App Store notifications, keep subscriber records, send webhooks.", all)

    private static let all: [CommandNode<CommandContext>] = [
        Group(RunCommand.self),
        Group(IngestCommand.self),
        Group(WorkerCommand.self),
        Group(APICommand.self),
        Group(ConsoleCommand.self),
        Group(SetupCommand.self),
        Group(MigrateCommand.self),
        Group(VerifyCommand.self),
        Group(StatusCommand.self),
        Group(SearchCommand.self),
        endpointsGroup,
        secretsGroup,
        notificationsGroup,
        eventsGroup,
        deliveriesGroup,
        customersGroup,
        notesGroup,
        purchasesGroup,
        productsGroup,
        catalogGroup,
        keysGroup,
        usersGroup,
        appleGroup,
        replayGroup,
        jobsGroup,
        outagesGroup,
        actionsGroup,
        auditGroup,
        Group(ImportCommand.self),
        Group(CompareCommand.self),
        exportGroup,
        journalGroup,
        refundsGroup,
        Group(ReportCommand.self),
        chartsGroup,
        Group(ListenCommand.self),
        Group(RebuildCommand.self),
        Group(RetentionCommand.self),
        Group(BackupCommand.self),
        Group(RestoreCommand.self),
        Group(UpgradePostgresCommand.self),
        Group(DoctorCommand.self),
        Group(CheckConfigCommand.self),
        Group(VersionCommand.self),
    ]

    private static let endpointsGroup = Group(
        "endpoints", "Manage webhook endpoints.",
        [
            EndpointAddCommand.self,
            EndpointUpdateCommand.self,
            EndpointListCommand.self,
            EndpointShowCommand.self,
            EndpointEnableCommand.self,
            EndpointDisableCommand.self,
            EndpointPauseCommand.self,
            EndpointRotateSecretCommand.self,
            EndpointTestCommand.self,
            EndpointRemoveCommand.self,
        ])

    private static let secretsGroup = Group(
        "secrets", "Manage the keys that encrypt endpoint secrets.",
        [
            SecretRewrapCommand.self,
            SecretResetCommand.self,
        ])

    private static let notificationsGroup = Group(
        "notifications", "Inspect and reprocess notifications.",
        [
            NotificationListCommand.self,
            NotificationShowCommand.self,
            NotificationReprocessCommand.self,
        ])

    private static let eventsGroup = Group(
        "events", "Inspect events.",
        [
            EventListCommand.self,
            EventShowCommand.self,
        ])

    private static let deliveriesGroup = Group(
        "deliveries", "Inspect and resend webhook deliveries.",
        [
            DeliveryListCommand.self,
            DeliveryShowCommand.self,
            DeliveryResendCommand.self,
        ])

    private static let customersGroup = Group(
        "customers", "Inspect and change customers.",
        [
            CustomerShowCommand.self,
            CustomerListCommand.self,
            CustomerAliasCommand.self,
            CustomerTransferCommand.self,
            CustomerRestoreBehaviorCommand.self,
            CustomerDeleteCommand.self,
            CustomerDeletionsCommand.self,
            CustomerExportCommand.self,
            CustomerGrantCommand.self,
            CustomerRevokeGrantCommand.self,
        ])

    private static let notesGroup = Group(
        "notes", "Read and write notes on customers.",
        [
            NoteListCommand.self,
            NoteAddCommand.self,
            NoteRemoveCommand.self,
        ])

    private static let purchasesGroup = Group(
        "purchases", "Inspect and claim purchases.",
        [
            PurchaseListCommand.self,
            PurchaseShowCommand.self,
            PurchaseClaimCommand.self,
            PurchasePollCommand.self,
            OrderLookupCommand.self,
        ])

    private static let chartsGroup = Group(
        "charts", "Show numbers over time.",
        [
            ChartListCommand.self,
            ChartShowCommand.self,
        ])

    private static let productsGroup = Group(
        "products", "Inspect products.",
        [
            ProductListCommand.self
        ])

    private static let catalogGroup = Group(
        "catalog", "Check products, entitlements and offerings.",
        [
            CatalogCheckCommand.self
        ])

    private static let keysGroup = Group(
        "keys", "Manage API keys.",
        [
            KeyCreateCommand.self,
            KeyListCommand.self,
            KeyRevokeCommand.self,
        ])

    private static let usersGroup = Group(
        "users", "Manage operators and their keys.",
        [
            UserAddCommand.self,
            UserListCommand.self,
            UserLinkCommand.self,
            UserPasswordCommand.self,
            UserSessionsCommand.self,
            UserRevokeCommand.self,
            UserKeyCommand.self,
            UserRemoveCommand.self,
        ])

    private static let appleGroup = Group(
        "apple", "Query Apple's App Store Server API.",
        [
            AppleOrderCommand.self,
            AppleStatusCommand.self,
            AppleRefundsCommand.self,
            AppleTransactionsCommand.self,
            AppleExtendCommand.self,
            AppleExtendAllCommand.self,
            AppleTestNotificationCommand.self,
        ])

    private static let replayGroup = Group(
        "replay", "Resend webhooks or refetch Apple's notification history.",
        [
            ReplayHistoryCommand.self,
            ReplayWebhooksCommand.self,
            ReplayListCommand.self,
            ReplayShowCommand.self,
            ReplayCancelCommand.self,
        ])

    private static let jobsGroup = Group(
        "jobs", "Inspect and cancel jobs.",
        [
            JobListCommand.self,
            JobShowCommand.self,
            JobCancelCommand.self,
        ])

    private static let outagesGroup = Group(
        "outages", "Inspect the times in which no notification could be stored.",
        [
            OutageListCommand.self,
            OutageShowCommand.self,
        ])

    private static let actionsGroup = Group(
        "actions", "Inspect actions on customers.",
        [
            ActionListCommand.self
        ])

    private static let auditGroup = Group(
        "audit", "Inspect the changes that operators requested.",
        [
            AuditListCommand.self
        ])

    private static let exportGroup = Group(
        "export", "Export tables for analysts.",
        [
            ExportTransactionsCommand.self,
            ExportCustomersCommand.self,
        ])

    private static let journalGroup = Group(
        "journal", "Save what Apple's history cannot restore, and apply it after a restore.",
        [
            JournalExportCommand.self,
            JournalApplyCommand.self,
        ])

    private static let refundsGroup = Group(
        "refunds", "Answer Apple's consumption requests.",
        [
            RefundListCommand.self,
            RefundAnswerCommand.self,
        ])
}
