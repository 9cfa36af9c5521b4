import Base
import CLI
import Customers
import Schemas

/// `entitled export customers`.
struct ExportCustomersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "customers", "Export customers and their ids.",
        discussion:
            "One row for each customer who was first seen in the period, with or without purchases. The columns are"
            + " named as those of `export transactions`; aliases is a JSON array of all ids.",
        examples: ["export customers --output customers.csv", "export customers --from 7d --attributes"])

    @OptionGroup private var output: FeedOutput

    func run(_ context: CommandContext) throws -> Int32 {
        let seen = try output.time()
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let feed = CustomerFeed(seen: seen, showsAttributes: output.showsAttributes)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        return try output.write("customers", CustomerFeed.columns, context) { write in
            let count = try feed.run(on: connection, progress: { bar.show($0, "\($1) rows") }, write: write)
            bar.clear()
            return count
        }
    }
}
