import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers …`: subscribers and what they have.
enum CustomerCommands {
    struct Show: Command {
        static let declaration = CustomerOptions.declaration
        private let options: CustomerOptions

        init(_ parsed: ParsedArguments) {
            options = CustomerOptions(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.api)
            let foldSettings = configuration.foldSettings
            let customer = try CustomerArgument(options.anyID, for: .reading, on: connection)
            guard let found = try CustomerQuery.find(customer.id, foldSettings: foldSettings, on: connection) else {
                throw CommandFailure("no customer is known by \(options.anyID)")
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
            let timeline = try TimelineQuery.timeline(
                of: found.purchases.map(\.key), appUserIDs: found.customer.appUserIDs,
                patience: configuration.worker.expiryPatience.milliseconds, foldSettings: foldSettings, now: now,
                order: options.order, on: connection)
            if context.json {
                let documents = Documents(configuration, found, profile, now: now)
                context.terminal.document(documents.json(explanation, timeline).naming([customer]))
            } else {
                if let note = customer.note { context.terminal.print(Terminal.harmless(note) + "\n\n") }
                let page = CustomerPage(
                    explanation, timeline, spending: Spending(found.purchases),
                    limit: options.wantsAll ? nil : Show.limit, skipping: options.skipped,
                    isBold: context.terminal.isInteractive, on: context.terminal.screen)
                context.terminal.print(page.text)
            }
            return 0
        }

        /// How much of what happened is shown unless all of it is asked for.
        private static let limit = 50
    }

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
