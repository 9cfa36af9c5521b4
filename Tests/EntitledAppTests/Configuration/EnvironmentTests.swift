import Base
import Daemon
import EntitledApp
import Testing

struct EnvironmentTests {
    @Test func `the environment outranks the file`() throws {
        var bench = ConfigurationFixture()
        bench.environment = ["ENTITLED_INGEST_LISTEN": "0.0.0.0:80", "ENTITLED_WORKER_LEASE": ""]
        let configuration = try bench.parse("{ ingest: { listen: '127.0.0.1:1' }, worker: { lease: '7s' } }")
        #expect(configuration.ingest.listen.description == "0.0.0.0:80")
        #expect(configuration.worker.lease == .seconds(7), "an empty variable counts as not set")
        let setting = configuration.settings.first { $0.key == "ingest.listen" }
        #expect(setting?.origin == .variable("ENTITLED_INGEST_LISTEN"))
        #expect(configuration.settings.first { $0.key == "worker.lease" }?.origin == .file)
        #expect(configuration.settings.first { $0.key == "drain_timeout" }?.origin == .standard)
    }

    @Test(arguments: ["1s,2s", " 1s , 2s ", #"["1s","2s"]"#, "['1s', '2s',]"])
    func `lists have commas or are JSON`(text: String) throws {
        var bench = ConfigurationFixture()
        bench.environment = ["ENTITLED_WEBHOOKS_RETRY_SCHEDULE": text]
        #expect(try bench.parse().webhooks.retrySchedule == [.seconds(1), .seconds(2)])
    }

    @Test func `every kind of value can be set`() throws {
        var bench = ConfigurationFixture()
        bench.environment = [
            "ENTITLED_STATE_DIR": "here", "ENTITLED_INGEST_MAX_BODY_BYTES": "2048", "ENTITLED_LOG_LEVEL": "error",
            "ENTITLED_ENTITLEMENTS_FROM_SANDBOX": "none", "ENTITLED_ENTITLEMENTS": "{pro: ['a']}",
            "ENTITLED_APPS": "[{id: 'a', bundle_id: 'b', apple_app_id: 7}]", "ENTITLED_TRUST_ROOT_FILES": "[]",
            "ENTITLED_DRAIN_TIMEOUT": "5s", "ENTITLED_DATABASE_URL": "postgres://x/y",
            "ENTITLED_RECONCILE_ENABLED": "false",
        ]
        let configuration = try bench.parse("{ apps: [{ id: 'other', bundle_id: 'other', apple_app_id: 1 }] }")
        #expect(configuration.stateDirectory == "/srv/here")
        #expect(configuration.ingest.maxBodyBytes == 2048)
        #expect(configuration.log.level == .error)
        #expect(configuration.entitlementsFromSandbox == Configuration.SandboxAccess.none)
        #expect(configuration.entitlements == ["pro": ["a"]])
        #expect(configuration.apps.map(\.id) == ["a"])
        #expect(configuration.drainTimeout == .seconds(5))
        #expect(!configuration.reconcile.isEnabled)
        #expect(configuration.database.url?.exposed == "postgres://x/y")
    }

    @Test(arguments: [
        ("all", Configuration.SandboxAccess.all), ("a,b", .customers(["a", "b"])), ("a", .customers(["a"])),
    ])
    func `sandbox access is a word or a list`(text: String, access: Configuration.SandboxAccess) throws {
        var bench = ConfigurationFixture()
        bench.environment = ["ENTITLED_ENTITLEMENTS_FROM_SANDBOX": text]
        #expect(try bench.parse().entitlementsFromSandbox == access)
    }

    @Test(arguments: [
        ("ENTITLED_INGEST_MAX_BODY_BYTES", "much", "ingest.max_body_bytes"),
        ("ENTITLED_INGEST_LISTEN", "80", "ingest.listen"), ("ENTITLED_APPS", "demo", "apps"),
        ("ENTITLED_APPS", "[{id: 'a', bundle_id: 'b', apple_app_id: 0}]", "apps[0].apple_app_id"),
        ("ENTITLED_APPS", "[{id: 'a', bundle_id: 'b', apple_app_id: 1, color: 0}]", "apps[0].color"),
        ("ENTITLED_APPS", "[{id: 'a', bundle_id: 'b'}]", "apps[0].apple_app_id"),
        ("ENTITLED_ENTITLEMENTS", "pro", "entitlements"),
        ("ENTITLED_WEBHOOKS_RETRY_SCHEDULE", "[", "webhooks.retry_schedule"),
    ])
    func `a mistake names the variable`(variable: String, text: String, key: String) throws {
        var bench = ConfigurationFixture()
        bench.environment = [variable: text]
        let mistakes = try bench.mistakes()
        #expect(mistakes.map(\.key) == [key])
        #expect(mistakes.first?.variable == variable)
        #expect(mistakes.first?.description.hasPrefix("\(key) (from \(variable)): found ") == true)
    }

    @Test func `files of secrets_dir give what neither the file nor a variable sets`() throws {
        var bench = ConfigurationFixture()
        bench.environment = ["ENTITLED_DATABASE_API_URL": "postgres://of/variable"]
        for role in ["ingest", "api", "worker"] {
            bench.file("/run/secrets/database_\(role)_url", "postgres://of/dir\n")
        }
        bench.files["/run/secrets/database_console_url"] = .denied
        bench.file("/run/secrets/api_secret_keys", "sk_11111111\nsk_22222222\n")
        let configuration = try bench.parse(
            "{ secrets_dir: '/run/secrets', database: { worker_url: 'postgres://of/file', ingest_url: null }, api: { secret_keys: [] } }"
        )
        #expect(configuration.database.ingestURL?.exposed == "postgres://of/dir")
        #expect(configuration.database.apiURL?.exposed == "postgres://of/variable")
        #expect(configuration.database.workerURL?.exposed == "postgres://of/file")
        #expect(configuration.database.url == nil && configuration.database.consoleURL == nil)
        #expect(configuration.api.secretKeys.count == 2)
        let setting = configuration.settings.first { $0.key == "database.ingest_url" }
        #expect(setting?.origin == .variable("/run/secrets/database_ingest_url"))
        #expect(setting?.value == .string("[redacted]"))
    }

    @Test func `a file of secrets_dir that is empty or wrong is a mistake of its key`() throws {
        var bench = ConfigurationFixture()
        bench.environment = ["ENTITLED_SECRETS_DIR": "/run/secrets"]
        bench.file("/run/secrets/database_url", "\n")
        bench.file("/run/secrets/webhooks_secret_keys", "short")
        let mistakes = try bench.mistakes()
        #expect(Set(mistakes.map(\.key)) == ["database.url", "webhooks.secret_keys[0]"])
        #expect(mistakes.allSatisfy { $0.variable?.hasPrefix("/run/secrets/") == true })
        #expect(!mistakes.contains { $0.description.contains("short") })
    }

    @Test func `a secret can come from a file`() throws {
        var bench = ConfigurationFixture()
        bench.environment = [
            "ENTITLED_DATABASE_URL_FILE": "/run/secrets/url", "ENTITLED_API_SECRET_KEYS_FILE": "keys",
        ]
        bench.file("/run/secrets/url", "postgres://u:p@h/d\n")
        bench.file("/srv/keys", "sk_11111111\nsk_22222222\n")
        let configuration = try bench.parse("{ database: { url: 'postgres://other/db' } }")
        #expect(configuration.database.url?.exposed == "postgres://u:p@h/d")
        #expect(configuration.api.secretKeys.map(\.exposed) == ["sk_11111111", "sk_22222222"])
    }

    @Test(arguments: [
        (["ENTITLED_DATABASE_URL_FILE": "/absent"], "database.url", "no such file"),
        (["ENTITLED_DATABASE_URL_FILE": "/empty"], "database.url", "an empty file"),
        (["ENTITLED_DATABASE_URL_FILE": "/url", "ENTITLED_DATABASE_URL": "postgres://x"], "database.url", "as well"),
        (["ENTITLED_DATABASE_URL_FILE": "/bad"], "database.url", "not shown"),
    ])
    func `a file of a secret that cannot be used says why`(
        environment: [String: String], key: String, reason: String
    ) throws {
        var bench = ConfigurationFixture()
        bench.environment = environment
        bench.file("/url", "postgres://x")
        bench.file("/empty", " \n")
        bench.file("/bad", "hunter2")
        let mistakes = try bench.mistakes()
        #expect(mistakes.map(\.key) == [key])
        #expect(mistakes.first?.variable == "ENTITLED_DATABASE_URL_FILE")
        #expect(mistakes.first?.found.contains(reason) == true)
    }

    @Test(arguments: [("true", true), ("false", false)])
    func `a switch is set by a word`(text: String, value: Bool) throws {
        var bench = ConfigurationFixture()
        bench.environment = ["ENTITLED_WEBHOOKS_HTTP2": text, "ENTITLED_WEBHOOKS_KEEP_RESPONSE_BODIES": text]
        let webhooks = try bench.parse("{}").webhooks
        #expect(webhooks.http2 == value && webhooks.keepResponseBodies == value)
        bench.environment = ["ENTITLED_WEBHOOKS_HTTP2": "yes"]
        #expect(try bench.mistakes().map(\.key) == ["webhooks.http2"])
    }

    @Test func `only secrets have files`() {
        let names = ConfigurationKeys.all.compactMap(\.fileVariable)
        #expect(
            Set(names) == [
                "ENTITLED_DATABASE_URL_FILE", "ENTITLED_DATABASE_INGEST_URL_FILE", "ENTITLED_DATABASE_WORKER_URL_FILE",
                "ENTITLED_DATABASE_API_URL_FILE", "ENTITLED_DATABASE_API_READ_URL_FILE",
                "ENTITLED_DATABASE_CONSOLE_URL_FILE", "ENTITLED_API_PUBLIC_KEYS_FILE",
                "ENTITLED_API_SECRET_KEYS_FILE", "ENTITLED_TELEMETRY_HEADERS_FILE",
                "ENTITLED_WEBHOOKS_PROXY_FILE", "ENTITLED_WEBHOOKS_SECRET_KEYS_FILE",
                "ENTITLED_CONSOLE_PROXY_SECRET_FILE",
            ])
    }

    @Test(arguments: [
        ("ENTITLED_INGEST_LISTN", "ENTITLED_INGEST_LISTEN"),
        ("ENTITLED_DATABASE_URL_FLIE", "ENTITLED_DATABASE_URL_FILE"),
    ])
    func `a variable that is nearly one is a mistake`(name: String, meant: String) throws {
        var bench = ConfigurationFixture()
        bench.environment = [name: "x"]
        #expect(try bench.mistakes().map(\.suggestion) == [meant])
        #expect(try bench.keys() == [name])
    }

    @Test(arguments: [
        "ENTITLED_SERVICE_HOST", "ENTITLED_PORT", "ENTITLED_API_PORT_8081_TCP", "ENTITLED_BIN", "ENTITLED_TEST_DATA",
        "ENTITLED_CONFIG", "ENTITLED_KEEP", "ENTITLED_SEED",
    ])
    func `other variables with the prefix are left alone`(name: String) throws {
        var bench = ConfigurationFixture()
        bench.environment = [name: "x"]
        #expect(try bench.keys().isEmpty)
    }
}
