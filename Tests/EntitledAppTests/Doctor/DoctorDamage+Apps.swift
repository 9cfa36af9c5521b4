import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// Apps and their Apple.
extension DoctorDamageTests {
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
}
