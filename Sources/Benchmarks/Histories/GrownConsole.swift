import Base
import Crypto
import Database
import Postgres
import StoreSimulator

/// A database of many customers, as operators look at it: some customers come about as in production, through ingest and a
/// worker, and all others are copies of their rows with ids and times of their own.
struct GrownConsole {
    let installation: Installation
    let signer: NotificationSigner
    let now: Int64
    /// The consumer that takes the first customers' webhooks.
    let consumer: WebhookConsumer

    private static let day: Int64 = 86_400_000
    /// Customers that come about as in production.
    private static let originals = 48
    /// Days over which the copies are spread.
    private static let days: Int64 = 60
    private static let chunk = 10_000

    /// Ids to ask with.
    struct Ids {
        var customers: [String] = []
        var purchases: [String] = []
        var transactions: [String] = []
        var events: [String] = []
        var deliveries: [String] = []
        var notifications: [String] = []
        var endpoints: [String] = []
    }

    func fill(_ customers: Int) throws -> Ids {
        let first = try installation.addEndpoint(consumer.url)
        try playOriginals()
        let endpoints = try [first] + (1..<4).map { try installation.addEndpoint("\(consumer.url)/\($0)") }
        for statement in GrownConsole.preparing { try run(statement) }
        try makeDays()
        for start in stride(from: 1, through: customers, by: GrownConsole.chunk) {
            let numbers = start...min(customers, start + GrownConsole.chunk - 1)
            try nameCopies(numbers, of: customers)
            try installation.database.transaction {
                for copy in GrownConsole.copies { try run(try statement(copy)) }
                for statement in GrownConsole.beside { try run(statement) }
            }
            BenchmarksProgram.note("\(numbers.upperBound) customers")
        }
        for statement in GrownConsole.operations { try run(statement, [.int8(now), .int8(Int64(customers))]) }
        try installation.database.query("VACUUM ANALYZE")
        try installation.database.query("CHECKPOINT")
        var ids = try sample()
        ids.endpoints = endpoints
        return ids
    }

    private func run(_ sql: String, _ parameters: [PostgresValue] = []) throws {
        try installation.database.query("SET statement_timeout = 0")
        try installation.database.query(sql, parameters)
    }

    // MARK: - As in production

    /// Subscriptions of fifteen notifications: renewed by the month, some switched off and on, some that ended.
    private static func life(_ number: Int, now: Int64) -> SubscriberLife {
        var life = SubscriberLife(seed: 11, number: UInt64(number))
        let (switches, months) = number % 3 == 0 ? (3, 8) : (1, 12)
        life.start(at: now - Int64(months) * 30 * day - Int64(number % 25) * day)
        for month in 0..<months {
            if month < switches {
                life.autoRenewOff(at: life.latest.purchased + day)
                life.autoRenewOn(at: life.latest.purchased + 2 * day)
            }
            if number % 5 == 0, month == months - 1 {
                life.expire(at: life.expires)
                break
            }
            life.renew(at: life.expires)
        }
        return life
    }

    private func playOriginals() throws {
        let (ingest, worker) = (try installation.start("ingest"), try installation.start("worker"))
        defer {
            ingest.end()
            worker.end()
        }
        let all = (0..<GrownConsole.originals).flatMap { GrownConsole.life($0, now: now).notifications }
            .sorted { $0.signedDate < $1.signedDate }
        let requests = MemoryRequests(
            try all.map {
                MemoryRequests.Request(
                    bytes: RequestBytes.post(RequestBytes.notifications, try signer.sign($0).body))
            })
        // One after the other, so that each comes after those before it.
        let outcome = try LoadGenerator(requests: requests, address: try ingest.address(), connections: 1)
            .run(0..<requests.count)
        guard outcome.refused.isEmpty else { throw BenchmarkFailure("refused: \(outcome.refused)") }
        _ = try installation.waitForNone("SELECT count(*) FROM entitled.pending")
        _ = try installation.waitForNone("SELECT count(*) FROM entitled.delivery WHERE state = 0")
        let held = try installation.number("SELECT count(*) FROM entitled.held_notification")
        guard held == 0 else { throw BenchmarkFailure("\(held) notifications are held") }
    }

    // MARK: - Copies

    private static let preparing = [
        """
        CREATE UNLOGGED TABLE public.original AS
        SELECT row_number() OVER (ORDER BY original_transaction_id) - 1 AS place, original_transaction_id AS otid, owner
        FROM entitled.purchase
        """,
        """
        CREATE UNLOGGED TABLE public.copy (
            n bigint, place bigint, otid text COLLATE "C", lane smallint, owner text COLLATE "C", first_ms bigint, now_ms bigint)
        """,
        // How far each row's notification is between the first and now.
        """
        CREATE UNLOGGED TABLE public.step AS
        SELECT o.place, n.seq, row_number() OVER w AS number, count(*) OVER (PARTITION BY o.place) AS of
        FROM public.original o JOIN entitled.notification n ON n.original_transaction_id = o.otid
        WINDOW w AS (PARTITION BY o.place ORDER BY n.seq)
        """,
        "CREATE UNLOGGED TABLE public.o_fact AS SELECT o.place, s.number, s.of, f.* FROM public.original o "
            + "JOIN entitled.fact f ON f.original_transaction_id = o.otid "
            + "JOIN public.step s ON s.place = o.place AND s.seq = f.seq",
        "CREATE UNLOGGED TABLE public.o_notification AS SELECT o.place, s.number, s.of, n.* FROM public.original o "
            + "JOIN entitled.notification n ON n.original_transaction_id = o.otid "
            + "JOIN public.step s ON s.place = o.place AND s.seq = n.seq",
        "CREATE UNLOGGED TABLE public.o_event AS SELECT o.place, row_number() OVER w AS number, "
            + "count(*) OVER (PARTITION BY o.place) AS of, e.* FROM public.original o "
            + "JOIN entitled.event e ON e.original_transaction_id = o.otid "
            + "WINDOW w AS (PARTITION BY o.place ORDER BY e.sequence)",
        "CREATE UNLOGGED TABLE public.o_delivery AS SELECT e.place, e.number, e.of, d.* FROM public.o_event e "
            + "JOIN entitled.delivery d ON d.lane = e.lane AND d.event = e.id",
        "CREATE UNLOGGED TABLE public.o_attempt AS SELECT d.place, d.number AS step, d.of, d.event, a.* "
            + "FROM public.o_delivery d JOIN entitled.attempt a ON a.lane = d.lane AND a.delivery = d.id",
        "CREATE UNLOGGED TABLE public.o_purchase AS SELECT o.place, p.* FROM public.original o "
            + "JOIN entitled.purchase p ON p.original_transaction_id = o.otid",
        "CREATE UNLOGGED TABLE public.o_purchase_identifier AS SELECT o.place, i.* FROM public.original o "
            + "JOIN entitled.purchase_identifier i ON i.original_transaction_id = o.otid",
        "CREATE UNLOGGED TABLE public.o_customer AS SELECT o.place, c.* FROM public.original o "
            + "JOIN entitled.customer c ON c.original_app_user_id = o.owner",
        "CREATE UNLOGGED TABLE public.o_app_user_id AS SELECT o.place, a.* FROM public.original o "
            + "JOIN entitled.app_user_id a ON a.id = o.owner",
    ]

    /// What differs from the original, by column.
    private struct Copy {
        let table: String
        let changed: [String: String]
        /// The number of its notification or event; nil: it has none.
        var step: String?
    }

    private static func instant(_ number: String = "t.number") -> String {
        // Within a day, so that rows lie in the order of their times, as in production.
        "(c.first_ms + 86400000 * \(number) / (t.of + 1))"
    }

    private static let seq = "((\(instant()) - 1704067200000) << 22 | c.n)"
    private static let uuid = "md5(t.uuid || c.n)::uuid"
    private static let event = "md5(t.event::text || c.n)::uuid"
    private static let endpoint =
        "(SELECT e.id FROM entitled.endpoint e ORDER BY e.created_ms, e.id OFFSET c.n % 4 LIMIT 1)"

    private static func delivery(_ event: String) -> String {
        "encode(substring(sha256(uuid_send(\(event)) || convert_to(\(endpoint), 'UTF8')) FOR 16), 'hex')::uuid"
    }

    private static let copies = [
        Copy(table: "customer", changed: ["original_app_user_id": "c.owner", "first_seen_ms": "c.first_ms"]),
        Copy(
            table: "app_user_id",
            changed: ["id": "c.owner", "original_app_user_id": "c.owner", "first_seen_ms": "c.first_ms"]),
        Copy(
            table: "purchase",
            changed: [
                "lane": "c.lane", "original_transaction_id": "c.otid", "owner": "c.owner", "account": "NULL",
                "updated_ms": "c.first_ms + 86400000",
            ]),
        Copy(
            table: "purchase_identifier",
            changed: [
                "lane": "c.lane", "original_transaction_id": "c.otid",
                "identifier":
                    "CASE WHEN t.identifier = t.original_transaction_id THEN c.otid ELSE c.n || '0' || t.identifier END",
            ]),
        Copy(
            table: "fact", changed: ["lane": "c.lane", "original_transaction_id": "c.otid", "seq": seq], step: "number"),
        Copy(
            table: "notification",
            changed: [
                "lane": "c.lane", "original_transaction_id": "c.otid", "seq": seq, "uuid": "\(uuid)::text",
                "received_ms": instant(), "signed_ms": instant(),
            ], step: "number"),
        Copy(
            table: "event",
            changed: [
                "lane": "c.lane", "original_transaction_id": "c.otid", "id": "md5(t.id::text || c.n)::uuid",
                "created_ms": instant(),
            ], step: "number"),
        Copy(
            table: "delivery",
            changed: [
                "lane": "c.lane", "event": event, "id": delivery(event), "endpoint": endpoint, "created_ms": instant(),
                // Of a thousand: five given up, one waiting, one behind a disabled endpoint.
                "state":
                    "CASE (c.n * 15 + t.number) % 1000 WHEN 7 THEN 2 WHEN 207 THEN 2 WHEN 407 THEN 2 WHEN 607 THEN 2 "
                    + "WHEN 807 THEN 2 WHEN 11 THEN 0 WHEN 13 THEN 3 ELSE 1 END",
                "last_status": "CASE WHEN (c.n * 15 + t.number) % 200 = 7 THEN 503 ELSE 200 END",
                "next_ms": "c.now_ms + 3600000",
            ], step: "number"),
        Copy(
            table: "attempt",
            changed: [
                "lane": "c.lane", "delivery": delivery(event), "started_ms": instant("t.step"),
                "duration_ms": "20 + abs(hashint8(c.n * 15 + t.step)) % 400",
            ], step: "step"),
    ]

    private func statement(_ copy: Copy) throws -> String {
        let columns = try installation.database.query(
            """
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = ('entitled.' || $1)::regclass AND attnum > 0 AND NOT attisdropped
                AND attgenerated = '' AND attidentity = '' ORDER BY attnum
            """, [.text(copy.table)]
        ).map { try $0.text("attname") }
        let values = columns.map { copy.changed[$0] ?? "t.\($0)" }
        return """
            INSERT INTO entitled.\(copy.table) (\(columns.joined(separator: ", ")))
            SELECT \(values.joined(separator: ", "))
            FROM public.copy c JOIN public.o_\(copy.table) t ON t.place = c.place
            \(copy.step.map { "ORDER BY \(GrownConsole.instant("t.\($0)"))" } ?? "")
            """
    }

    private func nameCopies(_ numbers: ClosedRange<Int>, of count: Int) throws {
        let ids = numbers.map(GrownConsole.purchase)
        let lanes = ids.map { Lane(app: "demo", environment: .sandbox, subject: $0).number }
        let span = GrownConsole.days * GrownConsole.day
        let firsts = numbers.map { now - span + Int64($0) * (span - GrownConsole.day) / Int64(count) }
        try run("TRUNCATE public.copy")
        try run(
            """
            INSERT INTO public.copy (n, place, otid, lane, owner, first_ms, now_ms)
            SELECT n, n % (SELECT count(*) FROM public.original), otid, lane, owner, first_ms, $6
            FROM unnest($1::int8[], $2::text[], $3::int2[], $4::text[], $5::int8[]) AS t(n, otid, lane, owner, first_ms)
            """,
            [
                .int8s(numbers.map { Int64($0) }), .texts(ids), .int2s(lanes), .texts(numbers.map(GrownConsole.owner)),
                .int8s(firsts), .int8(now),
            ])
        try run("ANALYZE public.copy")
    }

    private static func purchase(_ number: Int) -> String { "\(3_000_000_000_000_000 + number)" }
    private static func owner(_ number: Int) -> String { "user-\(number)" }

    /// Beside what a worker leaves of notifications.
    private static let beside = [
        """
        INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
        SELECT n.uuid::uuid, n.app, n.environment, n.lane, n.seq FROM public.copy c
        JOIN public.o_notification t ON t.place = c.place
        CROSS JOIN LATERAL (SELECT \(uuid)::text AS uuid, t.app, t.environment, c.lane, \(seq) AS seq) n
        """,
        """
        INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
        SELECT '$RCAnonymousID:' || md5(n::text), owner, first_ms FROM public.copy WHERE n % 3 = 0
        """,
        """
        INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
        SELECT owner, key, CASE key WHEN '$email' THEN 'User' || n || '@example.com' WHEN 'plan' THEN 'plan ' || n % 5
            ELSE 'Name ' || n END, first_ms
        FROM public.copy CROSS JOIN unnest('{$email,$displayName,plan}'::text[]) AS k(key) WHERE n % 2 = 0
        """,
    ]

    private func makeDays() throws {
        for kind in ["notification", "attempt"] {
            try run(
                """
                SELECT entitled.make_day('\(kind)', ((clock_timestamp() AT TIME ZONE 'UTC')::date - d)::date)
                FROM generate_series(0, \(GrownConsole.days)) d
                """)
        }
    }

    /// What operators and Apple asked for, and what does not go well. `$1` is now, `$2` the customers.
    private static let operations = [
        """
        INSERT INTO entitled.held_notification (lane, seq, reason, held_ms, attempts, next_ms)
        SELECT lane, seq, 'wrong_environment', received_ms, 4, $1 + 3600000 FROM entitled.notification
        WHERE hashint8(seq) % (1000 + $2 * 0) = 0 LIMIT 600
        """,
        """
        INSERT INTO entitled.pending (lane, seq) SELECT lane, seq FROM entitled.notification n
        WHERE seq > (($1 - 3 * 86400000 + $2 * 0 - 1704067200000) << 22) AND NOT EXISTS (
            SELECT FROM entitled.held_notification h WHERE h.lane = n.lane AND h.seq = n.seq) LIMIT 200
        """,
        """
        INSERT INTO entitled.action (kind, at_ms, actor, reason, app_user_id, detail)
        SELECT CASE WHEN n % 50 = 0 THEN 'alias' ELSE 'grant' END, $1 - ($2 / 10 - n) * 1000, 'anna', 'because',
            'user-' || n, '{"entitlement":"pro"}' FROM generate_series(1, $2 / 10) n
        """,
        """
        INSERT INTO entitled.audit (at_ms, actor, kind, target, reason, outcome)
        SELECT $1 - ($2 - n) * 1000, CASE WHEN n % 100 = 0 THEN 'ben' ELSE 'anna' END,
            CASE WHEN n % 1000 = 0 THEN 'reprocess' ELSE 'grant' END, 'user-' || n, 'because', 'done'
        FROM generate_series(1, $2) n
        """,
        """
        INSERT INTO entitled.job (kind, request, parameters, state, made_by, created_ms, updated_ms, finished_ms)
        SELECT 'grant', 'request ' || n, '{}', CASE WHEN n % 5000 = 0 THEN 'failed' ELSE 'done' END, 'anna',
            $1 - ($2 - n) * 1000, $1, $1 FROM generate_series(1, $2) n
        """,
        """
        INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
            reasons, repeats, asked_ms, deadline_ms, state)
        SELECT lane, app, environment, original_transaction_id || '9', original_transaction_id, product_id, '{}', 0,
            $1 - (row_number() OVER ()) * 60000, $1 - (row_number() OVER ()) * 60000 + 43200000, 'open'
        FROM (SELECT * FROM entitled.purchase LIMIT $2 / 50) p
        """,
        """
        INSERT INTO entitled.listening (minute)
        SELECT m FROM generate_series($1 / 60000 - 64000, $1 / 60000) m WHERE m % 5000 > 20 + $2 * 0 ON CONFLICT DO NOTHING
        """,
    ]

    // MARK: - Ids to ask with

    private static let samples = 40

    private func sample() throws -> Ids {
        func column(_ sql: String) throws -> [String] {
            try installation.database.query("\(sql) ORDER BY random() LIMIT \(GrownConsole.samples)").map {
                try $0.text("id")
            }
        }
        var ids = Ids()
        ids.customers = try column(
            "SELECT id FROM entitled.app_user_id TABLESAMPLE BERNOULLI (5) WHERE id LIKE 'user-%'")
        ids.purchases = try column(
            "SELECT original_transaction_id AS id FROM entitled.purchase TABLESAMPLE BERNOULLI (5) WHERE owner LIKE 'user-%'"
        )
        ids.transactions = try column(
            "SELECT identifier AS id FROM entitled.purchase_identifier TABLESAMPLE BERNOULLI (1)")
        ids.events = try column("SELECT upper(id::text) AS id FROM entitled.event TABLESAMPLE BERNOULLI (1)")
        ids.notifications = try column(
            """
            SELECT n.uuid AS id FROM entitled.notification n TABLESAMPLE BERNOULLI (1) WHERE n.original_transaction_id > '3'
            """)
        ids.deliveries = try column(
            """
            SELECT 'dlv_' || lpad(to_hex(lane::int4), 2, '0') || replace(id::text, '-', '') AS id
            FROM entitled.delivery TABLESAMPLE BERNOULLI (1)
            """)
        return ids
    }
}
