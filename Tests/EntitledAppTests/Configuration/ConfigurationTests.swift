import API
import Base
import Crypto
import Daemon
import EntitledApp
import Subscriptions
import Testing

struct ConfigurationTests {
    private let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    let bench = ConfigurationFixture()

    @Test func `an empty file means the documented defaults`() throws {
        let configuration = try bench.parse()
        #expect(configuration.stateDirectory == "/srv/.entitled")
        #expect(configuration.database.isPrivateCluster)
        #expect(configuration.ingest.listen.description == "127.0.0.1:8080")
        #expect(configuration.ingest.maxBodyBytes == 1_048_576)
        #expect(configuration.ingest.headerTimeout == .seconds(10))
        #expect(configuration.ingest.bodyTimeout == .seconds(30))
        #expect(configuration.ingest.idleTimeout == .seconds(60))
        #expect(configuration.retention.notifications == .seconds(400 * 86_400))
        #expect(configuration.reconcile.isEnabled)
        #expect(configuration.reconcile.interval == .seconds(3600))
        #expect(configuration.retention.attempts == .seconds(90 * 86_400))
        #expect(configuration.retention.events == .seconds(400 * 86_400))
        #expect(configuration.retention.emptyCustomers == .seconds(90 * 86_400))
        #expect(configuration.api.limits.address.text == "30000/1m")
        #expect(configuration.api.limits.secretKey.isOff)
        #expect(configuration.worker.lease == .seconds(10))
        #expect(configuration.worker.expiryPatience == .seconds(86400))
        #expect(configuration.entitlementsFromSandbox == .all)
        #expect(configuration.defaultGracePeriod == .seconds(3 * 86400))
        #expect(configuration.restoreBehavior == .transfer)
        #expect(configuration.api.listen.description == "127.0.0.1:8081")
        #expect(configuration.admin.listen.description == "127.0.0.1:9464")
        #expect(configuration.trust.rootSHA256.map { Hex.encode($0).prefix(8) } == ["63343abf"])
        #expect(configuration.apps.isEmpty)
        #expect(configuration.webhooks.retrySchedule == [1, 12, 24, 48, 72].map { .seconds($0 * 3600) })
        #expect(configuration.webhooks.timeout == .seconds(30))
        #expect(configuration.webhooks.maxInFlightPerEndpoint == 8 && configuration.webhooks.maxInFlight == 256)
        #expect(configuration.webhooks.disableAfter == .seconds(5 * 86_400))
        #expect(configuration.webhooks.operationsURL == nil)
        #expect(configuration.drainTimeout == .seconds(20))
        #expect(configuration.log.level == .info)
    }

    @Test func `dollar rates are read to the millionth, from the file and from the environment`() throws {
        #expect(
            try bench.parse("{ webhooks: { usd_rates: { EUR: 1.08, JPY: 0.006713, KWD: 3 } } }").webhooks.usdRates
                == ["EUR": 1_080_000, "JPY": 6713, "KWD": 3_000_000])
        var other = bench
        other.environment = ["ENTITLED_WEBHOOKS_USD_RATES": "{ EUR: 1.1 }"]
        #expect(try other.parse().webhooks.usdRates == ["EUR": 1_100_000])
        for wrong in ["{ eur: 1 }", "{ EURO: 1 }", "{ EUR: 0 }", "{ EUR: -1 }", "{ EUR: '1' }", "{ EUR: 1e9 }", "[]"] {
            #expect(
                try bench.keys("{ webhooks: { usd_rates: \(wrong) } }").first?.hasPrefix("webhooks.usd_rates") == true)
        }
    }

    @Test func `a commission is a number, or a list by date, and Apple's standard where none is set`() throws {
        func commission(_ text: String) throws -> [SellerTerms.Commission]? {
            try bench.parse("{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox']\(text) }] }").apps.first?
                .commission
        }
        let (small, standard) = (Share(millionths: 150_000), Share(millionths: 300_000))
        #expect(try commission("") == [.standard])
        #expect(try commission(", commission: 0.15") == [SellerTerms.Commission(rate: small)])
        #expect(
            try commission(", commission: [{ rate: 0.15 }, { from: '2025-01-01', rate: 0.30, after_a_year: 0.15 }]")
                == [
                    SellerTerms.Commission(rate: small),
                    SellerTerms.Commission(from: 1_735_689_600_000, rate: standard, afterAYear: small),
                ])
    }

    @Test func `all that is wrong with a commission and with taxes is said at once`() throws {
        let keys = try bench.keys(
            """
            { apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], commission: [
                { from: '2025-02-30', rate: 0.3 }, { from: '2025-01-01', rate: 15 }, { from: '2025-01-01', rate: 0.1 },
                { after_a_year: '0.15' }, { since: 1, rate: 0.3, from: 20250101 }, 0.15,
            ] }], reports: { tax: { DE: 19, Germany: 0.19, de: 0.19, FR: 0.1667 } } }
            """)
        #expect(
            Set(keys) == [
                "apps[0].commission[0].from", "apps[0].commission[1].rate", "apps[0].commission[2].from",
                "apps[0].commission[3].rate", "apps[0].commission[3].after_a_year", "apps[0].commission[4].since",
                "apps[0].commission[4].from", "apps[0].commission[5]", "reports.tax", "reports.tax.DE",
            ])
        for wrong in ["-0.1", "1.1", "'0.15'", "[]", "{}", "true"] {
            let app = "{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], commission: \(wrong) }"
            #expect(try bench.keys("{ apps: [\(app)] }") == ["apps[0].commission"])
        }
    }

    @Test func `taxes are shares by country, from the file and from the environment`() throws {
        var bench = bench
        #expect(
            try bench.parse("{ reports: { tax: { DE: 0.1597, XK: 0 } } }").reports.tax
                == ["DE": Share(millionths: 159_700), "XK": .none])
        bench.environment = ["ENTITLED_REPORTS_TAX": "{ FR: 0.1667 }"]
        #expect(try bench.parse().reports.tax == ["FR": Share(millionths: 166_700)])
    }

    @Test(arguments: [
        (true, "{}", "/var/lib/entitled"), (true, "{state_dir: 'x'}", "/srv/x"), (false, "{}", "/srv/.entitled"),
    ])
    func `only the default of the state directory depends on who starts it`(root: Bool, text: String, path: String)
        throws
    {
        var bench = bench
        bench.isSuperuser = root
        #expect(try bench.parse(text).stateDirectory == path)
    }

    @Test(arguments: [
        ("./a/../b", "/srv/b"), ("/x//y/.", "/x/y"), ("../../..", "/"), ("a", "/srv/a"), ("/", "/"),
    ])
    func `relative paths begin at the current directory`(text: String, path: String) {
        #expect(bench.surroundings.resolve(text) == path)
    }

    @Test func `a full file is read`() throws {
        var bench = bench
        bench.file("/srv/root.pem", Certificates.pem + Certificates.pem)
        bench.files["/srv/root.der"] = .contents(Certificates.der)
        for name in ["AuthKey.p8", "Older.p8"] { bench.file("/srv/\(name)", try SigningKey.generate(.p256).pem()) }
        let configuration = try bench.parse(
            """
            { // every section
              database: { url: "postgres://owner@127.0.0.1:5432/entitled", ingest_url: "postgresql://i@/e" },
              ingest: { listen: "[::1]:0" }, worker: { lease: "5s" },
              trust: { root_sha256: [], root_files: ["root.pem", "root.der"] },
              entitlements_from_sandbox: ["me", "you"],
              apps: [ { id: "demo", bundle_id: "com.example.app", apple_app_id: 1234567890,
                        environments: ["Sandbox", "Production", "Sandbox"],
                        server_api: { issuer_id: "57246542-96fe-1a63-e053-0824d011072a", key_id: "2X9R4HXF34",
                                      private_key_file: "AuthKey.p8", base_url: "http://127.0.0.1:9/",
                                      previous: { key_id: "OLDERKEY", private_key_file: "Older.p8" } } } ],
              entitlements: { pro: ["pro_monthly", "pro_yearly"], none: [] },
              products: { season_pass: { duration: "P3M" }, day_pass: { duration: "24h" } },
              webhooks: { retry_schedule: ["1s", "1s"], allow_private_networks: ["127.0.0.0/8", "::1/128"] },
              log: { level: "debug" },
            }
            """)
        #expect(configuration.database.url(for: .ingest)?.exposed == "postgresql://i@/e")
        #expect(configuration.database.url(for: .worker)?.exposed == "postgres://owner@127.0.0.1:5432/entitled")
        #expect(configuration.database.ownURL(of: .worker) == nil)
        #expect(!configuration.database.isPrivateCluster)
        #expect(configuration.ingest.listen == ListenAddress(host: "::1", port: 0))
        #expect(configuration.trust.rootSHA256.isEmpty)
        #expect(configuration.trust.rootCertificates == [Certificates.der, Certificates.der, Certificates.der])
        #expect(configuration.entitlementsFromSandbox == .customers(["me", "you"]))
        let app = try #require(configuration.apps.first)
        #expect(app.environments == [.sandbox, .production])
        #expect(app.appleAppID == 1_234_567_890)
        #expect(app.serverAPI?.privateKeyFile == "/srv/AuthKey.p8")
        #expect(app.serverAPI?.baseURL == "http://127.0.0.1:9")
        #expect(app.serverAPI?.sandboxBaseURL == nil)
        #expect(app.serverAPI?.previous?.keyID == "OLDERKEY")
        #expect(app.serverAPI?.previous?.issuerID == "57246542-96fe-1a63-e053-0824d011072a")
        #expect(app.serverAPI?.previous?.privateKeyFile == "/srv/Older.p8")
        #expect(configuration.entitlements == ["pro": ["pro_monthly", "pro_yearly"], "none": []])
        #expect(configuration.productDurations == ["season_pass": .months(3), "day_pass": .time(86_400_000)])
        #expect(configuration.foldSettings.durations == configuration.productDurations)
        #expect(configuration.webhooks.retrySchedule == [.seconds(1), .seconds(1)])
        #expect(configuration.webhooks.allowPrivateNetworks == ["127.0.0.0/8", "::1/128"])
        #expect(configuration.log.level == .debug)
    }

    @Test func `an app may have restore behaviours of its own, and words that are none are refused`() throws {
        func text(_ settings: String) -> String {
            "{ restore_behavior: 'error', apps: [{ id: 'demo', bundle_id: 'com.example.app', apple_app_id: 1, \(settings) }] }"
        }
        let app = try #require(
            try bench.parse(text("restore_behavior: 'share', sandbox_restore_behavior: 'transfer'")).apps.first)
        #expect(app.restoreBehavior == .share)
        #expect(app.sandboxRestoreBehavior == .transfer)
        let other = try #require(try bench.parse(text("")).apps.first)
        #expect(other.restoreBehavior == nil)
        #expect(other.sandboxRestoreBehavior == nil)
        #expect(try bench.keys(text("sandbox_restore_behavior: 'mine'")) == ["apps[0].sandbox_restore_behavior"])
    }

    @Test func `null means not set`() throws {
        let configuration = try bench.parse(
            """
            { database: null, ingest: { listen: null }, log: { level: null }, apps: null, entitlements: null,
              worker: { lease: null } }
            """)
        #expect(configuration.ingest.listen.port == 8080)
        #expect(configuration.worker.lease == .seconds(10))
        #expect(configuration.apps.isEmpty)
    }

    @Test func `both environments are taken unless the app says otherwise`() throws {
        let configuration = try bench.parse("{ apps: [{ id: 'a', bundle_id: 'b', apple_app_id: 1 }] }")
        #expect(configuration.apps.first?.environments == [.production, .sandbox])
    }

    @Test(arguments: ["aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gMTI=", String(repeating: "0aF9", count: 16)])
    func `a sealing key may be base64 or hexadecimal`(text: String) throws {
        let keys = try bench.parse("{ webhooks: { secret_keys: ['\(text)'] } }").webhooks.secretKeys
        #expect(keys.map(\.exposed.count) == [32])
    }

    @Test func `a private key that this user may not read is no mistake`() throws {
        var bench = bench
        bench.files["/k"] = .denied
        let server = "server_api: { issuer_id: '\(issuer)', key_id: 'k', private_key_file: '/k' }"
        let app = "{ apps: [{ id: 'a', bundle_id: 'b', environments: ['Sandbox'], \(server) }] }"
        #expect(try bench.parse(app).apps.first?.serverAPI?.privateKeyFile == "/k")
    }

    @Test(arguments: [("never", Duration.zero), ("0s", .zero), ("60s", .seconds(60)), ("7d", .seconds(604_800))])
    func `endpoints are disabled after a while, or never`(text: String, duration: Duration) throws {
        #expect(try bench.parse("{ webhooks: { disable_after: '\(text)' } }").webhooks.disableAfter == duration)
    }

    @Test func `operators are told at a public https: address, or in networks that are allowed`() throws {
        for (url, networks) in [
            ("https://ops.example.com/x", "[]"), ("http://127.0.0.1:9/x", "['127.0.0.0/8']"),
            ("http://ops.internal/x", "['10.0.0.0/8']"), ("https://10.1.2.3/x", "['10.0.0.0/8']"),
        ] {
            let text = "{ webhooks: { operations_url: '\(url)', allow_private_networks: \(networks) } }"
            #expect(try bench.parse(text).webhooks.operationsURL?.hasPrefix("http") == true)
        }
    }
}

struct ListenAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080), ("0.0.0.0:0", "0.0.0.0", 0), ("[::1]:65535", "::1", 65535),
        ("localhost:1", "127.0.0.1", 1),
    ])
    func `numeric addresses are read`(text: String, host: String, port: UInt16) {
        #expect(ListenAddress(text: text) == ListenAddress(host: host, port: port))
    }

    @Test(arguments: [
        "", ":", ":80", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
        "::1:80", "[127.0.0.1]:80", "[::1]", "example.com:80", "127.0.0.1:8o", "300.0.0.1:80", "127.0.0.1:٣",
    ])
    func `all else is refused`(text: String) {
        #expect(ListenAddress(text: text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:1", "127.0.0.1:1", true), ("127.0.0.1:1", "127.0.0.1:2", false),
        ("127.0.0.1:0", "127.0.0.1:0", false),
        ("0.0.0.0:1", "127.0.0.1:1", true), ("127.0.0.1:1", "[::1]:1", false), ("127.0.0.1:1", "[::]:1", true),
    ])
    func `clashes are seen`(a: String, b: String, clash: Bool) throws {
        let first = try #require(ListenAddress(text: a))
        let second = try #require(ListenAddress(text: b))
        #expect(first.clashes(with: second) == clash)
    }

    @Test(arguments: [
        ("10.0.0.0/8", true), ("10.0.0.1/8", false), ("0.0.0.0/0", true), ("10.0.0.0/33", false), ("10.0.0.0", false),
        ("::1/128", true), ("fd00::/8", true), ("fd00::1/8", false), ("::/129", false), ("10.0.0.0/", false),
        ("10.0.0.0/8/8", false), ("/8", false), ("10.0.0.0/-1", false), ("127.0.0.1/32", true), ("10.128.0.0/9", true),
    ])
    func `ranges have no bit after the prefix`(text: String, isRange: Bool) {
        #expect(NetworkAddress.isRange(text) == isRange)
    }
}
