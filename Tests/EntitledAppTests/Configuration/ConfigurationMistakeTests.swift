import Base
import Crypto
import Daemon
import EntitledApp
import Testing

struct ConfigurationMistakeTests {
    private let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    let bench = ConfigurationFixture()

    @Test func `all mistakes are reported at once`() throws {
        let keys = try bench.keys(
            """
            { ingest: { listen: 7, max_body_bytes: -1 }, webhooks: { retry_schedule: ["soon"] },
              apps: [ { id: "demo", bundle_id: "b", apple_app_id: 1, environments: ["Xcode"] } ], colour: "blue" }
            """)
        #expect(
            Set(keys) == [
                "ingest.listen", "ingest.max_body_bytes", "webhooks.retry_schedule[0]", "apps[0].environments[0]",
                "colour",
            ])
        #expect(keys.count == 5)
    }

    @Test(arguments: [
        ("{ state_dir: '' }", "state_dir"), ("{ state_dir: 7 }", "state_dir"),
        ("{ database: 'postgres://x' }", "database"), ("{ database: { url: 'mysql://x' } }", "database.url"),
        ("{ ingest: [] }", "ingest"), ("{ ingest: { listen: 'example.com:80' } }", "ingest.listen"),
        ("{ ingest: { max_body_bytes: 1023 } }", "ingest.max_body_bytes"),
        ("{ ingest: { max_body_bytes: '1MB' } }", "ingest.max_body_bytes"),
        ("{ ingest: { max_body_bytes: 2048.5 } }", "ingest.max_body_bytes"),
        ("{ ingest: { body_timeout: 30 } }", "ingest.body_timeout"),
        ("{ ingest: { body_timeout: '30' } }", "ingest.body_timeout"),
        ("{ ingest: { body_timeout: '1d' } }", "ingest.body_timeout"),
        ("{ ingest: { max_connections: 0 } }", "ingest.max_connections"),
        ("{ worker: { lease: '1s' } }", "worker.lease"),
        ("{ retention: { notifications: '179d' } }", "retention.notifications"),
        ("{ retention: { events: '3651d' } }", "retention.events"),
        ("{ retention: { attempts: '6d' } }", "retention.attempts"),
        ("{ retention: { empty_customers: '23h' } }", "retention.empty_customers"),
        ("{ api: { limits: 'off' } }", "api.limits"),
        ("{ api: { limits: { address: 'never' } } }", "api.limits.address"),
        ("{ api: { limits: { app_user_id: 600 } } }", "api.limits.app_user_id"),
        ("{ api: { limits: { apple_account: '0/1m' } } }", "api.limits.apple_account"),
        ("{ api: { limits: { public_key: '10/2d' } } }", "api.limits.public_key"),
        ("{ api: { limits: { secret_key: '10' } } }", "api.limits.secret_key"),
        ("{ api: { limits: { customers: 'off' } } }", "api.limits.customers"),
        ("{ api: { trusted_proxies: ['10.0.0.1/8'] } }", "api.trusted_proxies[0]"),
        ("{ reconcile: { enabled: 'yes' } }", "reconcile.enabled"),
        ("{ reconcile: { interval: '59s' } }", "reconcile.interval"),
        ("{ worker: { expiry_patience: '31d' } }", "worker.expiry_patience"),
        ("{ entitlements_from_sandbox: 'some' }", "entitlements_from_sandbox"),
        ("{ entitlements_from_sandbox: ['a', 7] }", "entitlements_from_sandbox[1]"),
        ("{ api: { public_keys: 'appl_12345678' } }", "api.public_keys"),
        ("{ api: { secret_keys: ['with a space'] } }", "api.secret_keys[0]"),
        ("{ trust: { root_sha256: ['63343ABF'] } }", "trust.root_sha256[0]"),
        ("{ trust: { root_files: ['/absent.pem'] } }", "trust.root_files[0]"),
        ("{ apps: {} }", "apps"), ("{ apps: [7] }", "apps[0]"),
        ("{ entitlements: [] }", "entitlements"), ("{ entitlements: { pro: 'x' } }", "entitlements.pro"),
        ("{ entitlements: { pro: ['a', ''] } }", "entitlements.pro[1]"),
        ("{ products: [] }", "products"), ("{ products: { season_pass: 'P3M' } }", "products.season_pass"),
        ("{ products: { season_pass: {} } }", "products.season_pass"),
        ("{ products: { season_pass: { duration: '3 months' } } }", "products.season_pass"),
        ("{ products: { season_pass: { duration: 'P3M', price: 1 } } }", "products.season_pass"),
        ("{ webhooks: { retry_schedule: '1h' } }", "webhooks.retry_schedule"),
        ("{ webhooks: { retry_schedule: ['1h', '0s'] } }", "webhooks.retry_schedule[1]"),
        ("{ webhooks: { allow_private_networks: ['10.0.0.1/8'] } }", "webhooks.allow_private_networks[0]"),
        ("{ webhooks: { secret_keys: ['c2hvcnQ='] } }", "webhooks.secret_keys[0]"),
        ("{ webhooks: { proxy: 'proxy:3128' } }", "webhooks.proxy"),
        ("{ webhooks: { proxy: 'http://proxy' } }", "webhooks.proxy"), ("{ webhooks: { http2: 1 } }", "webhooks.http2"),
        ("{ webhooks: { keep_response_bodies: 'no' } }", "webhooks.keep_response_bodies"),
        ("{ webhooks: { max_in_flight: 0 } }", "webhooks.max_in_flight"),
        ("{ webhooks: { max_in_flight_per_endpoint: 1001 } }", "webhooks.max_in_flight_per_endpoint"),
        ("{ webhooks: { disable_after: '59s' } }", "webhooks.disable_after"),
        ("{ webhooks: { disable_after: 'always' } }", "webhooks.disable_after"),
        ("{ webhooks: { operations_url: 'ops.example.com' } }", "webhooks.operations_url"),
        ("{ webhooks: { operations_url: 'https://u:p@ops.example.com/' } }", "webhooks.operations_url"),
        ("{ webhooks: { operations_url: 'http://ops.example.com/' } }", "webhooks.operations_url"),
        ("{ webhooks: { operations_url: 'https://10.0.0.1/' } }", "webhooks.operations_url"),
        (
            "{ webhooks: { operations_url: 'http://10.0.0.1/', allow_private_networks: ['127.0.0.0/8'] } }",
            "webhooks.operations_url"
        ),
        ("{ drain_timeout: '0s' }", "drain_timeout"), ("{ log: { level: 'loud' } }", "log.level"),
        ("[]", "the configuration"), ("{ trust: { root_sha256: [] } }", "trust.root_sha256"),
        ("{ admin: { listen: '127.0.0.1:8080' } }", "admin.listen"),
        ("{ api: { public_keys: ['same-key'], secret_keys: ['same-key'] } }", "api.public_keys"),
    ])
    func `one mistake is one line with its key`(text: String, key: String) throws {
        #expect(try bench.keys(text) == [key])
    }

    @Test(arguments: [
        ("{ }", ["apps[0].id", "apps[0].bundle_id", "apps[0].apple_app_id"]),
        ("{ id: 'a b', bundle_id: 'x', environments: ['Sandbox'] }", ["apps[0].id"]),
        ("{ id: 'a', bundle_id: 'x/y', environments: ['Sandbox'] }", ["apps[0].bundle_id"]),
        ("{ id: 'a', bundle_id: 'x', environments: [] }", ["apps[0].environments"]),
        ("{ id: 'a', bundle_id: 'x', environments: 'Sandbox' }", ["apps[0].environments"]),
        ("{ id: 'a', bundle_id: 'x', environments: ['Production'] }", ["apps[0].apple_app_id"]),
        ("{ id: 'a', bundle_id: 'x', apple_app_id: '7' }", ["apps[0].apple_app_id"]),
        ("{ id: 'a', bundle_id: 'x', apple_app_id: 0 }", ["apps[0].apple_app_id"]),
        ("{ id: 'a', bundle_id: 'x', apple_app_id: 7, server_api: 7 }", ["apps[0].server_api"]),
    ])
    func `mistakes in an app have its index`(app: String, keys: [String]) throws {
        let found = try bench.keys("{ apps: [\(app)] }")
        #expect(found.filter { !$0.hasPrefix("apps[0].server_api.") } == keys)
    }

    @Test func `a misspelt key of an app has a suggestion`() throws {
        let mistakes = try bench.mistakes("{ apps: [{ id: 'a', bundel: 'x', environments: ['Sandbox'] }] }")
        #expect(mistakes.first { $0.key == "apps[0].bundel" }?.suggestion == "apps[].bundle_id")
    }

    @Test func `an issuer is a UUID`() throws {
        var bench = bench
        bench.files["/k"] = .denied
        let server = "server_api: { issuer_id: 'x', key_id: 'k', private_key_file: '/k' }"
        let app = "{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], \(server) }] }"
        #expect(try bench.keys(app) == ["apps[0].server_api.issuer_id"])
    }

    @Test func `an app needs all of the server's credentials`() throws {
        let found = try bench.keys("{ apps: [{ id: 'a', bundle_id: 'x', apple_app_id: 7, server_api: {} }] }")
        #expect(found == ["issuer_id", "key_id", "private_key_file"].map { "apps[0].server_api.\($0)" })
    }

    @Test(arguments: [
        ("id: 'a', bundle_id: 'y'", "apps[1].id"), ("id: 'b', bundle_id: 'x'", "apps[1].bundle_id"),
    ])
    func `two apps share neither id nor bundle`(second: String, key: String) throws {
        let rest = "environments: ['Sandbox']"
        #expect(try bench.keys("{ apps: [{ id: 'a', bundle_id: 'x', \(rest) }, { \(second), \(rest) }] }") == [key])
    }

    @Test func `a duplicate is not reported of apps that have no id at all`() throws {
        let keys = try bench.keys("{ apps: [{ environments: ['Sandbox'] }, { environments: ['Sandbox'] }] }")
        #expect(keys == ["apps[0].id", "apps[0].bundle_id", "apps[1].id", "apps[1].bundle_id"])
    }

    @Test(arguments: [
        ("{ ingset: {} }", "ingset", "ingest"), ("{ ingest: { listne: 1 } }", "ingest.listne", "ingest.listen"),
        ("{ max_body_bytes: 1 }", "max_body_bytes", "ingest.max_body_bytes"),
        ("{ colour: 1 }", "colour", nil),
        (
            "{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], bundleid: 1 }] }", "apps[0].bundleid",
            "apps[].bundle_id"
        ),
    ])
    func `an unknown key comes with the one that was meant`(text: String, key: String, suggestion: String?) throws {
        let mistake = try #require(try bench.mistakes(text).first)
        #expect(mistake.key == key)
        #expect(mistake.suggestion == suggestion)
        #expect(mistake.allowed.hasPrefix("one of: "))
    }

    @Test func `a mistake says what was found and what is allowed`() throws {
        let mistake = try #require(try bench.mistakes("{ log: { level: 'loud' } }").first)
        #expect(
            mistake.description
                == #"log.level: found "loud"; allowed: "debug", "info", "notice", "warning" or "error""#)
    }

    @Test(arguments: [
        (FileReading.missing, "no such file"), (.denied, "permission denied"), (.contents([1, 2]), "no certificate"),
        (.contents([]), "no certificate"), (.failed("Is a directory"), "Is a directory"),
    ])
    func `a root that cannot be used says why`(reading: FileReading, reason: String) throws {
        var bench = bench
        bench.files["/srv/root.pem"] = reading
        let mistake = try #require(try bench.mistakes("{ trust: { root_files: ['root.pem'] } }").first)
        #expect(mistake.key == "trust.root_files[0]")
        #expect(mistake.found.contains("root.pem"))
        #expect(mistake.found.contains(reason))
    }

    @Test(arguments: [
        (FileReading.missing, "no such file"), (.contents(Array("hello".utf8)), "no private key"),
        (
            .contents(Array("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n".utf8)),
            "not a private key on P-256"
        ),
        (.contents(Array(((try? SigningKey.generate(.p384).pem()) ?? "").utf8)), "the private key is on P-384"),
    ])
    func `a private key that cannot be used says why`(reading: FileReading, reason: String) throws {
        var bench = bench
        bench.files["/srv/k.p8"] = reading
        let server = "server_api: { issuer_id: '\(issuer)', key_id: 'k', private_key_file: 'k.p8' }"
        let mistake = try #require(
            try bench.mistakes("{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], \(server) }] }").first)
        #expect(mistake.key == "apps[0].server_api.private_key_file")
        #expect(mistake.found.contains(reason))
    }

    @Test(arguments: [
        ("{ key_id: 'k', private_key_file: '/k' }", ["previous.key_id"]),
        ("{}", ["previous.key_id", "previous.private_key_file"]),
        ("7", ["previous", "previous.key_id", "previous.private_key_file"]),
        ("{ key_id: 'older', private_key_file: '/k', base_url: null }", ["previous.base_url"]),
        ("{ key_id: 'older', private_key_file: '/k' }", []), ("null", []),
    ])
    func `the other key is whole, and another`(previous: String, wrong: [String]) throws {
        var bench = bench
        bench.files["/k"] = .denied
        let server =
            "server_api: { issuer_id: '\(issuer)', key_id: 'k', private_key_file: '/k', previous: \(previous) }"
        let app = "{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], \(server) }] }"
        #expect(try bench.keys(app) == wrong.map { "apps[0].server_api.\($0)" })
    }

    @Test(arguments: [
        ("tls_certificate_file: 'c.pem'", ["ingest.tls_key_file"]),
        ("tls_key_file: 'k.pem'", ["ingest.tls_certificate_file"]),
        ("tls_certificate_file: 'absent', tls_key_file: 'k.pem'", ["ingest.tls_certificate_file"]),
        ("tls_certificate_file: 'c.pem', tls_key_file: 'absent'", ["ingest.tls_key_file"]),
        ("tls_certificate_file: 'k.pem', tls_key_file: 'k.pem'", ["ingest.tls_certificate_file"]),
        ("tls_certificate_file: 'c.pem', tls_key_file: 'c.pem'", ["ingest.tls_key_file"]),
        ("tls_certificate_file: 'c.pem', tls_key_file: 'other.pem'", ["ingest.tls_key_file"]),
        ("tls_certificate_file: 'c.pem', tls_key_file: 'denied'", []),
        ("tls_certificate_file: 'c.pem', tls_key_file: 'k.pem'", []),
    ])
    func `certificate and key are both there and belong together`(keys: String, wrong: [String]) throws {
        var bench = bench
        bench.file("/srv/c.pem", TLSFixture.certificate)
        bench.file("/srv/k.pem", TLSFixture.key)
        bench.file("/srv/other.pem", TLSFixture.otherKey)
        bench.files["/srv/denied"] = .denied
        let mistakes = try bench.mistakes("{ ingest: { \(keys) } }")
        #expect(mistakes.map(\.key) == wrong)
        #expect(!mistakes.contains { $0.found.contains("BEGIN") })
        if wrong.isEmpty {
            #expect(try bench.parse("{ ingest: { \(keys) } }").ingest.tls?.certificate == "/srv/c.pem")
        }
    }

    @Test func `a key of another certificate is said to be that`() throws {
        var bench = bench
        bench.file("/srv/c.pem", TLSFixture.certificate)
        bench.file("/srv/k.pem", TLSFixture.otherKey)
        let mistakes = try bench.mistakes("{ ingest: { tls_certificate_file: 'c.pem', tls_key_file: 'k.pem' } }")
        #expect(mistakes.first?.found == #""/srv/k.pem" (the key does not belong to the certificate)"#)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8090", true), ("https://api.storekit.itunes.apple.com/", true), ("ftp://x", false),
        ("https://", false), ("https:///x", false), ("https://user:secret@x", false), ("https://x?y=1", false),
        ("https://x y", false), ("x", false),
    ])
    func `the base URL is plain`(url: String, isGood: Bool) throws {
        var bench = bench
        bench.files["/k"] = .denied
        let server = "server_api: { issuer_id: '\(issuer)', key_id: 'k', private_key_file: '/k', base_url: '\(url)' }"
        let app = "{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], \(server) }] }"
        #expect(try bench.keys(app) == (isGood ? [] : ["apps[0].server_api.base_url"]))
    }
}
