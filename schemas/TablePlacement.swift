/// Where a table lies when the database is a Citus cluster instead of one Postgres: what a statement may join, and what a
/// transaction may change on one server, follows from it.
package enum TablePlacement: String, Sendable, Equatable {
    /// Distributed by `lane`: the rows of a lane are in the same shard in all of these tables.
    case distributed
    /// Whole on each node.
    case reference
    /// On the coordinator, in the cluster's metadata, so that a change of it commits with those of a shard or not at all.
    case managed
    /// On the coordinator; never changed together with a shard.
    case separate

    /// Of every table of the schema. Partitions lie where their table does.
    package static let tables: [String: TablePlacement] = {
        var tables: [String: TablePlacement] = [:]
        for (placement, names) in lists {
            for name in names { tables[name] = placement }
        }
        return tables
    }()

    /// The tables with this placement, in the order in which they are placed: `lane` is the first one.
    package static func names(_ placement: TablePlacement) -> [String] {
        lists.first { $0.0 == placement }?.1 ?? []
    }

    private static let lists: [(TablePlacement, [String])] = [
        (
            .distributed,
            [
                "lane", "pending", "held_notification", "notification", "notification_key", "fact", "purchase",
                "purchase_fold", "purchase_identifier", "purchase_snapshot", "event", "event_copy", "delivery",
                "attempt", "refund_request", "status_look", "account_look", "report_purchase", "report_transaction",
                "report_entitlement",
            ]
        ),
        // Few rows, read with notifications; written before what names them.
        (.reference, ["jws_header"]),
        // Identities change rarely beside a shard. The lanes of work lists (`deletion_purchase`, `rebuild`) are what is to be done, and
        // not where they lie.
        (
            .managed,
            [
                "action", "history_look", "product", "customer", "app_user_id", "customer_attribute", "customer_note",
                "account", "account_join", "account_due", "account_lane", "owner_lane", "owner_setting", "owner_salt",
                "app_post", "sender",
                "endpoint", "endpoint_secret", "endpoint_health", "sealing_key", "api_key", "job", "rebuild",
                "change_kind", "deletion",
                "deletion_purchase", "deletion_delivery", "deletion_id", "deletion_salt", "console_user",
                "operator_key",
                "console_session", "console_link", "console_try", "audit", "report_refresh",
            ]
        ),
        // What says that a process lives is judged by the clock of each moment, which managed tables may not be. What is diverted from
        // the log is written while the others are placed.
        (
            .separate,
            [
                "diverted_notification", "listening", "worker", "process", "database_position", "database_sighting",
                "schema_version",
                "migration_step",
            ]
        ),
    ]
}
