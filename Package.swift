// swift-tools-version: 6.2
import PackageDescription

// Modules in the order of their layers: a module may import only what stands above it in its own line.

/// Of C code: canaries in stack frames, and checked library calls where the compiler optimises.
let hardening: [CSetting] = [
    .unsafeFlags(["-fstack-protector-strong"]),
    .unsafeFlags(["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"], .when(configuration: .release)),
]
/// Of programs: every symbol is bound at the start, and the tables of addresses are read-only from then on (full RELRO).
let binding: [LinkerSetting] = [
    .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now"])
]

/// C libraries from the system, found by pkg-config; each is imported by exactly one Swift module.
let systemLibraries: [Target] = [
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libssl libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    // epoll and eventfd, which Glibc's module leaves out.
    .target(name: "CLinux", cSettings: hardening),
]

let modules: [Target] = [
    // Values without I/O: identifiers, base64url, durations, JSON output, the clock seam.
    .target(name: "Base"),
    // Log lines and metrics.
    .target(name: "Telemetry", dependencies: ["Base"]),
    // Starting, draining and stopping the services of a process.
    .target(name: "Lifecycle", dependencies: ["Base", "Telemetry"]),
    // Certificates, signatures, digests and sealing, by OpenSSL.
    .target(name: "Crypto", dependencies: ["COpenSSL", "Base"]),
    // zstd with dictionaries.
    .target(name: "Compression", dependencies: ["CZstd", "Base"]),
    // Connections, queries and transactions, by libpq.
    .target(name: "Postgres", dependencies: ["CLibpq", "Base", "Telemetry"]),
    // Listeners, by libmicrohttpd, with a guard in front of its leniency.
    .target(name: "HTTPServer", dependencies: ["CMicrohttpd", "Base", "Telemetry", "Lifecycle"]),
    // Outgoing requests, by libcurl, to vetted addresses only.
    .target(name: "HTTPClient", dependencies: ["CCurl", "CLinux", "Base", "Telemetry", "Lifecycle"]),
    // Apple's wire models and the verification of what Apple signed.
    .target(name: "AppStore", dependencies: ["Base", "Crypto"]),
    // Apple's App Store Server API, as its caller.
    .target(
        name: "AppStoreAPI", dependencies: ["Base", "Telemetry", "Lifecycle", "Crypto", "HTTPClient", "AppStore"]),
    // PURE: facts to subscriptions to entitlements; differences to events.
    .target(name: "Subscriptions", dependencies: ["Base"]),
    // The schema of the database: migrations, embedded, and their application.
    .target(
        name: "Schemas", dependencies: ["Base", "Telemetry", "Postgres"], path: "schemas",
        exclude: ["events", "config.schema.json", "openapi.yaml", "openapi.released.json"],
        sources: [
            "Schemas.swift", "Migrator.swift", "DatabaseRole.swift", "PublicPrivileges.swift", "RoleMaking.swift",
        ],
        resources: [.embedInCode("sql")]),
    // Lanes, leases, fences and the notifications that wait in them.
    .target(
        name: "Queue", dependencies: ["Base", "Telemetry", "Crypto", "Compression", "Postgres", "AppStore", "Schemas"]),
    // Customers, facts, purchases, events, deliveries and endpoints: their SQL.
    .target(
        name: "Records",
        dependencies: ["Base", "Crypto", "Compression", "Postgres", "AppStore", "Subscriptions", "Queue"]),
    // What Apple signed on its way into the database: verified, for one of our apps, ready to be stored.
    .target(name: "Admission", dependencies: ["Base", "Crypto", "AppStore", "AppStoreAPI", "Queue"]),
    // The store's endpoint.
    .target(
        name: "Ingest",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "HTTPServer", "AppStore", "Queue", "Admission",
        ]),
    // What people and apps do with customers: joining ids, moving purchases, deleting.
    .target(
        name: "Customers",
        dependencies: ["Base", "Lifecycle", "Crypto", "Postgres", "Subscriptions", "Queue", "Records"]),
    // Records again from the log, and how they differ from it.
    .target(
        name: "Rebuild", dependencies: ["Base", "Crypto", "Postgres", "Subscriptions", "Queue", "Records"]),
    // Subscriptions and money of a time, counted from facts.
    .target(
        name: "Reports", dependencies: ["Base", "Lifecycle", "Postgres", "Subscriptions", "Queue", "Records"]),
    // What is stored about one customer: exporting it, and removing it from everywhere once they are deleted.
    .target(
        name: "Privacy",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Compression", "Postgres", "AppStore", "Subscriptions", "Queue",
            "Records", "Customers", "Rebuild",
        ]),
    // Long work that outlives who began it, and the kind of it that sends consumers again what they missed.
    .target(
        name: "Replay", dependencies: ["Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "Queue", "Records"]),
    // Sending webhooks.
    .target(
        name: "Deliver",
        dependencies: ["Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "HTTPClient", "Records", "Queue"]),
    // The owner of lanes: applies what waits in them.
    .target(
        name: "Apply",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "AppStore", "Subscriptions", "Queue", "Records",
            "Deliver",
        ]),
    // What was kept long enough goes: days of notifications and attempts, keys, bodies of events.
    .target(
        name: "Retention",
        dependencies: ["Base", "Telemetry", "Lifecycle", "Postgres", "Queue", "Records"]),
    // Answering what Apple asks before it decides on a refund.
    .target(
        name: "Refunds",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "AppStoreAPI", "Subscriptions", "Queue", "Records",
        ]),
    // Apple's notification history beside ours: what was missed comes back.
    .target(
        name: "Reconcile",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "AppStore", "AppStoreAPI", "Subscriptions", "Queue",
            "Records", "Admission", "Replay",
        ]),
    // The REST listener.
    .target(
        name: "API",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "HTTPServer", "HTTPClient", "AppStore",
            "AppStoreAPI", "Subscriptions", "Queue", "Records", "Admission", "Customers", "Privacy",
        ]),
    // Configuration, wiring, commands.
    .target(
        name: "EntitledApp",
        dependencies: [
            "Base", "Telemetry", "Lifecycle", "Crypto", "Postgres", "HTTPServer", "HTTPClient", "AppStore",
            "AppStoreAPI", "Subscriptions", "Schemas", "Queue", "Records", "Customers", "Rebuild", "Admission",
            "Ingest", "Apply", "Deliver", "Retention", "Refunds", "API", "Replay", "Reconcile", "Reports", "Privacy",
        ]),
    .executableTarget(name: "entitled", dependencies: ["EntitledApp"], linkerSettings: binding),
    // The App Store for tests, demonstrations and benchmarks. Shares no code with verification.
    .target(name: "StoreSimulator", dependencies: ["Base", "Telemetry", "Lifecycle", "Crypto", "HTTPServer"]),
    .executableTarget(name: "storesim", dependencies: ["StoreSimulator"], linkerSettings: binding),
    // Speed, measured with real processes on a private Postgres.
    .executableTarget(
        name: "Benchmarks",
        dependencies: [
            "Admission", "AppStore", "Base", "Crypto", "HTTPServer", "Ingest", "Lifecycle", "Postgres", "Queue",
            "Records", "StoreSimulator", "Subscriptions", "Telemetry", "TestSupport",
        ]),
]

/// What tests of several modules share: a private Postgres cluster, a consumer of webhooks, waiting for conditions.
let testSupport: [Target] = [
    .target(
        name: "TestSupport",
        dependencies: [
            "Base", "HTTPClient", "HTTPServer", "Lifecycle", "Postgres", "Queue", "Records", "Schemas", "Telemetry",
        ],
        path: "Tests/TestSupport"),
    // Readers of what strangers send, mutated inputs for them, and what must hold of the answers.
    .target(
        name: "Fuzzing",
        dependencies: ["AppStore", "Base", "Compression", "Crypto", "Deliver", "HTTPClient", "Queue", "Records"],
        path: "Tests/Fuzzing"),
    .executableTarget(name: "fuzz", dependencies: ["Fuzzing"], path: "Tests/FuzzProgram"),
]

let tests: [Target] = [
    .testTarget(name: "BaseTests", dependencies: ["Base"]),
    .testTarget(name: "TelemetryTests", dependencies: ["Base", "Telemetry"]),
    .testTarget(name: "LifecycleTests", dependencies: ["Base", "Lifecycle", "Telemetry"]),
    .testTarget(name: "CryptoTests", dependencies: ["Base", "Crypto"]),
    .testTarget(name: "CompressionTests", dependencies: ["Base", "Compression"]),
    .testTarget(name: "PostgresTests", dependencies: ["Base", "Postgres", "Telemetry", "TestSupport"]),
    .testTarget(
        name: "HTTPServerTests", dependencies: ["Base", "HTTPServer", "Lifecycle", "Telemetry", "TestSupport"]),
    .testTarget(
        name: "HTTPClientTests", dependencies: ["Base", "HTTPClient", "Lifecycle", "Telemetry", "TestSupport"]),
    .testTarget(name: "AppStoreTests", dependencies: ["AppStore", "Base", "Crypto"]),
    .testTarget(
        name: "AppStoreAPITests",
        dependencies: [
            "AppStore", "AppStoreAPI", "Base", "Crypto", "HTTPClient", "HTTPServer", "Lifecycle", "StoreSimulator",
            "Telemetry", "TestSupport",
        ], exclude: ["AppleClient"]),
    .testTarget(name: "FuzzTests", dependencies: ["AppStore", "Base", "Fuzzing"], exclude: ["Corpus"]),
    .testTarget(name: "SubscriptionsTests", dependencies: ["Base", "Subscriptions"]),
    .testTarget(
        name: "QueueTests",
        dependencies: [
            "AppStore", "Base", "Compression", "Crypto", "Lifecycle", "Postgres", "Queue", "Schemas", "Telemetry",
            "TestSupport",
        ]),
    .testTarget(
        name: "RecordsTests",
        dependencies: [
            "AppStore", "Base", "Compression", "Crypto", "Postgres", "Queue", "Records", "Subscriptions", "TestSupport",
        ]),
    .testTarget(
        name: "DeliverTests",
        dependencies: [
            "Base", "Crypto", "Deliver", "HTTPClient", "HTTPServer", "Lifecycle", "Postgres", "Queue", "Records",
            "Telemetry", "TestSupport",
        ]),
    .testTarget(
        name: "RetentionTests",
        dependencies: [
            "Base", "Crypto", "Lifecycle", "Postgres", "Queue", "Records", "Retention", "Schemas", "Subscriptions",
            "Telemetry", "TestSupport",
        ]),
    .testTarget(
        name: "ReplayTests",
        dependencies: [
            "Base", "Crypto", "Lifecycle", "Postgres", "Queue", "Records", "Replay", "Retention", "Telemetry",
            "TestSupport",
        ]),
    .testTarget(name: "ReportsTests", dependencies: ["Base", "Reports", "Subscriptions"]),
    .testTarget(
        name: "ReconcileTests",
        dependencies: ["Admission", "AppStoreAPI", "Base", "Queue", "Reconcile", "Replay"]),
    .testTarget(
        name: "APITests",
        dependencies: [
            "API", "Admission", "AppStore", "Base", "Crypto", "Customers", "HTTPServer", "Lifecycle", "Postgres",
            "Queue", "Records", "Schemas", "StoreSimulator", "Subscriptions", "Telemetry", "TestSupport",
        ]),
    .testTarget(name: "StoreSimulatorTests", dependencies: ["AppStore", "Base", "Crypto", "StoreSimulator"]),
    .testTarget(
        name: "EntitledAppTests",
        dependencies: [
            "API", "AppStore", "AppStoreAPI", "Base", "Crypto", "EntitledApp", "HTTPServer", "Lifecycle", "Postgres",
            "Queue", "Records", "Schemas", "StoreSimulator", "Subscriptions", "Telemetry", "TestSupport",
        ]),
    // Several modules on a real Postgres.
    .testTarget(
        name: "IntegrationTests",
        dependencies: [
            "API", "Admission", "AppStore", "AppStoreAPI", "Apply", "Base", "Crypto", "Customers", "Deliver",
            "HTTPClient", "HTTPServer", "Ingest", "Lifecycle", "Postgres", "Privacy", "Queue", "Rebuild", "Reconcile",
            "Records", "Refunds", "Replay", "Reports", "Retention", "Schemas", "StoreSimulator", "Subscriptions",
            "Telemetry", "TestSupport",
        ]),
    // Real processes, killed for real.
    .testTarget(
        name: "EndToEndTests",
        dependencies: [
            "Base", "Crypto", "HTTPClient", "Lifecycle", "Postgres", "Queue", "Records", "StoreSimulator", "Telemetry",
            "TestSupport",
        ], exclude: ["Contract/Python"]),
]

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Modules in which tests spend their time: optimised in debug builds too, which halves the time they take.
let optimised: Set = ["Base", "Crypto", "Postgres", "AppStore", "Subscriptions", "Queue", "Records", "StoreSimulator"]

for target in modules + testSupport + tests {
    target.swiftSettings = settings
    if optimised.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
    }
}

let package = Package(
    name: "entitled",
    products: [
        .executable(name: "entitled", targets: ["entitled"]),
        .executable(name: "storesim", targets: ["storesim"]),
    ],
    targets: systemLibraries + modules + testSupport + tests,
    swiftLanguageModes: [.v6]
)
