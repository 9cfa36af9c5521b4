/// The privileges of the processes' roles: the only statement of grants from migration 25 on.
///
/// `PrivilegeGranting` brings a database to this table, `entitled doctor` compares the roles with it, and
/// `schemas/schema.sql` shows it beside the tables. Add a table here in the commit that adds its migration; a migration
/// itself grants nothing. Owners keep what owning gives them, and roles of an operator's own are not concerned.
package enum Privileges {
    /// One privilege on an object, for some of its columns or for the whole of it.
    package struct Verb: Sendable, Equatable {
        package let name: String
        /// Empty: the whole object.
        package let columns: [String]

        static let select = Verb(name: "SELECT", columns: [])
        static let insert = Verb(name: "INSERT", columns: [])
        static let update = Verb(name: "UPDATE", columns: [])
        static let delete = Verb(name: "DELETE", columns: [])

        static func select(columns: String...) -> Verb { Verb(name: "SELECT", columns: columns) }
        static func insert(columns: String...) -> Verb { Verb(name: "INSERT", columns: columns) }
        static func update(columns: String...) -> Verb { Verb(name: "UPDATE", columns: columns) }
    }

    /// What the roles may do with one table.
    package struct Table: Sendable {
        package let name: String
        package let ingest: [Verb]
        package let worker: [Verb]
        package let api: [Verb]
        package let console: [Verb]

        /// - Parameter console: nil: it reads what the api reads.
        init(_ name: String, ingest: [Verb] = [], worker: [Verb], api: [Verb], console: [Verb]? = nil) {
            self.name = name
            self.ingest = ingest
            self.worker = worker
            self.api = api
            self.console = console ?? api.filter { $0.name == Verb.select.name }
        }

        package func verbs(_ role: DatabaseRole) -> [Verb] {
            switch role {
            case .ingest: ingest
            case .worker: worker
            case .api: api
            case .console: console
            }
        }

        /// The same where tables are distributed over a cluster: its coordinator adds whole rows, so a role that adds some columns takes
        /// the defaults of others as its own.
        package func verbs(_ role: DatabaseRole, isDistributed: Bool) -> [Verb] {
            let verbs = verbs(role)
            guard isDistributed, let columns = Privileges.defaults[name],
                verbs.contains(where: { $0.name == Verb.insert.name && !$0.columns.isEmpty })
            else { return verbs }
            return verbs + [Verb(name: Verb.insert.name, columns: columns)]
        }
    }

    /// Columns with a default, of tables on a cluster to which a role may add some columns only.
    private static let defaults = [
        "job": [
            "id", "cursor", "matched", "queued", "skipped", "fraction", "state", "made_xid", "lease_until", "attempts",
        ],
        "audit": ["id"],
    ]

    /// A function that a role calls.
    package struct Function: Sendable {
        /// Name and types of parameters, as in `drop_day(text, date)`.
        package let signature: String
        /// Empty: every role of the database, which is what Postgres gives by itself. A trigger's function cannot be
        /// called otherwise.
        package let roles: [DatabaseRole]
    }

    private static let everything: [Verb] = [.select, .insert, .update, .delete]

    /// Every table of the schema. Days are partitions without privileges of their own: those of the whole table hold.
    ///
    /// To lock a row takes the right to update some column of it: of lanes the api has `epoch` and `touched`, which
    /// their worker mends; of endpoints `created_ms`. The `…_sealed` columns hold secrets, which only the worker opens.
    package static let tables: [Table] =
        log + lanes + purchases + customers + events + endpoints + refunds + jobs + deletions + accounts + reports

    /// The ingest role is the public one: it appends, and reads the columns that deduplication returns, and the lanes of keys, by
    /// which a cluster finds the server that confirms them.
    private static let log = [
        Table("schema_version", ingest: version, worker: version, api: version),
        Table("migration_step", worker: [.select], api: [.select]),
        Table("jws_header", ingest: [.insert, .select(columns: "id")], worker: everything, api: [.select, .insert]),
        Table(
            "notification_key", ingest: [.insert, .select(columns: "seq", "lane")], worker: everything,
            api: [.select, .insert]),
        Table("notification", ingest: [.insert], worker: everything, api: [.select, .insert]),
        // The worker looks into it before it makes a day.
        Table("notification_default", worker: [.select], api: []),
        Table("pending", ingest: [.insert, .select(columns: "seq")], worker: everything, api: [.select, .insert]),
        Table("held_notification", worker: everything, api: [.select]),
        Table("diverted_notification", ingest: [.insert], worker: [.select, .delete], api: []),
        Table("action", worker: everything, api: [.select, .insert]),
        // The trigger minutes_allowed lets ingest add the present minute only.
        Table("listening", ingest: [.insert], worker: everything, api: [.select]),
        Table("history_look", worker: everything, api: [.select]),
        Table("status_look", worker: everything, api: [.select]),
        Table("database_position", ingest: [.select], worker: everything, api: [.select]),
        // A process says what it has seen; the leader decides what that means.
        Table("database_sighting", ingest: [.insert], worker: everything, api: [.insert]),
    ]

    private static let version: [Verb] = [.select(columns: "version", "oldest_program")]

    /// Without the instant, which is the server's.
    private static let ofItself = Verb.insert(
        columns: "id", "role", "host", "version", "started_ms", "configuration", "has_ended")

    private static let lanes = [
        Table("lane", worker: everything, api: [.select, .update(columns: "epoch", "touched")]),
        Table("worker", worker: everything, api: [.select]),
        // Each process says of itself what it is, now; the public role adds, and reads nothing.
        Table(
            "process", ingest: [ofItself], worker: everything, api: [.select, ofItself], console: [.select, ofItself]),
    ]

    private static let purchases = [
        // The trigger facts_allowed lets the api add facts that Apple did not sign only.
        Table("fact", worker: everything, api: [.select, .insert]),
        Table("purchase_fold", worker: everything, api: everything),
        Table(
            "purchase", worker: everything,
            api: [
                .select, .insert,
                .update(
                    columns: "owner", "product_id", "access_ends_ms", "grace_ends_ms", "revoked_ms", "will_renew",
                    "wake_ms", "version", "updated_ms", "account", "claims", "tell_ms", "told_owner"),
            ]),
        Table("purchase_identifier", worker: everything, api: [.select, .insert]),
        Table("purchase_snapshot", worker: everything, api: [.select, .insert, .update]),
        Table("product", worker: everything, api: [.select]),
    ]

    private static let customers = [
        Table("customer", worker: everything, api: everything),
        Table("app_user_id", worker: everything, api: everything),
        Table("customer_attribute", worker: everything, api: everything),
        Table("customer_note", worker: everything, api: [.select, .delete]),
        Table("account", worker: everything, api: everything),
        Table("account_join", worker: everything, api: everything),
        Table("account_due", worker: everything, api: [.select, .insert]),
        Table("account_lane", worker: everything, api: [.select, .insert]),
        Table("owner_lane", worker: everything, api: [.select, .insert, .delete]),
        Table("owner_setting", worker: everything, api: [.select]),
        Table("owner_salt", worker: [.select], api: [.select], console: []),
        Table("app_post", worker: everything, api: [.select, .insert, .update]),
        Table("account_look", worker: everything, api: [.select, .insert, .update]),
    ]

    private static let events = [
        Table("event", worker: everything, api: [.select, .insert]),
        Table("event_copy", worker: everything, api: [.select]),
        Table("delivery", worker: everything, api: [.select, .insert]),
        Table("attempt", worker: everything, api: [.select]),
        Table("attempt_default", worker: [.select], api: []),
        Table("sender", worker: everything, api: [.select]),
    ]

    private static let endpoints = [
        Table(
            "endpoint", worker: everything,
            api: [
                .select(
                    columns: "id", "url", "environments", "events", "apps", "disabled_reason", "paused_until_ms",
                    "created_ms", "removed_ms", "ordering", "retry_schedule_ms", "header_names", "has_authorization",
                    "format", "excepted_events", "includes_subscriber", "extension_version"),
                .update(columns: "created_ms"),
            ]),
        Table(
            "endpoint_secret", worker: everything,
            api: [.select(columns: "endpoint", "kind", "created_ms", "expires_ms", "public_key")]),
        Table("endpoint_health", worker: everything, api: [.select]),
        // To the newest key's public half operators' secrets are sealed.
        Table("sealing_key", worker: everything, api: [], console: [.select(columns: "intake_key", "created_ms")]),
        Table(
            "api_key", worker: everything, api: [.select, .update(columns: "last_used_ms")],
            console: [
                .select(
                    columns: "id", "kind", "app", "scope", "name", "hint", "created_ms", "last_used_ms", "revoked_ms")
            ]),
    ]

    private static let refunds = [Table("refund_request", worker: everything, api: [.select])]

    private static let jobs = [
        // The trigger changes_allowed lets the console ask for changes only; workers do them.
        Table(
            "job", worker: everything, api: [.select],
            console: [
                .select,
                .insert(
                    columns: "kind", "request", "parameters", "made_by", "created_ms", "updated_ms", "target", "reason",
                    "idempotency_key", "request_hash", "credential", "address", "user_agent"),
            ]),
        Table("rebuild", worker: everything, api: [.select]),
        // Read by the triggers changes_allowed and audit_allowed, as the role that adds the row; migrations alone write it.
        Table("change_kind", worker: [.select], api: [], console: [.select]),
    ]

    /// The api begins deletions; workers and commands carry them out.
    private static let deletions = [
        Table("deletion", worker: everything, api: [.select, .insert]),
        Table("deletion_purchase", worker: everything, api: [.select, .insert]),
        Table("deletion_delivery", worker: everything, api: [.select]),
        Table("deletion_id", worker: everything, api: [.select, .insert]),
        Table("deletion_salt", worker: [.select], api: [.select], console: []),
    ]

    /// Of operators. Commands on the host make and remove them, as the worker's role; the console decides who calls.
    private static let accounts = [
        Table(
            "console_user", worker: everything, api: [],
            console: [.select, .update(columns: "password", "zone")]),
        Table("operator_key", worker: everything, api: [], console: [.select, .update(columns: "last_used_ms")]),
        Table(
            "console_session", worker: everything, api: [],
            console: [.select, .insert, .update(columns: "seen_ms", "ended_ms")]),
        Table("console_link", worker: everything, api: [], console: [.select, .update(columns: "used_ms")]),
        Table("console_try", worker: everything, api: [], console: [.select, .insert]),
        // The trigger audit_allowed lets the console note only what it refused, and files that left it. Deletions of customers put pseudonyms in.
        Table(
            "audit",
            worker: [.select, .insert, .update(columns: "target", "reason", "message"), .delete], api: [],
            console: [
                .select,
                .insert(
                    columns: "at_ms", "actor", "credential", "address", "user_agent", "kind", "target", "reason",
                    "outcome",
                    "message"),
            ]),
    ]

    /// Behind the views of analysts, who may read those alone (`AnalystRole`). The api exports the rows of a customer.
    private static let reports = [
        Table("report_purchase", worker: everything, api: [.select]),
        Table("report_transaction", worker: everything, api: [.select]),
        Table("report_entitlement", worker: everything, api: [.select]),
        Table("report_refresh", worker: everything, api: [.select]),
    ]

    /// Every function of the schema that any role but its owner may call.
    package static let functions = [
        Function(signature: "make_day(text, date)", roles: [.worker]),
        Function(signature: "drop_day(text, date)", roles: [.worker]),
        Function(signature: "advance_actions(bigint)", roles: [.worker]),
        Function(signature: "hold_accounts(bigint[])", roles: [.worker, .api]),
        Function(signature: "hold_owners(text[], boolean)", roles: [.worker, .api]),
        Function(signature: "facts_changed()", roles: []),
        Function(signature: "facts_allowed()", roles: []),
        Function(signature: "minutes_allowed()", roles: []),
        Function(signature: "changes_allowed()", roles: []),
        Function(signature: "audit_allowed()", roles: []),
        Function(signature: "endpoint_changed()", roles: []),
        Function(signature: "endpoint_secret_changed()", roles: []),
        Function(signature: "offering_overridden()", roles: []),
    ]
}
