import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers show`.
struct CustomerShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a customer: access and its reason, purchases, timeline and webhooks.",
        discussion:
            "The timeline is in the order of Apple's signatures and of actions, and each step shows what it changed in that"
            + " order. With --as-heard it is in the order of arrival, and each step shows what it changed when it arrived. With"
            + " --url, --json prints the answer of the operator API with `timeline` and `timeline_order` added: the newest 50"
            + " steps, newest first, or with --all every step.",
        examples: [
            "customers show user-42", "customers show '$RCAnonymousID:0123…' --json", "customers show 2000000123456789",
            "customers show user-42 --as-heard --since 24h", "customers show user-42 --skip 50",
        ])

    @Argument(CustomerIDs.any) var anyID: String
    @Flag("--all", "Show the whole timeline instead of the newest 50 steps; JSON always has it.")
    private var wantsAll: Bool
    @Option(
        "--skip", .integer(0...1_000_000_000, "N"), "Show the 50 steps before the newest N; not in JSON.")
    private var skipped: Int = 0
    @Option("--since", .moment, "Leave out steps of the timeline before this time.") private var since: TimeArgument?
    @Flag("--as-heard", "Order the timeline by arrival.") private var isAsHeard: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            guard skipped == 0 else { throw UsageError("--skip does not go with --url: --all shows every step") }
            return try AnsweredCustomer(
                of: anyID, order: isAsHeard ? .heard : .happened, since: since,
                steps: wantsAll ? 100_000 : CustomerShowCommand.limit, from: remote
            ).show(context)
        }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        let foldSettings = configuration.foldSettings
        let customer = try CustomerArgument(anyID, for: .reading, on: connection)
        guard let found = try CustomerQuery.find(customer.id, foldSettings: foldSettings, on: connection) else {
            throw CommandFailure("no customer has the id \(anyID)")
        }
        let now = SystemClock().now()
        let ids = found.customer.appUserIDs
        let attributes = try AttributeTable.load(ids, own: found.customer.originalAppUserID, on: connection).all
        let profile = CustomerProfile(
            originalAppUserID: found.customer.originalAppUserID, appUserIDs: ids,
            firstSeen: found.customer.firstSeen, lastSeen: found.lastSeen, attributes: attributes.json)
        let explanation = CustomerExplanation(
            profile, found.purchases, catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule,
            now: now)
        let whole = try TimelineQuery.timeline(
            of: found.purchases.map(\.key), appUserIDs: found.customer.appUserIDs,
            patience: configuration.worker.expiryPatience.milliseconds, foldSettings: foldSettings, now: now,
            order: isAsHeard ? .heard : .happened, on: connection)
        let timeline = since.map { whole.since($0.milliseconds(now: now)) } ?? whole
        if context.json {
            let documents = Documents(configuration, found, profile, now: now)
            context.terminal.document(documents.json(explanation, timeline).naming([customer]))
        } else {
            if let note = customer.note { context.terminal.print(Terminal.harmless(note) + "\n\n") }
            let page = CustomerPage(
                explanation, timeline, spending: Spending(found.purchases),
                limit: wantsAll ? nil : CustomerShowCommand.limit, skipping: skipped,
                isBold: context.terminal.isInteractive, on: context.terminal.screen)
            context.terminal.print(page.text)
        }
        return 0
    }

    /// How much of what happened is shown unless all of it is asked for.
    private static let limit = 50

    /// The same for programs.
    private struct Documents {
        let configuration: Configuration
        let found: CustomerQuery.Found
        let profile: CustomerProfile
        let now: Int64

        init(_ configuration: Configuration, _ found: CustomerQuery.Found, _ profile: CustomerProfile, now: Int64) {
            (self.configuration, self.found, self.profile, self.now) = (configuration, found, profile, now)
        }

        /// RevenueCat's document, and what it has no place for.
        func json(_ explanation: CustomerExplanation, _ timeline: Timeline) -> JSON {
            let document = SubscriberDocument(
                catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule
            ).json(customer: profile, purchases: found.purchases, now: now)
            let purchases = PurchaseSummary(
                catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule
            ).json(found.purchases, of: profile, now: now)
            let more = [
                JSON.Member(name: "customer", value: profile.json),
                JSON.Member(name: "purchases", value: purchases),
                JSON.Member(name: "spending", value: Spending(found.purchases).json),
                JSON.Member(name: "entitlements", value: explanation.entitlementsJSON),
                JSON.Member(name: "timeline", value: timeline.json),
                JSON.Member(name: "timeline_order", value: .string(timeline.order.rawValue)),
            ]
            return .object((document.members ?? []) + more)
        }
    }
}
