import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// Work that does not go on, rates and endpoints.
extension DoctorDamageTests {
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
                [.int8(SequenceGenerator.least(at: now - 7_200_000))])
        },
        Damage(
            "a purchase that waits",
            "work.notifications error the oldest notification that is not applied yet has waited for 2 h; "
                + "purchases that wait: 2000000000000001 of demo in Sandbox since "
                + Timestamp.text(now - 9_000_000) + ", with 50 facts that are not folded yet",
            "for these purchases"
        ) { bench in
            let (lane, seq) = (PostgresValue.int2(7), SequenceGenerator.least(at: now - 9_000_000))
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
            "diverted notifications that stay",
            "work.diverted warning notifications were accepted while the log could not be written",
            "diverted notifications not appended"
        ) { bench in
            try bench.database.execute(
                """
                INSERT INTO entitled.diverted_notification (seq, app, environment, uuid, type, signed_ms, received_ms, source,
                    header, payload, signature)
                VALUES (1, 'demo', 1, gen_random_uuid()::text, 'DID_RENEW', 1, $1, 0, '', '', '')
                """, [.int8(now - 3_600_000)])
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
            try deliver(state: 0, attempts: 0, due: now - 3_600_000, bench)
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
                """, [.int8(now + 3_600_000)])
        },
        Damage("a dead webhook", "work.dead warning 1 webhook of the last 14 days", "deliveries resend") { bench in
            try deliver(state: 2, attempts: 6, due: now, bench)
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
            try pay(["EUR", "USD", "JPY", "KWD", "EUR"], bench)
        }
    ]

    static let endpoints = [
        Damage("an endpoint that fails", "endpoints.state warning we_", "deliveries list --endpoint we_") { bench in
            try deliver(state: 0, attempts: 2, due: now + 3_600_000, bench)
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

    private static let now = SystemClock().now()

    private static func deliver(state: Int16, attempts: Int16, due: Int64, _ bench: DoctorFixture) throws {
        try bench.database.execute(
            """
            INSERT INTO entitled.delivery
                (lane, id, endpoint, event, event_type, state, attempts, next_ms, last_status, created_ms)
            SELECT 4, gen_random_uuid(), id, gen_random_uuid(), 'RENEWAL', $1, $2, $3, 500, $4 FROM entitled.endpoint
            """, [.int2(state), .int2(attempts), .int8(due), .int8(now)])
    }
}
