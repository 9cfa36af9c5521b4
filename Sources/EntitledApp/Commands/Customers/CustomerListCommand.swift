import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers list`.
struct CustomerListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List customers, newest first.",
        examples: ["customers list --since 24h", "customers list --limit 1000 --json"])

    @OptionGroup private var part: ListPageOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            let list = try part.list(["customers"], [], of: remote)
            part.show("customers", list, CustomerListCommand.table(list.items), context)
            return 0
        }
        let now = SystemClock().now()
        let range = try part.range(["customers"], now: now)
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let page = try CustomerQuery.list(range, now: now, on: connection)
        let rows = page.rows.map { customer in
            JSON.object([
                "original_app_user_id": .string(customer.originalAppUserID),
                "app_user_ids": .strings(customer.appUserIDs), "anonymous": .bool(customer.isAnonymous),
                "first_seen": .date(customer.firstSeen),
            ])
        }
        part.show("customers", rows, CustomerListCommand.table(rows), next: part.next(page, ["customers"]), context)
        return 0
    }

    private static func table(_ customers: [JSON]) -> TextTable {
        var table = TextTable([.time("first seen"), .key("original app user id"), .prose("other ids")])
        for customer in customers {
            let original = customer.cell("original_app_user_id")
            let ids = (customer["app_user_ids"]?.arrayValue ?? []).compactMap(\.stringValue)
            table.add([
                customer.cell("first_seen"), original, ids.filter { $0 != original }.joined(separator: ", "),
            ])
        }
        return table
    }
}
