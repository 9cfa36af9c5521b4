import Postgres

/// The personal data in the database. Every table is listed, and a test fails while a new one is
/// not: the author of a table decides what becomes of it when a customer asks for their data, or for their removal.
package enum PersonalDataMap {
    package enum Reach: Sendable, Equatable {
        /// Nothing in it is about a customer, and why.
        case nothing(String)
        /// Rows that belong to a customer by a column with one of the ids. Exported as they are under `member`; deleted in
        /// the transaction that deletes the customer.
        case customer(column: String, member: String)
        /// Rows that belong to a purchase by lane, app, environment and original transaction id, and say nothing else of
        /// who has it. Exported as they are under `member`; deleted where purchases are erased.
        case purchase(member: String)
        /// Exported and swept by code of its own: what that does.
        case particular(String)
    }

    package static let all: [String: Reach] = [
        "account": .nothing("Apple's ids of accounts, which tell no customer"),
        "account_due": .nothing("Apple's ids of accounts, until they are judged again"),
        "account_join": .particular("ids that are aliases; gone with the customer"),
        "account_lane": .nothing("where an account has purchases"),
        "account_look": .purchase(member: "account_looks"),
        "action": .particular("exported; ids get pseudonyms"),
        "api_key": .nothing("keys of apps and backends"),
        "app_post": .nothing("when posts of apps came in"),
        "app_user_id": .particular("exported; deleted"),
        "audit": .particular("what operators did; ids get pseudonyms"),
        "attempt": .particular("exported; answers are emptied, with erase deleted"),
        "change_kind": .nothing("what operators can ask for"),
        "console_link": .nothing("hashes of operators' log-in links"),
        "console_session": .nothing("browsers and addresses of operators"),
        "console_try": .nothing("names and networks of operators"),
        "console_user": .nothing("names of operators"),
        "customer": .particular("exported; deleted"),
        "customer_attribute": .customer(column: "app_user_id", member: "attributes"),
        "customer_note": .customer(column: "app_user_id", member: "notes"),
        "database_position": .nothing("how far the database is"),
        "database_sighting": .nothing("how far processes have seen it to be"),
        "deletion": .particular("the record of deletions; ids are there until everything is swept"),
        "deletion_delivery": .nothing("ids of deliveries, until what was on its way is settled"),
        "deletion_id": .particular("salted hashes, which must outlive the customer; nothing to export while they live"),
        "deletion_purchase": .particular("work that is left of a deletion; gone when it is swept"),
        "deletion_salt": .nothing("random bytes"),
        "delivery": .particular("exported; given up where nothing is left to send, with erase deleted"),
        "endpoint": .nothing("where events are sent to"),
        "endpoint_health": .nothing("how consumers are doing"),
        "endpoint_secret": .nothing("what requests are signed with"),
        "event": .particular("exported; ids get pseudonyms, attributes go; with erase only ids of events stay"),
        "event_copy": .particular("names events; exported with them, with erase deleted"),
        "fact": .particular("exported; account tokens go, with their signatures; with erase deleted"),
        "held_notification": .particular("exported with the notification; deleted"),
        "history_look": .nothing("how far Apple's history is scanned"),
        "job": .particular("changes of operators name customers; ids get pseudonyms"),
        "jws_header": .nothing("Apple's certificates"),
        "lane": .nothing("which worker has it"),
        "listening": .nothing("minutes in which we listened"),
        "migration_step": .nothing("how far migrations are"),
        "notification": .particular("exported; deleted where an account token is in it, with erase always"),
        "diverted_notification": .particular("in the log some seconds later; exported and deleted there"),
        "notification_key": .nothing("Apple's UUIDs of notifications, so that none is taken twice"),
        "operator_key": .nothing("hashes of operators' keys"),
        "owner_lane": .particular("where an id has purchases; gone with the customer"),
        "owner_setting": .nothing("what the configuration said"),
        "owner_salt": .nothing("random bytes"),
        "pending": .nothing("places of notifications; what they bring is redacted when it is applied"),
        "process": .nothing("which processes there are"),
        "product": .nothing("product ids"),
        "purchase": .particular("exported; gets an anonymous owner, with erase deleted"),
        "purchase_fold": .particular("what facts come to, once more; made again when they change, with erase deleted"),
        "purchase_identifier": .particular("exported; with erase deleted"),
        "purchase_snapshot": .particular("what facts say, once more, without whose it is; with erase deleted"),
        "rebuild": .particular("an unfinished one may stand at an id; it goes back to the beginning of its stage"),
        "refund_request": .purchase(member: "refund_requests"),
        "report_entitlement": .purchase(member: "report_entitlements"),
        "report_purchase": .purchase(member: "report_purchases"),
        "report_refresh": .nothing("how far reports are"),
        "report_transaction": .purchase(member: "report_transactions"),
        "schema_version": .nothing("migrations"),
        "sealing_key": .nothing("fingerprints of keys"),
        "sender": .nothing("hosts of workers"),
        "status_look": .purchase(member: "status_looks"),
        "worker": .nothing("hosts of workers"),
    ]

    /// Tables with rows of customers: name, column and member, in the order of their names.
    package static var ofCustomers: [(table: String, column: String, member: String)] {
        all.sorted { $0.key < $1.key }.compactMap { table, reach in
            if case .customer(let column, let member) = reach { (table, column, member) } else { nil }
        }
    }

    /// Tables with rows of purchases, and their members.
    package static var ofPurchases: [(table: String, member: String)] {
        all.sorted { $0.key < $1.key }.compactMap { table, reach in
            if case .purchase(let member) = reach { (table, member) } else { nil }
        }
    }

    /// Those of them that the schema has.
    package static func ofCustomers(
        on connection: PostgresConnection
    ) throws -> [(table: String, column: String, member: String)] {
        let names = try connection.query(selectExisting, [.texts(ofCustomers.map(\.table))]).map { try $0.text("name") }
        return ofCustomers.filter { names.contains($0.table) }
    }

    private static let selectExisting = """
        SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass('entitled.' || quote_ident(name)) IS NOT NULL
        """

    /// Those of them that the schema has: a program works with older schemas, which lack the newest ones.
    package static func ofPurchases(
        on connection: PostgresConnection
    ) throws -> [(table: String, member: String)] {
        let names = try connection.query(selectExisting, [.texts(ofPurchases.map(\.table))]).map { try $0.text("name") }
        return ofPurchases.filter { names.contains($0.table) }
    }
}
