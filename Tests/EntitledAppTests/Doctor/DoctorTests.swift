import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// What the doctor says of a good installation, and of each that is broken in one way.
struct DoctorTests {
    @Test func `of a good installation every line is ok, and nothing is changed`() throws {
        let bench = try DoctorFixture()
        let outcome = bench.run(["doctor", "--json"])
        #expect(outcome.status == 0, "\(bench.complaints())")
        #expect(outcome.errors.isEmpty)
        #expect(outcome.document?["ok"]?.boolValue == true)
        let checks = try #require(outcome.document?["checks"]?.arrayValue)
        #expect(checks.count > 20)
        for check in checks {
            #expect(check.members?.map(\.name) == ["action", "message", "name", "status"])
        }
        let names = Set(checks.compactMap { $0["name"]?.stringValue })
        #expect(names.isSuperset(of: ["app_store.key", "app_store.round_trip", "database.privileges", "work.ingest"]))
        #expect(!outcome.output.contains("secret/path"))
    }

    @Test func `migrate restores the privileges that the doctor misses, and says so`() throws {
        let bench = try DoctorFixture()
        for sql in [
            "REVOKE DELETE ON entitled.pending FROM entitled_worker",
            "GRANT UPDATE (url) ON entitled.endpoint TO PUBLIC",
        ] {
            try bench.database.execute(sql)
        }
        // The worker misses one, and the three others have one too many.
        #expect(bench.complaints().count == 4)
        let outcome = bench.run(["migrate"])
        #expect(outcome.status == 0)
        #expect(outcome.errors.isEmpty)
        #expect(
            outcome.output.split(separator: "\n").dropFirst() == [
                "changed privileges: REVOKE UPDATE (\"url\") ON TABLE entitled.endpoint FROM PUBLIC CASCADE",
                "changed privileges: GRANT DELETE ON TABLE entitled.pending TO entitled_worker",
            ])
        #expect(bench.complaints() == [])
        #expect(bench.run(["migrate"]).output.split(separator: "\n").count == 1)
        let document = bench.run(["migrate", "--json"]).document
        #expect(document?.members?.map(\.name) == ["applied", "version"])
    }

    @Test func `migrate names the privileges that its user may not change`() throws {
        let bench = try DoctorFixture()
        let guest = "guest_of_\(bench.database.name)"
        for sql in [
            "CREATE ROLE \(guest) LOGIN",
            "GRANT entitled_ingest, entitled_worker, entitled_api, entitled_console TO \(guest)",
            "GRANT CREATE ON DATABASE \(bench.database.name) TO \(guest)",
            "GRANT USAGE, CREATE ON SCHEMA entitled TO \(guest)",
            "GRANT SELECT ON entitled.schema_version TO \(guest)",
            "GRANT EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) TO \(guest)",
            "REVOKE DELETE ON entitled.pending FROM entitled_worker",
        ] {
            try bench.database.execute(sql)
        }
        let url = bench.database.url.replacing("//entitled@", with: "//\(guest)@")
        bench.configure("database", .object(["url": .string(url)]))
        let outcome = bench.run(["migrate"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").count == 1)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("entitled: warning: the privileges of the processes' roles differ") == true)
        #expect(lines.first?.hasSuffix(": GRANT DELETE ON TABLE entitled.pending TO entitled_worker") == true)
    }

    /// A way to break it, and the line that tells it.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Name, status and the beginning of the message.
        let line: String
        /// A part of what to do.
        let action: String
        let make: @Sendable (DoctorFixture) throws -> Void

        init(
            _ what: String, _ line: String, _ action: String, _ make: @escaping @Sendable (DoctorFixture) throws -> Void
        ) {
            testDescription = what
            self.line = line
            self.action = action
            self.make = make
        }

        /// Broken by a statement of the database's owner.
        init(_ what: String, _ line: String, _ action: String, sql: String) {
            self.init(what, line, action) { try $0.database.execute(sql) }
        }
    }

    private static let now = SystemClock().now()

    static let database = [
        Damage(
            "too much for ingest", "database.privileges error entitled_ingest may DELETE, UPDATE entitled.pending",
            "REVOKE DELETE, UPDATE ON entitled.pending FROM entitled_ingest",
            sql: "GRANT UPDATE, DELETE ON entitled.pending TO entitled_ingest"),
        Damage(
            "whole rows for ingest", "database.privileges error entitled_ingest may SELECT entitled.notification",
            "REVOKE", sql: "GRANT SELECT ON entitled.notification TO entitled_ingest"),
        Damage(
            "too little for the worker", "database.privileges error entitled_worker may not DELETE entitled.pending",
            "GRANT DELETE ON entitled.pending TO entitled_worker",
            sql: "REVOKE DELETE ON entitled.pending FROM entitled_worker"),
        Damage(
            "too much for the api", "database.privileges error entitled_api may DELETE entitled.fact",
            "REVOKE DELETE ON entitled.fact FROM entitled_api", sql: "GRANT DELETE ON entitled.fact TO entitled_api"),
        Damage(
            "a column too much for the api", "database.privileges error entitled_api may UPDATE entitled.endpoint.url",
            "REVOKE UPDATE (url) ON entitled.endpoint FROM entitled_api",
            sql: "GRANT UPDATE (url) ON entitled.endpoint TO entitled_api"),
        Damage(
            "too little for the api", "database.privileges error entitled_api may not DELETE entitled.app_user_id",
            "GRANT DELETE ON entitled.app_user_id TO entitled_api",
            sql: "REVOKE DELETE ON entitled.app_user_id FROM entitled_api"),
        Damage(
            "secrets for the api",
            "database.privileges error entitled_api may read the secrets in entitled.endpoint.auth",
            "REVOKE SELECT (authorization_sealed)",
            sql: "GRANT SELECT (authorization_sealed) ON entitled.endpoint TO entitled_api"),
        Damage(
            "whole lanes for the api", "database.privileges error entitled_api may UPDATE entitled.lane",
            "REVOKE UPDATE", sql: "GRANT UPDATE ON entitled.lane TO entitled_api"),
        Damage(
            "days that everybody may drop", "database.privileges error entitled_api may call entitled.drop_day",
            "REVOKE EXECUTE", sql: "GRANT EXECUTE ON FUNCTION entitled.drop_day(text, date) TO PUBLIC"),
        Damage(
            "a table for every role of the database",
            "database.privileges error entitled_ingest may SELECT entitled.fact", "or run `entitled migrate`",
            sql: "GRANT SELECT ON entitled.fact TO PUBLIC"),
        Damage(
            "too much for the worker",
            "database.privileges error entitled_worker may DELETE, UPDATE entitled.owner_salt",
            "REVOKE DELETE, UPDATE ON entitled.owner_salt FROM entitled_worker",
            sql: "GRANT UPDATE, DELETE ON entitled.owner_salt TO entitled_worker"),
        Damage(
            "a column too little for the api",
            "database.privileges error entitled_api may not UPDATE (owner, version) entitled.purchase",
            "GRANT UPDATE (owner, version) ON entitled.purchase TO entitled_api",
            sql: "REVOKE UPDATE (owner, version) ON entitled.purchase FROM entitled_api"),
        Damage(
            "a column too little for ingest",
            "database.privileges error entitled_ingest may not SELECT (seq) entitled.pending",
            "GRANT SELECT (seq) ON entitled.pending TO entitled_ingest",
            sql: "REVOKE SELECT (seq) ON entitled.pending FROM entitled_ingest"),
        Damage(
            "a column of a table that is not for ingest",
            "database.privileges error entitled_ingest may INSERT entitled.fact.payload",
            "REVOKE INSERT (payload) ON entitled.fact FROM entitled_ingest",
            sql: "GRANT INSERT (payload) ON entitled.fact TO entitled_ingest"),
        Damage(
            "single days for ingest",
            "database.privileges error entitled_ingest has privileges on single days of entitled.notification (1)",
            "entitled migrate",
            sql: """
                DO $$ BEGIN
                    EXECUTE 'GRANT SELECT ON entitled.notification' || to_char(now() AT TIME ZONE 'UTC', '_YYYYMMDD')
                        || ' TO entitled_ingest';
                END $$
                """),
        Damage(
            "no days for the worker",
            "database.privileges error entitled_worker may not call entitled.make_day(text,date)",
            "GRANT EXECUTE ON FUNCTION entitled.make_day(text,date) TO entitled_worker",
            sql: "REVOKE EXECUTE ON FUNCTION entitled.make_day(text, date) FROM entitled_worker"),
        Damage(
            "large objects for everybody",
            "database.privileges warning the roles of the processes may use large objects,",
            "public_privileges.sql", sql: "GRANT EXECUTE ON FUNCTION lo_create(oid) TO PUBLIC"),
        Damage(
            "advisory locks for one", "database.privileges warning the roles of the processes may use advisory locks,",
            "entitled migrate", sql: "GRANT EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) TO entitled_ingest"),
        Damage(
            "temporary tables", "database.privileges warning the roles of the processes may use temporary tables,",
            "entitled migrate",
            sql: """
                DO $$ BEGIN EXECUTE 'GRANT TEMPORARY ON DATABASE ' || current_database() || ' TO PUBLIC'; END $$
                """),
        Damage(
            "facts of any kind for the api", "database.privileges error entitled_api may add any row to entitled.fact",
            "ENABLE TRIGGER facts_allowed", sql: "ALTER TABLE entitled.fact DISABLE TRIGGER facts_allowed"),
        Damage(
            "any minute for ingest", "database.privileges error entitled_ingest may add any row to entitled.listening",
            "schemas/sql", sql: "DROP TRIGGER minutes_allowed ON entitled.listening"),
        Damage(
            "any job for the console", "database.privileges error entitled_console may add any row to entitled.job",
            "ENABLE TRIGGER changes_allowed", sql: "ALTER TABLE entitled.job DISABLE TRIGGER changes_allowed"),
        Damage(
            "any entry of the audit for the console",
            "database.privileges error entitled_console may add any row to entitled.audit", "schemas/sql",
            sql: "DROP TRIGGER audit_allowed ON entitled.audit"),
        Damage(
            "a role that changed its settings",
            "database.privileges warning entitled_ingest logs in with search_path=else",
            "ALTER ROLE entitled_ingest RESET search_path",
            sql: """
                DO $$ BEGIN
                    EXECUTE 'ALTER ROLE entitled_ingest IN DATABASE ' || current_database() || ' SET search_path = elsewhere';
                END $$
                """),
        Damage(
            "no day ahead", "database.days error there is no partition for tomorrow", "start a worker",
            sql: """
                DO $$ BEGIN FOR ahead IN 1..7 LOOP
                    EXECUTE 'DROP TABLE entitled.attempt' || to_char((now() AT TIME ZONE 'UTC') + ahead * interval '1 day', '_YYYYMMDD');
                END LOOP; END $$
                """),
        Damage(
            "a setting that loses commits", "database.server error synchronous_commit is off",
            "synchronous_commit = on",
            sql: """
                DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$
                """),
    ]

    static let work = [
        Damage(
            "no worker", "work.workers error no worker is alive", "entitled worker", sql: "DELETE FROM entitled.worker"),
        Damage(
            "a lane that nobody has", "work.workers warning 1 worker, but 1 of 256 lanes have no worker", "logs",
            sql: "UPDATE entitled.lane SET lease_until = '-infinity' WHERE lane = 7"),
        Damage(
            "hosts that differ",
            "work.configuration warning processes use different configurations: 000000000008: api on a since "
                + "1970-01-01T00:00:00Z, worker on b since 1970-01-01T00:00:00Z; 000000000007: ingest on c since",
            "entitled check-config --set",
            sql: """
                INSERT INTO entitled.process (id, role, host, version, started_ms, configuration) VALUES
                    (gen_random_uuid(), 'api', 'a', '1', 0, 8), (gen_random_uuid(), 'worker', 'b', '1', 0, 8),
                    (gen_random_uuid(), 'ingest', 'c', '1', 0, 7), (gen_random_uuid(), 'ingest', 'd', '2', 0, 9)
                """),
        Damage(
            "a file that no process has read",
            "work.configuration warning no process uses the configuration of this host",
            "systemctl reload",
            sql: """
                INSERT INTO entitled.process (id, role, host, version, started_ms, configuration)
                VALUES (gen_random_uuid(), 'api', 'a', '\(Version.current)', 0, 8)
                """),
        Damage(
            "no ingest", "work.ingest error no ingest process has ever used this database", "entitled ingest",
            sql: "DELETE FROM entitled.listening"),
        Damage(
            "an ingest that went", "work.ingest error no ingest process could store notifications for 20 min",
            "entitled ingest",
            sql: """
                UPDATE entitled.listening SET minute = floor(extract(epoch FROM clock_timestamp()) / 60)::int8 - 20
                    - (SELECT max(minute) FROM entitled.listening) + minute
                """),
        Damage(
            "an outage", "work.ingest warning ingest stores notifications again, but stored none for", "Apple repeats",
            sql: """
                INSERT INTO entitled.listening SELECT floor(extract(epoch FROM now()) / 60)::int8 - 300
                """),
        Damage("a backlog", "work.notifications error the oldest notification", "workers") { bench in
            try bench.database.execute(
                "INSERT INTO entitled.pending VALUES (9, $1)",
                [.int8(SequenceGenerator.least(at: DoctorTests.now - 7_200_000))])
        },
        Damage(
            "a purchase that waits",
            "work.notifications error the oldest notification that is not applied yet has waited for 2 h; "
                + "purchases that wait: 2000000000000001 of demo in Sandbox since "
                + Timestamp.text(DoctorTests.now - 9_000_000) + ", with 50 facts that are not folded yet",
            "for these purchases"
        ) { bench in
            let (lane, seq) = (PostgresValue.int2(7), SequenceGenerator.least(at: DoctorTests.now - 9_000_000))
            try bench.database.execute(
                """
                INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, original_transaction_id,
                    signed_ms, received_ms, source, header, payload, signature)
                VALUES ($1, $2, 'demo', 1, gen_random_uuid(), 'DID_RENEW', '2000000000000001', 1, 1, 0,
                    gen_random_uuid(), '', '')
                """, [lane, .int8(seq)])
            try bench.database.execute(
                """
                INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms,
                    seq, payload)
                SELECT $1, 'demo', 1, '2000000000000001', gen_random_uuid(), 3, 1, 1, '' FROM generate_series(1, 50)
                """, [lane])
            // Of other lanes nothing is known by which a purchase could be named.
            try bench.database.execute(
                "INSERT INTO entitled.pending SELECT lane, $1 FROM generate_series(4, 7) AS t(lane)", [.int8(seq)])
        },
        Damage(
            "held", "work.held warning 2 held, because applying them failed, 1 of them", "notifications reprocess",
            sql: """
                INSERT INTO entitled.held_notification (lane, seq, reason, held_ms, next_ms)
                VALUES (1, 1, 'x', 1, NULL), (1, 2, 'x', 1, 5)
                """),
        Damage(
            "a late webhook", "work.deliveries warning overdue by more than five minutes: at least 1 webhook", "workers"
        ) { bench in
            try DoctorTests.deliver(state: 0, attempts: 0, due: DoctorTests.now - 3_600_000, bench)
        },
        Damage(
            "a restored database", "work.return warning the database went back to an earlier state", "journal",
            sql: "UPDATE entitled.database_position SET returned_ms = 1, reason = 'number', lost = 3"),
        Damage("a question of Apple's", "work.refunds warning Apple waits for 1 answers", "refunds answer") { bench in
            bench.configure("apps", .array([bench.app(["refunds": .object(["policy": .string("ask")])])]))
            try bench.database.execute("UPDATE entitled.endpoint SET events = '{CONSUMPTION_REQUEST}'")
            try bench.database.execute(
                """
                INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id,
                    product_id, reasons, repeats, asked_ms, deadline_ms)
                VALUES (1, 'demo', 1, '2', '1', 'coins', '{}', 0, 1, $1)
                """, [.int8(DoctorTests.now + 3_600_000)])
        },
        Damage("a dead webhook", "work.dead warning 1 webhook of the last 14 days", "deliveries resend") { bench in
            try DoctorTests.deliver(state: 2, attempts: 6, due: DoctorTests.now, bench)
        },
    ]

    /// A RENEWAL of 9.99 of each of these currencies, as it is stored.
    private static func pay(_ currencies: [String], _ bench: DoctorFixture) throws {
        for (place, currency) in currencies.enumerated() {
            let body =
                #"{"event":{"currency":"\#(currency)","price":null,"price_in_purchased_currency":9.99,"type":"RENEWAL"}}"#
            try bench.database.execute(
                """
                INSERT INTO entitled.event (lane, id, type, app, environment, created_ms, body)
                VALUES ($1, gen_random_uuid(), 'RENEWAL', 'demo', 0, $2, $3)
                """, [.int2(Int16(place)), .int8(now), .bytea(try EventBodyCodec.compress(Array(body.utf8)))])
        }
    }

    static let money = [
        Damage(
            "a currency without a rate",
            "money.currencies warning no dollar rate for EUR, JPY: the price of 3 of 5 payments", "webhooks.usd_rates"
        ) { bench in
            bench.configure("webhooks", .object(["usd_rates": .object(["KWD": .int(3)])]))
            try DoctorTests.pay(["EUR", "USD", "JPY", "KWD", "EUR"], bench)
        }
    ]

    static let endpoints = [
        Damage("an endpoint that fails", "endpoints.state warning we_", "deliveries list --endpoint we_") { bench in
            try DoctorTests.deliver(state: 0, attempts: 2, due: DoctorTests.now + 3_600_000, bench)
        },
        Damage(
            "a disabled endpoint", "endpoints.state warning we_", "endpoints enable we_",
            sql: "UPDATE entitled.endpoint SET disabled_reason = 'gone'"),
        Damage(
            "no endpoint", "endpoints.state warning there is no endpoint", "endpoints add",
            sql: "UPDATE entitled.endpoint SET removed_ms = 1"),
        Damage("a lost key", "endpoints.secrets error the key ", "copy webhook-secrets.key") {
            bench in
            unlink("\(bench.folder)/state/webhook-secrets.key")
        },
        Damage("another key", "endpoints.secrets error the key ", "secret_keys") { bench in
            bench.configure(
                "webhooks", .object(["secret_keys": .strings([String(repeating: "ab", count: 32)])]))
        },
    ]

    static let apps = [
        Damage("no app", "apps.configured error no app is configured", "apps") { $0.configure("apps", .array([])) },
        Damage("an app without a key", "apps.configured warning demo", "server_api") { bench in
            bench.configure(
                "apps",
                .array([
                    .object([
                        "id": .string("demo"), "bundle_id": .string("com.example.app"),
                        "environments": .strings(["Sandbox"]),
                    ])
                ]))
        },
        Damage("silence", "apps.notifications warning demo, Production: no notification", "App Store Connect") {
            bench in
            bench.configure(
                "apps",
                .array([
                    bench.app(["environments": .strings(["Production"]), "apple_app_id": .int(1)])
                ]))
        },
        Damage(
            "silence, while apps post purchases", "apps.notifications warning demo, Production: no notification",
            "App Store Connect"
        ) { bench in
            bench.configure(
                "apps", .array([bench.app(["environments": .strings(["Production"]), "apple_app_id": .int(1)])]))
            let now = SystemClock().now()
            try bench.database.execute(
                """
                INSERT INTO entitled.notification
                    (lane, seq, app, environment, uuid, type, signed_ms, received_ms, source, header, payload, signature)
                VALUES (3, $1, 'demo', 0, 'u', 'TRANSACTION', $2, $2, 4, gen_random_uuid(), '', '')
                """, [.int8(SequenceGenerator.least(at: now)), .int8(now)])
        },
        Damage(
            "an unmapped product", "apps.products warning 1 purchased product without an entitlement: gems",
            "entitlements",
            sql: "INSERT INTO entitled.product VALUES ('gems', 'demo', 1, 'Consumable', 1)"),
        Damage("a key that everybody reads", "configuration.files error apps[0].server_api.private_key", "chmod 600") {
            chmod($0.key, 0o644)
        },
        Damage("another root", "certificates.roots warning trust.root_sha256 abab", "apple.com") { bench in
            bench.configure("trust", .object(["root_sha256": .strings([String(repeating: "ab", count: 32)])]))
        },
        Damage("a clock that is behind", "clock.notifications error this host's clock is", "NTP") { bench in
            let now = SystemClock().now()
            try bench.database.execute(
                """
                INSERT INTO entitled.notification
                    (lane, seq, app, environment, uuid, type, signed_ms, received_ms, source, header, payload, signature)
                VALUES (3, $1, 'demo', 1, 'u', 'DID_RENEW', $2, $3, 0, gen_random_uuid(), '', '')
                """,
                [.int8(SequenceGenerator.least(at: now)), .int8(now + 900_000), .int8(now)])
        },
    ]

    static let apple = [
        Damage(
            "a revoked key", "app_store.key error demo, Sandbox: Apple rejects the key KEY1234567 (401)", "issuer_id"
        ) {
            $0.apple.become(.refusesKey)
        },
        Damage("no URL", "app_store.round_trip error demo, Sandbox: Apple sends no test", "set the URL") {
            $0.apple.become(.hasNoURL)
        },
        Damage(
            "a URL that cannot be reached", "app_store.round_trip error demo, Sandbox: Apple could not", "from outside"
        ) {
            $0.apple.become(.cannotDeliver)
        },
        Damage("another's URL", "app_store.round_trip error demo, Sandbox: Apple delivered", "compare the URL") {
            $0.apple.become(.deliversElsewhere)
        },
        Damage("no Apple", "app_store.key error demo, Sandbox: Apple's Server API cannot be reached", "reach") {
            $0.apple.stop()
        },
    ]

    @Test(arguments: database + work + money + endpoints + apps + apple)
    func `each damage has its line and no other line but its own`(damage: Damage) throws {
        let bench = try DoctorFixture()
        try damage.make(bench)
        let section = damage.line.prefix { $0 != "." }
        let more = section == "app_store" ? [] : ["--offline"]
        let outcome = bench.run(["doctor", "--json"] + more)
        let complaints = DoctorFixture.complaints(of: outcome)
        let found = try #require(complaints.first { $0.hasPrefix(damage.line) }, "\(complaints)")
        #expect(found.contains(" → ") && found.contains(damage.action), "\(found)")
        #expect(complaints.allSatisfy { $0.hasPrefix(section) }, "\(complaints)")
        let isError = complaints.contains { $0.split(separator: " ")[1] == "error" }
        #expect(outcome.status == (isError ? 1 : 0))
        #expect(outcome.errorLines == (isError ? 1 : 0))
    }

    private static func deliver(state: Int16, attempts: Int16, due: Int64, _ bench: DoctorFixture) throws {
        try bench.database.execute(
            """
            INSERT INTO entitled.delivery
                (lane, id, endpoint, event, event_type, state, attempts, next_ms, last_status, created_ms)
            SELECT 4, gen_random_uuid(), id, gen_random_uuid(), 'RENEWAL', $1, $2, $3, 500, $4 FROM entitled.endpoint
            """, [.int2(state), .int2(attempts), .int8(due), .int8(now)])
    }

    @Test func `a cluster that forgets, and roles that may too much, have their lines`() throws {
        let bench = try DoctorFixture(try TestCluster())
        try bench.database.execute("ALTER ROLE entitled_ingest CREATEDB")
        try bench.database.execute("GRANT entitled_worker TO entitled_ingest")
        let complaints = bench.complaints(["--offline"])
        #expect(complaints.contains { $0.hasPrefix("database.server error fsync is off") })
        #expect(
            complaints.contains { $0.contains("entitled_ingest is CREATEDB → ALTER ROLE entitled_ingest NOCREATEDB") })
        #expect(complaints.contains { $0.contains("entitled_ingest can become entitled_worker") })
    }

    @Test func `without a database the rest is looked at all the same`() throws {
        let cluster = try TestCluster()
        let bench = try DoctorFixture(cluster)
        try cluster.stop()
        let complaints = bench.complaints()
        #expect(complaints.count { $0.hasPrefix("database.connection error entitled_") } == 4)
        #expect(complaints.contains { $0.contains("not checked without the database: database.server") })
        let all = bench.run(["doctor", "--json"]).document?["checks"]?.arrayValue ?? []
        #expect(all.contains { $0["name"]?.stringValue == "app_store.key" && $0["status"]?.stringValue == "ok" })
        #expect(all.contains { $0["name"]?.stringValue == "certificates.roots" })
    }

    @Test func `a database that nobody migrated is told to migrate`() throws {
        let bench = try DoctorFixture()
        try bench.database.execute("DROP SCHEMA entitled CASCADE")
        #expect(bench.complaints(["--offline"]).contains { $0.hasSuffix("→ entitled migrate") })
    }

    @Test func `all mistakes of the configuration have lines, and machines get them as one document`() throws {
        let bench = try DoctorFixture()
        bench.configure("worker", .object(["leese": .string("10s"), "expiry_patience": .string("soon")]))
        let complaints = bench.complaints()
        #expect(complaints.count == 2)
        #expect(complaints.allSatisfy { $0.hasPrefix("configuration.values error worker.") })
        let outcome = bench.run(["doctor", "--json"])
        #expect(outcome.status == 1 && outcome.errorLines == 1)
        #expect(outcome.document?["ok"]?.boolValue == false)
    }

    @Test func `offline nobody asks Apple`() throws {
        let bench = try DoctorFixture()
        bench.apple.become(.refusesKey)
        #expect(bench.complaints(["--offline"]).isEmpty)
    }
}
