import Base
import Database
import Postgres
import Subscriptions

/// Everything that is stored about a customer, as one JSON document; version 1:
///
/// ```
/// {"format":"entitled.customer-export","version":1,"exported_at":DATE,
///  "customer":{…},                       the row of the customer, settings among it
///  "app_user_ids":[{…}],                 every id, with when it was first seen
///  …                                     a list for each table with rows of customers, such as attributes
///  "actions":[{number,kind,at,actor,reason,app_user_id,other,detail}],
///  "transfers":[EVENT],                  what consumers were told of actions
///  "purchases":[{
///     "app","environment","original_transaction_id",
///     "record":{…}|null,                 what is known, as it is kept
///     "identifiers":[TEXT],
///     "facts":[{kind,signed_at,received_at,payload,signed}],
///                                        `signed`: the compact JWS of Apple, to be verified; null where there is none
///     "notifications":[{uuid,type,subtype,received_at,state,reason,payload,signed,deliveries:[DELIVERY]}],
///                                        `payload` with everything decoded that is signed inside
///     "events":[EVENT],
///     …}]}                               a list for each table with rows of purchases: account_looks, refund_requests, …
/// EVENT: {id,type,created_at,sequence,body,deliveries:[DELIVERY]}    body: null where it was kept long enough
/// DELIVERY: {id,endpoint,url,state,created_at,attempts:[{number,started_at,status,outcome,detail,peer,head,response}]}
/// ```
///
/// Dates are ISO 8601; rows of tables have their columns as members, times in them are ms since 1970 (`…_ms`). Members may
/// be added; what there is keeps its name and meaning while the version stays.
package struct CustomerExport: Sendable {
    package static let format = "entitled.customer-export"
    package static let version: Int64 = 1

    package init() {}

    private static let snapshot = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    /// Writes the document in pieces, all of one moment.
    ///
    /// - Parameters:
    ///   - id: an app user id of the customer, as it is.
    ///   - now: ms, for `exported_at`.
    /// - Returns: false where it names no customer; then nothing is written.
    package func write(
        of id: String, now: Int64, on connection: PostgresConnection, to sink: @escaping ([UInt8]) throws -> Void
    ) throws -> Bool {
        try connection.transaction(opening: [CustomerExport.snapshot]) { _ in
            guard let customer = try CustomerTable.load([id], on: connection)[id] else { return false }
            var writer = ExportWriter(sink)
            try writer.object { writer in
                try writer.put(.string(CustomerExport.format), "format")
                try writer.put(.int(CustomerExport.version), "version")
                try writer.put(.date(now), "exported_at")
                try identity(customer, &writer, on: connection)
                let keys = try PurchaseTable.owned(by: customer.appUserIDs, on: connection)
                let purchases = PurchaseExport()
                try log(customer, purchases, &writer, on: connection)
                try writer.list("purchases") { writer in
                    for key in keys { try purchases.write(key, &writer, on: connection) }
                }
            }
            try writer.end()
            return true
        }
    }

    private static let selectCustomer = """
        SELECT to_jsonb(c) AS document FROM entitled.customer c WHERE c.original_app_user_id = $1
        """
    private static let selectIDs = """
        SELECT to_jsonb(a) AS document FROM entitled.app_user_id a WHERE a.original_app_user_id = $1
        ORDER BY first_seen_ms, id
        """

    private func identity(
        _ customer: Customer, _ writer: inout ExportWriter, on connection: PostgresConnection
    ) throws {
        let root = PostgresValue.text(customer.originalAppUserID)
        try writer.put(
            row: try connection.query(CustomerExport.selectCustomer, [root]).one().bytes("document"), "customer")
        try writer.list("app_user_ids") { writer in
            for row in try connection.query(CustomerExport.selectIDs, [root]) {
                try writer.put(row: try row.bytes("document"))
            }
        }
        for (table, column, member) in try PersonalDataMap.ofCustomers(on: connection) {
            let rows = try connection.query(
                "SELECT to_jsonb(t) AS document FROM entitled.\(table) t WHERE t.\(column) = ANY($1::text[])",
                [.texts(customer.appUserIDs)])
            try writer.list(member) { writer in
                for row in rows { try writer.put(row: try row.bytes("document")) }
            }
        }
    }

    private func log(
        _ customer: Customer, _ purchases: PurchaseExport, _ writer: inout ExportWriter,
        on connection: PostgresConnection
    ) throws {
        let entries = try ActionTable.entries(naming: customer.appUserIDs, on: connection)
        try writer.list("actions") { writer in
            for entry in entries {
                try writer.put(
                    .object([
                        "number": .int(entry.number), "kind": .string(entry.kindName), "at": .date(entry.at),
                        "actor": .string(entry.origin.actor), "reason": .text(entry.origin.reason),
                        "app_user_id": .string(entry.appUserID), "other": .text(entry.other),
                        "detail": entry.detail ?? .null,
                    ]))
            }
        }
        try writer.list("transfers") { writer in
            try purchases.events(EventRedactor.transfers(of: entries), &writer, on: connection)
        }
    }
}
