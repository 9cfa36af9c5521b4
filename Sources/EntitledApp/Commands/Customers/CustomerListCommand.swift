import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers list`.
struct CustomerListCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "list", "List customers, newest first.", examples: ["customers list", "customers list --limit 1000 --json"])

    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let found = try CustomerQuery.list(atMost: limit, on: connection)
        if context.json {
            let rows = found.map { customer in
                JSON.object([
                    "original_app_user_id": .string(customer.originalAppUserID),
                    "app_user_ids": .strings(customer.appUserIDs), "anonymous": .bool(customer.isAnonymous),
                    "first_seen": .date(customer.firstSeen),
                ])
            }
            context.terminal.document(.object(["customers": .array(rows)]))
            return 0
        }
        guard !found.isEmpty else {
            context.terminal.print("no customers")
            return 0
        }
        var table = TextTable([.time("first seen"), .key("original app user id"), .prose("other ids")])
        for customer in found {
            table.add([
                Timestamp.text(customer.firstSeen), customer.originalAppUserID,
                customer.appUserIDs.filter { $0 != customer.originalAppUserID }.joined(separator: ", "),
            ])
        }
        context.terminal.table(table)
        return 0
    }
}
