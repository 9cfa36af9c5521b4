import Base
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

@testable import Operator

/// Which indexes lists are read by, as Postgres counts their scans within the transaction that answered.
struct OperatorPlanTests {
    private static let shared = Result { try OperatorPlanTests.filled() }
    private let database: TestDatabase

    init() throws { database = try Self.shared.get() }

    private static let rows = 20_000
    private static let now = OperatorFixture.now

    /// Tables that grow with customers, purchases, notifications or what operators do; parts of divided ones begin alike.
    private static let large = [
        "fact", "notification", "notification_key", "event", "delivery", "attempt", "purchase", "purchase_identifier",
        "purchase_snapshot", "customer", "app_user_id", "customer_attribute", "action", "audit", "job",
        "refund_request",
        "pending",
    ]

    private static let fill = [
        """
        INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
        SELECT 'u' || n, $2 - n * 60000 FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
        SELECT id, id, $2 FROM generate_series(1, $1) n,
            unnest(ARRAY['u' || n, CASE n % 10 WHEN 0 THEN '$RCAnonymousID:' || n END]) id WHERE id IS NOT NULL
        """,
        """
        INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
        SELECT 'u' || n, '$email', n || '@example.com', $2 FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew, version,
            updated_ms, access_ends_ms)
        SELECT n % 256, 'demo', 0, n::text, CASE n % 10 WHEN 0 THEN '$RCAnonymousID:' ELSE 'u' END || n, 'monthly', true, 1, $2,
            $2 + n FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.purchase_identifier (lane, app, environment, original_transaction_id, identifier)
        SELECT n % 256, 'demo', 0, n::text, 't' || n FROM generate_series(1, $1) n WHERE $2::int8 > 0
        """,
        """
        INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload)
        SELECT n % 256, 'demo', 0, 'x' || n, gen_random_uuid(), 3, $2, n, '' FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body, sequence)
        SELECT n % 256, md5(n::text)::uuid, 'RENEWAL', 'demo', 0, n::text, $2 - n * 60000, '', CASE n % 2 WHEN 1 THEN 1 END
        FROM generate_series(1, $1) n ORDER BY n DESC
        """,
        """
        INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
        SELECT n % 256, md5('d' || n)::uuid, 'ep_1', md5(n::text)::uuid, 'RENEWAL', n % 4, $2, $2 - n * 60000
        FROM generate_series(1, $1) n ORDER BY n DESC
        """,
        """
        INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, outcome)
        SELECT n % 256, md5('d' || n)::uuid, 1, $2 - n * 60000, 10, 'delivered' FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, original_transaction_id, received_ms, source,
            header, payload, signature)
        SELECT n % 256, (($2 - n * 60000 - 1704067200000) << 22) + n, 'demo', 0, md5(n::text)::uuid::text, 'DID_RENEW', n::text,
            $2, 0, gen_random_uuid(), '', '' FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
        SELECT md5(n::text)::uuid, 'demo', 0, n % 256, (($2 - n * 60000 - 1704067200000) << 22) + n
        FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.pending (lane, seq)
        SELECT n % 256, (($2 - n * 60000 - 1704067200000) << 22) + n FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.action (kind, at_ms, actor, app_user_id)
        SELECT 'grant', $2 - 60000 * ($1 - n), 'anna', 'u' || n FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome)
        SELECT $2 - 60000 * ($1 - n), 'anna', 'resend', n::text, 'done' FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.job (kind, request, parameters, state, made_by, created_ms, updated_ms)
        SELECT 'replay', n::text, '{}', 'done', 'anna', $2, $2 FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
            reasons, repeats, asked_ms, deadline_ms)
        SELECT n % 256, 'demo', 0, n::text, n::text, 'monthly', '{}', 0, $2 - n * 60000, $2 - n * 60000 + 43200000
        FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
        SELECT 'ep_1', 'https://example.com/hook', '{}', '{}', '{}', $1 * 0 + $2
        """,
    ]

    private static func filled() throws -> TestDatabase {
        let database = try TestCluster.shared.makeMigratedDatabase()
        for sql in fill { try database.execute(sql, [.int8(Int64(rows)), .int8(now)]) }
        for table in large { try database.execute("VACUUM (ANALYZE) entitled.\(table)") }
        return database
    }

    /// Scans of this transaction: of a table from its beginning, and by an index.
    private static let scans = """
        SELECT c.relkind = 'r' AS is_whole, c.relname::text AS name FROM pg_class c
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'i') AND pg_stat_get_xact_numscans(c.oid) > 0
        """

    private struct Scans {
        var whole: Set<String> = []
        var indexes: Set<String> = []
    }

    private func scans(_ path: String, on connection: PostgresConnection) throws -> Scans {
        let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
        let segments = PathPattern.parts(of: OperatorRoute.root + parts[0])
        let routes = OperatorRoute.all.sorted { $0.pattern.exactness > $1.pattern.exactness }
        let found = routes.lazy.compactMap { route in
            route.pattern.values(of: segments).map { (route: route, values: $0) }
        }.first
        let match = try #require(found, "\(path)")
        var parameters = try DeskParameters(query: parts.count > 1 ? parts[1] : nil, of: "list", hasFormats: true)
        let settings = DeskSettings(
            scopes: [AppScope(app: "demo", environment: .production)], retrySchedule: RetrySchedule(waits: [1000]))
        return try DatabaseDesk.ask(
            settings, for: Viewer(user: "anna", role: .operator), now: Self.now, on: connection
        ) { desk in
            do {
                _ = try match.route.ask(desk, match.values, &parameters)
            } catch let error as DeskError {
                #expect(error.status == 503 || error.status == 404, "\(path): \(error)")
            }
            var scans = Scans()
            for row in try connection.query(Self.scans) {
                let name = try row.text("name")
                if try row.bool("is_whole") { scans.whole.insert(name) } else { scans.indexes.insert(name) }
            }
            return scans
        }
    }

    /// Each path with an index that it has to be read by. Parts of divided tables have the name of their first part here.
    private static let cases: [(path: String, index: String)] = [
        ("/customers", "customer_first_seen"), ("/customers?since=3d&until=2d", "customer_first_seen"),
        ("/customers/u17", "app_user_id_caseless"), ("/customers/u17", "purchase_owner"),
        ("/customers/u17", "customer_attribute_pkey"), ("/customers/u17/timeline", "fact_pkey"),
        ("/customers/u17/timeline", "action_app_user_id"), ("/customers/u17/events", "event_sequence"),
        ("/customers/u17/events", "event_unnumbered"), ("/customers/u17/notes", "customer_note_customer"),
        ("/purchases", "purchase_pkey"), ("/purchases?status=active", "purchase_pkey"),
        ("/purchases?product=none&app=demo&environment=Production&unclaimed=true", "purchase_pkey"),
        ("/purchases?ends_after=1d&ends_before=2030-01-01", "purchase_pkey"),
        ("/purchases?refunded_since=30d&refunded_until=2030-01-01", "purchase_pkey"),
        ("/purchases?id=t17", "purchase_identifier_pkey"), ("/purchases?customer=u17", "purchase_owner"),
        ("/purchases/demo/Production/17", "purchase_pkey"),
        ("/events", "event_created"), ("/events?type=TRANSFER&app=demo&environment=Sandbox&since=3d", "event_created"),
        ("/events?purchase=17", "event_sequence"), ("/events?customer=u17&type=TRANSFER", "event_sequence"),
        ("/events/c4ca4238-a0b9-2382-0dcc-509a6f75849b", "event_pkey"),
        ("/endpoints", "delivery_created"), ("/endpoints", "attempt_"),
        ("/endpoints/ep_1", "delivery_due"), ("/endpoints/ep_1", "delivery_held"),
        ("/endpoints/ep_1", "delivery_created"), ("/endpoints/ep_1", "attempt_"),
        ("/deliveries", "delivery_created"), ("/deliveries?state=dead", "delivery_created"),
        ("/deliveries?state=pending&endpoint=ep_1", "delivery_created"),
        ("/deliveries?type=TRANSFER&status=5xx&attempts_min=3&since=2d", "delivery_created"),
        ("/deliveries?event=c4ca4238-a0b9-2382-0dcc-509a6f75849b", "delivery_pkey"),
        ("/deliveries?customer=u17", "delivery_pkey"),
        ("/notifications", "notification_"), ("/notifications?state=held", "held_notification_pkey"),
        ("/notifications?state=pending", "pending_pkey"), ("/notifications?state=applied", "notification_"),
        ("/notifications?type=REFUND&subtype=none&source=history&app=demo&environment=Sandbox", "notification_"),
        ("/notifications?purchase=17&app=demo", "notification_"),
        ("/notifications/demo/Production/c4ca4238-a0b9-2382-0dcc-509a6f75849b", "notification_key_pkey"),
        ("/refunds", "refund_request_asked"), ("/refunds?open=true&app=demo", "refund_request_"),
        ("/jobs", "job_pkey"), ("/jobs?state=failed", "job_pkey"), ("/jobs/17", "job_pkey"),
        ("/actions", "action_pkey"), ("/actions?actor=none&kind=alias&since=3d", "action_pkey"),
        ("/actions?customer=u17", "action_app_user_id"),
        ("/audit", "audit_pkey"), ("/audit?actor=none&kind=reprocess", "audit_pkey"),
        ("/audit?since=3d&until=2d", "audit_"), ("/audit?target=17", "audit_target"),
        ("/search?q=u17", "app_user_id_caseless"), ("/search?q=17@example.com", "customer_attribute_value"),
        ("/search?q=t17", "purchase_identifier_pkey"), ("/search?q=none", "purchase_pkey"),
        ("/search?q=c4ca4238-a0b9-2382-0dcc-509a6f75849b", "event_pkey"),
        ("/overview", "pending_pkey"), ("/overview", "delivery_due"), ("/overview", "refund_request_open"),
    ]

    @Test func `every list is read by its index, with every filter, and no large table from its beginning`() throws {
        let connection = try database.connect(role: "entitled_console")
        // Where an index can be used it is, however small the tables of a test are.
        try connection.query("SET enable_seqscan = off")
        for (path, cases) in Dictionary(grouping: Self.cases, by: \.path) {
            let scans = try scans(path, on: connection)
            let whole = scans.whole.filter { name in
                Self.large.contains(name) || name.hasPrefix("notification_") || name.hasPrefix("attempt_")
            }
            #expect(whole.isEmpty, "\(path) reads \(whole.sorted()) from the beginning")
            for (_, index) in cases {
                #expect(
                    scans.indexes.contains { index.hasSuffix("_") ? $0.hasPrefix(index) : $0 == index },
                    "\(path) is not read by \(index), but by \(scans.indexes.sorted())")
            }
        }
    }

    @Test func `owners of unclaimed purchases are looked for one by one, not among all ids`() throws {
        let connection = try database.connect(role: "entitled_console")
        let scans = try scans("/purchases?unclaimed=true", on: connection)
        #expect(!scans.whole.contains("app_user_id") && scans.indexes.contains("app_user_id_pkey"))
    }

    @Test func `every path that reads a list or a record has its index in the table`() {
        let paths = Set(
            Self.cases.compactMap { path, _ in
                let segments = PathPattern.parts(of: OperatorRoute.root + String(path.prefix { $0 != "?" }))
                return OperatorRoute.all.sorted { $0.pattern.exactness > $1.pattern.exactness }
                    .first { $0.pattern.values(of: segments) != nil }?.path
            })
        let small = [
            "/me", "/deliveries/{id}", "/outages", "/outages/{n}", "/products", "/charts", "/charts/{name}", "/workers",
            "/doctor", "/catalog/check", "/report",
        ]
        #expect(Set(OperatorRoute.all.map(\.path)) == paths.union(small.map { OperatorRoute.root + $0 }))
    }
}
