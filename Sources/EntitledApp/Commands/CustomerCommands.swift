import Base
import Crypto
import Postgres
import Records
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
            guard let found = try CustomerReader.find(anyID: options.anyID, on: connection) else {
                throw CommandFailure("nobody is known by \(options.anyID)")
            }
            let now = SystemClock().now()
            let profile = CustomerProfile(
                originalAppUserID: found.customer.originalAppUserID, appUserIDs: found.customer.appUserIDs,
                firstSeen: found.customer.firstSeen, lastSeen: found.lastSeen)
            let purchases = PurchaseSummary(
                catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule
            ).json(found.purchases, of: profile, now: now)
            guard !context.json else {
                let document = SubscriberDocument(
                    catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule,
                    digest: { Digest.sha256(Array($0.utf8)) }
                ).json(customer: profile, purchases: found.purchases, now: now)
                let more = [
                    JSON.Member(name: "customer", value: profile.json),
                    JSON.Member(name: "purchases", value: purchases),
                ]
                context.terminal.document(.object((document.members ?? []) + more))
                return 0
            }
            show(profile, purchases, context.terminal)
            return 0
        }

        private func show(_ profile: CustomerProfile, _ purchases: JSON, _ terminal: Terminal) {
            terminal.print(
                """
                \(Terminal.harmless(profile.originalAppUserID))
                ids          \(Terminal.harmless(profile.appUserIDs.joined(separator: ", ")))
                first seen   \(Timestamp.text(profile.firstSeen))
                """)
            var table = TextTable(["product", "status", "until", "renews", "gives", "original transaction", "where"])
            for purchase in purchases.arrayValue ?? [] {
                func text(_ name: String) -> String { purchase[name]?.stringValue ?? "" }
                let gives = purchase["entitlements"]?.arrayValue?.compactMap(\.stringValue) ?? []
                let until = purchase["grace_expires_at"]?.stringValue ?? purchase["expires_at"]?.stringValue
                table.add([
                    text("product_id"), text("status"), until ?? "for ever",
                    purchase["will_renew"]?.boolValue == true ? "yes" : "no", gives.joined(separator: ", "),
                    text("original_transaction_id"), "\(text("app")), \(text("environment"))",
                ])
            }
            if !table.isEmpty { terminal.table(table) }
        }
    }
}
