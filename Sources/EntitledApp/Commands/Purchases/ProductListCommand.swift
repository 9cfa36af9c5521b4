import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled products list`.
struct ProductListCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "list", "List purchased products and their entitlements.", examples: ["products list --unmapped"])

    @Flag("--unmapped", "Only products that belong to no entitlement.") private var isUnmapped: Bool

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
