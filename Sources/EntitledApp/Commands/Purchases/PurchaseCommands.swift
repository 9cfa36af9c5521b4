import Base
import CLI
import Customers
import Database
import Schemas
import Subscriptions

/// `entitled purchases …`: what was bought, and by whom.
enum PurchaseCommands {
    struct List: Command {
        static let declaration = PurchaseOptions.list
        private let options: PurchaseOptions.List

        init(_ parsed: ParsedArguments) {
            options = PurchaseOptions.List(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.api)
            let found = try PurchaseQuery.list(
                isUnclaimed: options.isUnclaimed, app: options.app, environment: options.environment,
                atMost: options.limit, foldSettings: configuration.foldSettings, on: connection)
            let now = SystemClock().now()
            let summary = PurchaseSummary(catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule)
            let rows = found.map { item in
                JSON.object(
                    (summary.row(item.purchase, ofCustomer: item.customer.appUserIDs, now: now).members ?? [])
                        + [JSON.Member(name: "app_user_id", value: .string(item.owner))])
            }
            if context.json {
                context.terminal.document(.object(["purchases": .array(rows)]))
                return 0
            }
            guard !rows.isEmpty else {
                context.terminal.print(options.isUnclaimed ? "no unclaimed purchases" : "no purchases")
                return 0
            }
            var table = TextTable([
                "product", "status", .time("until"), .id("app user id"), .key("original transaction"), "where",
            ])
            for row in rows {
                func text(_ name: String) -> String { row[name]?.stringValue ?? "" }
                let until = row["grace_expires_at"]?.stringValue ?? row["expires_at"]?.stringValue
                table.add([
                    text("product_id"), text("status"), until ?? "forever", text("app_user_id"),
                    text("original_transaction_id"), "\(text("app")), \(text("environment"))",
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }

    struct Claim: Command {
        static let declaration = PurchaseOptions.claim
        private let options: PurchaseOptions.Claim

        init(_ parsed: ParsedArguments) {
            options = PurchaseOptions.Claim(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let keys = try PurchaseQuery.keys(
                of: options.purchase, app: options.app, environment: options.environment, on: connection)
            guard let key = keys.first else {
                throw CommandFailure("there is no purchase with the id \(options.purchase)")
            }
            guard keys.count == 1 else {
                let places = keys.map { "\($0.originalTransactionID) (\($0.app), \($0.environment.rawValue))" }
                throw CommandFailure(
                    "\(options.purchase) is in \(places.joined(separator: " and ")): say which with --app and "
                        + "--environment, or by the original transaction id")
            }
            let claimant = try CustomerArgument(
                options.customer, for: .receiving(mayCreate: options.mayCreate), on: connection)
            let claim = try CustomerActions(configuration, context, reason: options.reason).claim(
                key, by: claimant.id, settings: configuration.restoreSettings, on: connection)
            tell(claim, key, by: claimant, context)
            return 0
        }

        private func tell(
            _ claim: CustomerActions.Claim, _ key: PurchaseKey, by claimant: CustomerArgument, _ context: CommandContext
        ) {
            let customer = Terminal.harmless(claimant.id)
            let (outcome, line): (String, String)
            var more = JSON.object([])
            switch claim {
            case .theirs:
                (outcome, line) = ("theirs", "\(customer) had it before")
            case .joined(let alias):
                let ids = Terminal.harmless(alias.appUserIDs.joined(separator: ", "))
                (outcome, line) = ("joined", "\(customer) and the former owner are one customer now: \(ids)")
                more = .object(["app_user_ids": .strings(alias.appUserIDs)])
            case .moved(let transfer):
                (outcome, line) = ("moved", transfer.line(to: claimant.id))
                more = transfer.document
            }
            if context.json {
                let members = JSON.object([
                    "outcome": .string(outcome), "purchase": key.document, "app_user_id": .string(claimant.id),
                ])
                context.terminal.document(
                    JSON.object((members.members ?? []) + (more.members ?? [])).naming([claimant]))
            } else {
                [claimant].tell(context.terminal)
                context.terminal.print(line)
            }
        }
    }

    struct Products: Command {
        static let declaration = PurchaseOptions.products
        private let isUnmapped: Bool

        init(_ parsed: ParsedArguments) {
            isUnmapped = parsed.has("--unmapped")
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.api)
            let found = try ProductTable.list(on: connection).map { product, firstSeen in
                (
                    product: product, firstSeen: firstSeen,
                    gives: configuration.catalogue.entitlements(of: product.productID)
                )
            }.filter { !isUnmapped || $0.gives.isEmpty }
            if context.json {
                let rows = found.map { item in
                    JSON.object([
                        "product_id": .string(item.product.productID), "app": .string(item.product.app),
                        "environment": .string(item.product.environment.rawValue), "type": .string(item.product.kind),
                        "first_seen": .date(item.firstSeen), "entitlements": .strings(item.gives),
                    ])
                }
                context.terminal.document(.object(["products": .array(rows)]))
                return 0
            }
            guard !found.isEmpty else {
                context.terminal.print(
                    isUnmapped ? "every product that was bought gives an entitlement" : "no products")
                return 0
            }
            var table = TextTable(["product", "type", .prose("gives"), .time("first seen"), "where"])
            for item in found {
                table.add([
                    item.product.productID, item.product.kind, item.gives.joined(separator: ", "),
                    Timestamp.text(item.firstSeen), "\(item.product.app), \(item.product.environment.rawValue)",
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }
}
