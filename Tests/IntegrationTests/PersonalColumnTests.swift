import Database
import Postgres
import TestSupport
import Testing

/// Every column that can hold text, judged: a new one fails here until its author decided whether it is about a person.
///
/// A personal column has to be reached by the export (`Customers/Export`), by the deletion of customers
/// (`Customers/Deletion`), by the journal where it is in it (`Database/Journal`), and by `PlantedCustomer`, whose tests
/// search the whole database for what was planted.
struct PersonalColumnTests {
    /// By table; columns with an exclamation mark say something about a person.
    private static let columns = """
        account: app id
        account_join: account app !one !other
        account_look: account app original_transaction_id !others revision transaction_id
        action: !actor !app_user_id !detail kind !other !reason
        api_key: app hash hint id kind name scope
        app_post: app
        app_user_id: !id !original_app_user_id
        attempt: delivery detail !head outcome peer !response
        audit: actor address credential kind !message outcome !reason !target user_agent
        change_kind: kind
        console_link: hash user_name
        console_session: address browser hash id user_name
        console_try: subject
        console_user: name password role zone
        customer: offering_override !original_app_user_id original_application_version restore_behavior
        customer_attribute: !app_user_id key !value
        customer_note: !app_user_id author !text
        database_position: cluster installation reason
        deletion: actor counts !names policy !reason state
        deletion_delivery: delivery
        deletion_id: !hash
        deletion_purchase: app original_transaction_id !owner
        deletion_salt: salt
        delivery: endpoint event event_type id ordered_by reason webhook_id
        diverted_notification: app header original_transaction_id !payload signature subtype type uuid
        endpoint: apps authorization_sealed disabled_reason environments events excepted_events extension_version \
        header_names headers_sealed id ordering url
        endpoint_health: dead_newest disabled_code endpoint last_failure
        endpoint_secret: endpoint public_key sealed
        event: app !body id original_transaction_id type
        event_copy: endpoint id original
        fact: app digest header original_transaction_id !payload signature
        held_notification: reason
        history_look: app cursor error
        job: address credential cursor driver !error !idempotency_key kind made_by outcome !parameters !reason \
        !request !request_hash state !target user_agent
        jws_header: header id
        lane: owner
        migration_step: cursor name
        notification: app header original_transaction_id !payload signature subtype type uuid
        notification_key: app key
        operator_key: hash hint id role user_name
        owner_lane: !owner
        owner_salt: salt
        owner_setting: app restore_behavior
        process: host id role version
        product: app kind product_id subscription_group
        purchase: app !claims original_transaction_id !owner product_id !told_owner
        purchase_fold: app original_transaction_id !state !tail
        purchase_identifier: app identifier original_transaction_id
        purchase_snapshot: app body original_transaction_id
        rebuild: cursor settings
        refund_request: !answer !answered_by app decision failure original_transaction_id product_id reasons state \
        transaction_id
        report_entitlement: app entitlement original_transaction_id product_id
        report_purchase: app history original_transaction_id stamp
        report_transaction: app country currency offer_id original_transaction_id period_type product_id product_type \
        transaction_id
        schema_version: name
        sealing_key: fingerprint intake_key
        sender: host worker
        status_look: app original_transaction_id
        worker: host id sealing_keys
        """

    private static let select = """
        SELECT c.relname AS name, string_agg(a.attname::text, ' ' ORDER BY a.attname) AS columns
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typelem <> 0 AND t.typlen = -1
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND a.attnum > 0 AND NOT a.attisdropped
            AND coalesce(e.typname, t.typname) IN ('text', 'varchar', 'bpchar', 'json', 'jsonb', 'bytea', 'uuid', 'inet', 'name')
        GROUP BY c.relname ORDER BY c.relname
        """

    @Test func `every column that can hold text is known to be about a person, or not to be`() throws {
        let connection = try TestCluster.shared.makeMigratedDatabase().connect()
        let found = try connection.query(Self.select).map { "\(try $0.text("name")): \(try $0.text("columns"))" }
        let judged = Self.columns.split(separator: "\n").map { $0.filter { $0 != "!" } }
        for line in found where !judged.contains(line) {
            Issue.record("PersonalColumnTests does not judge the columns of this table as it is: \(line)")
        }
        for line in judged where !found.contains(line) {
            Issue.record("PersonalColumnTests judges columns that are not there: \(line)")
        }
    }

    /// A table that is said to hold nothing about customers has no such column.
    @Test func `tables without personal data have no personal column`() {
        for line in Self.columns.split(separator: "\n") {
            let name = String(line.prefix { $0 != ":" })
            guard case .nothing? = PersonalDataMap.all[name] else { continue }
            #expect(!line.contains("!"), "\(line)")
        }
    }
}
