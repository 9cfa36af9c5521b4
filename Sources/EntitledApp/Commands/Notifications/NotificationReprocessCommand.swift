import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled notifications reprocess`.
struct NotificationReprocessCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "reprocess", "Apply a notification again, or release a held one.",
        discussion:
            "Applying a notification that was applied before changes nothing and sends nothing. \(MatchingOptions.help)"
            + " \(ChangeOptions.help)",
        examples: [
            "notifications reprocess 002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            "notifications reprocess --matching --state held --since 7d --preview",
        ])

    @Argument(.text("UUID"), "The notificationUUID.") private var uuid: String?
    @Option("--app", .text("ID"), "Only of this app; needed if two have the UUID.") private var app: String?
    @Option("--environment", .environment, "Only of this environment; needed if two have the UUID.")
    private var environment: StoreEnvironment?
    @OptionGroup private var matching: MatchingOptions
    @Option(
        "--state", .choice(of: NotificationState.self, "STATE"), "With --matching, only notifications in this state.")
    private var state: NotificationState?
    @Option("--type", .text("TYPE"), "With --matching, only notifications of this type.") private var type: String?
    @Option("--subtype", .text("SUBTYPE"), "With --matching, only notifications of this subtype.")
    private var subtype: String?
    @Option(
        "--purchase", .text("ID"),
        "With --matching, only notifications about the purchase of this original transaction id.")
    private var purchase: String?
    @Option("--since", .moment, "With --matching, start of the period, inclusive.") private var since: TimeArgument?
    @Option("--until", .moment, "With --matching, end of the period, exclusive.") private var until: TimeArgument?
    @OptionGroup private var change: ChangeOptions

    private struct Target: NotificationNaming {
        let uuid: String
        let app: String?
        let environment: StoreEnvironment?
    }

    private var narrower: [(name: String, value: String?)] {
        [
            ("state", state?.rawValue), ("type", type), ("subtype", subtype), ("purchase", purchase),
            ("since", since?.text), ("until", until?.text),
        ]
    }

    private var filters: [(name: String, value: String?)] {
        narrower + [("app", app), ("environment", environment?.rawValue)]
    }

    func validate() throws {
        try matching.check(uuid, named: "UUID", filters)
        if !matching.isGiven, let lonely = narrower.first(where: { $0.value != nil }) {
            throw UsageError("a filter such as --\(lonely.name.replacing("_", with: "-")) needs --matching")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        guard let uuid else {
            return try matching.ask(
                .reprocess, filters, verb: "Process again", words: "notifications reprocess", change, context)
        }
        let target = Target(uuid: uuid, app: app, environment: environment)
        if let remote = context.remote {
            return try change.ask(remote, try target.path(of: remote) + ["reprocess"], context)
        }
        try change.checkLocal()
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let outcome = try NotificationRepair.reprocess(
            uuid: target.uuid, app: target.app, environment: target.environment, on: connection)
        switch outcome {
        case .notFound: throw target.notFound
        case .ambiguous(let places): throw target.ambiguous(places)
        case .dropped(let received): throw target.dropped(received)
        case .queued: break
        }
        if context.json {
            context.terminal.document(.object(["uuid": .string(target.uuid), "state": .string("pending")]))
        } else {
            context.terminal.print("\(target.uuid) is pending and will be applied again")
        }
        return 0
    }
}
