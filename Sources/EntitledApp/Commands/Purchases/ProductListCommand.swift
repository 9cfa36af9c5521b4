import Base
import CLI
import Customers
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled products list`.
struct ProductListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List purchased products and their entitlements.", examples: ["products list --unmapped"])

    @Flag("--unmapped", "Only products that belong to no entitlement.") private var isUnmapped: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        let all = try context.remote?.all(["products"]).items ?? products(context)
        let rows = all.filter { !isUnmapped || $0["entitlements"]?.arrayValue?.isEmpty == true }
        guard !context.json else {
            context.terminal.document(.object(["products": .array(rows)]))
            return 0
        }
        guard !rows.isEmpty else {
            context.terminal.print(
                isUnmapped ? "every product that was bought gives an entitlement" : "no products")
            return 0
        }
        var table = TextTable(["product", "type", .prose("gives"), .time("first seen"), "where"])
        for row in rows {
            table.add(
                ["product_id", "type", "entitlements", "first_seen"].map(row.cell) + [
                    "\(row.cell("app")), \(row.cell("environment"))"
                ])
        }
        context.terminal.table(table)
        return 0
    }

    private func products(_ context: CommandContext) throws -> [JSON] {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        return try ProductTable.list(on: connection).map { product, firstSeen in
            ProductRow(
                product: product, firstSeen: firstSeen,
                entitlements: configuration.catalogue.entitlements(of: product.productID)
            ).json
        }
    }
}
