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

/// The revision that a build is told it is built from; SwiftPM's own answer may be that of an earlier build.
let revision: [CSetting] =
    Context.environment["ENTITLED_REVISION"].map { text in
        [
            .define(
                "ENTITLED_REVISION",
                to: "\"\(text.filter { $0.isLetter || $0.isNumber || "-._".contains($0) }.prefix(80))\"")
        ]
    } ?? []

/// C libraries from the system, found by pkg-config; each is imported by exactly one Swift module.
let systemLibraries: [Target] = [
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libssl libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // epoll and eventfd, which Glibc's module leaves out.
    .target(name: "CLinux", cSettings: hardening),
    // The rename that replaces nothing, which Glibc's module leaves out.
    .target(name: "CFiles", cSettings: hardening),
    // Which source the program was built from, and which build it is.
    .target(name: "CBuild", cSettings: hardening + revision),
    // Migrations, contracts and the style sheet, as bytes of the program.
    .target(name: "CEmbedded", cSettings: hardening),
]

let modules: [Target] = [
    // Values without I/O: instants, identifiers, JSON, base64, durations, dates of HTTP.
    .target(name: "Base", dependencies: ["CEmbedded"]),
    // What any daemon needs: log lines, metrics, services, threads, settings, fail points.
    .target(name: "Daemon", dependencies: ["Base"]),
    // PURE: pages as trees of elements and text; the only writer of HTML.
    .target(name: "Markup", dependencies: ["Base"]),
    // Arguments, terminal, tables.
    .target(name: "CLI", dependencies: ["Base", "Daemon"]),
    // Certificates, revocation answers, signatures, digests and sealing, by OpenSSL.
    .target(name: "Crypto", dependencies: ["COpenSSL", "Base"]),
    // Connections, queries and transactions, by libpq; a private cluster.
    .target(name: "Postgres", dependencies: ["CLibpq", "Base", "Daemon"]),
    // Listeners, by libmicrohttpd, and outgoing requests, by libcurl; each with a guard in front.
    .target(name: "HTTP", dependencies: ["CCurl", "CMicrohttpd", "CLinux", "Base", "Daemon"]),
    // Apple's wire models and the verification of what Apple signed; offline.
    .target(name: "AppStore", dependencies: ["Base", "Crypto"]),
    // Everything that asks Apple: the App Store Server API and OCSP responders.
    .target(name: "AppStoreAPI", dependencies: ["Base", "Daemon", "Crypto", "HTTP", "AppStore"]),
    // PURE: facts to purchases to entitlements; differences to events. Of Crypto, SHA-256 alone.
    .target(name: "Subscriptions", dependencies: ["Base", "Crypto"]),
    // PURE: numbers over time as tables, and their drawings.
    .target(name: "Charts", dependencies: ["Base", "Markup", "Subscriptions"]),
    // The schema of the database: migrations, embedded, and their application.
    .target(
        name: "Schemas", dependencies: ["Base", "Daemon", "Postgres"], path: "schemas",
        exclude: [
            "cli", "events", "config.schema.json", "openapi.released.json", "schema.sql", "sql", "openapi.yaml",
            "operator.yaml",
        ],
        sources: [
            "Schemas.swift", "OpenAPIDocument.swift", "SchemaVersion.swift", "Migrator.swift", "MigrationLocks.swift",
            "MigrationPlan.swift",
            "OnlineStep.swift", "OnlineStepRunner.swift", "DatabaseRole.swift", "Privileges.swift",
            "PrivilegeGranting.swift", "PublicPrivileges.swift", "RoleMaking.swift", "AnalystRole.swift",
            "TablePlacement.swift", "Distribution.swift", "DistributionMove.swift", "ClusterState.swift",
            "ClusterServers.swift",
        ]),
    // The SQL of log, lanes and records; the packing of rows, by zstd.
    .target(
        name: "Database", dependencies: ["CZstd", "Base", "Crypto", "Postgres", "AppStore", "Subscriptions"]),
    // The only way into the log for signed data: verify, admit, pack, commit; Apple's endpoint.
    .target(
        name: "Ingest",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI", "Subscriptions", "Database",
        ]),
    // Operations on whole customers that people and apps start.
    .target(
        name: "Customers", dependencies: ["Base", "Daemon", "Crypto", "Postgres", "Subscriptions", "Database"]),
    // The owner of lanes: applies the log, sends webhooks.
    .target(
        name: "Worker",
        dependencies: ["Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "Subscriptions", "Database"]),
    // Repeated or long work that one worker does for all.
    .target(
        name: "Duties",
        dependencies: [
            "CZlib", "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI", "Subscriptions",
            "Database",
            "Ingest", "Customers",
        ]),
    // REST v1 for apps and backends.
    .target(
        name: "API",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI", "Subscriptions", "Database",
            "Ingest", "Customers",
        ]),
    // The operator API: questions of operators, answered from the database by role; its listener.
    .target(
        name: "Operator",
        dependencies: [
            "Base", "Daemon", "CLI", "Crypto", "Postgres", "HTTP", "AppStore", "Subscriptions", "Charts", "Database",
            "AppStoreAPI", "Customers", "Worker", "Duties", "API",
        ]),
    // Operators on the web: how they log in, and what a request of theirs must have.
    .target(name: "Accounts", dependencies: ["Base", "Crypto", "Postgres", "HTTP", "Database"]),
    // The web console: pages of the operators' values, for browsers.
    .target(
        name: "Console",
        dependencies: [
            "Base", "Daemon", "Markup", "Crypto", "Postgres", "HTTP", "AppStore", "Subscriptions", "Charts", "Database",
            "Customers", "Duties", "Operator",
            "Accounts",
        ],
        exclude: ["Frame/console.css"]),
    // Commands, configuration, doctor, composition.
    .target(
        name: "EntitledApp",
        dependencies: [
            "CBuild", "CFiles", "Base", "Daemon", "CLI", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI",
            "Subscriptions", "Charts", "Schemas", "Database", "Ingest", "Customers", "Worker", "Duties", "API",
            "Operator",
            "Accounts", "Console",
        ]),
    .executableTarget(name: "entitled", dependencies: ["EntitledApp"], linkerSettings: binding),
    // The App Store for tests, demonstrations and benchmarks. Shares no code with verification.
    .target(name: "StoreSimulator", dependencies: ["Base", "Daemon", "CLI", "Crypto", "HTTP"]),
    .executableTarget(name: "storesim", dependencies: ["StoreSimulator"], linkerSettings: binding),
    // Speed, measured with real processes on a private Postgres.
    .executableTarget(
        name: "Benchmarks",
        dependencies: [
            "Base", "Daemon", "CLI", "Crypto", "Postgres", "AppStore", "Subscriptions", "Schemas", "Database", "Ingest",
            "StoreSimulator", "TestSupport",
        ]),
]

/// What tests of several modules share: a private Postgres cluster, a consumer of webhooks, waiting for conditions.
let testSupport: [Target] = [
    .target(
        name: "TestSupport", dependencies: ["Base", "Daemon", "Postgres", "HTTP", "Schemas", "Database"],
        path: "Tests/TestSupport"),
    // Readers of what strangers send, mutated inputs for them, and what must hold of the answers.
    .target(
        name: "Fuzzing", dependencies: ["Base", "Crypto", "HTTP", "AppStore", "Database", "Worker"],
        path: "Tests/Fuzzing"),
    .executableTarget(name: "fuzz", dependencies: ["Fuzzing"], path: "Tests/FuzzProgram"),
]

let tests: [Target] = [
    .testTarget(name: "BaseTests", dependencies: ["Base"]),
    .testTarget(name: "DaemonTests", dependencies: ["Base", "Daemon", "TestSupport"]),
    .testTarget(name: "MarkupTests", dependencies: ["Base", "Markup"]),
    .testTarget(name: "ChartsTests", dependencies: ["Base", "Markup", "Subscriptions", "Charts"]),
    .testTarget(name: "CryptoTests", dependencies: ["Base", "Crypto"]),
    .testTarget(name: "PostgresTests", dependencies: ["Base", "Daemon", "Postgres", "Schemas", "TestSupport"]),
    .testTarget(name: "HTTPTests", dependencies: ["Base", "Daemon", "HTTP", "TestSupport"]),
    .testTarget(name: "AppStoreTests", dependencies: ["Base", "Crypto", "AppStore", "TestSupport"]),
    .testTarget(
        name: "AppStoreAPITests",
        dependencies: [
            "Base", "Daemon", "Crypto", "HTTP", "AppStore", "AppStoreAPI", "StoreSimulator", "TestSupport",
        ], exclude: ["AppleClient"]),
    .testTarget(name: "FuzzTests", dependencies: ["Base", "AppStore", "Fuzzing"], exclude: ["Corpus"]),
    .testTarget(name: "SubscriptionsTests", dependencies: ["Base", "Crypto", "Subscriptions", "TestSupport"]),
    .testTarget(
        name: "SchemasTests", dependencies: ["Base", "Daemon", "Postgres", "Schemas", "Database", "TestSupport"]),
    .testTarget(
        name: "DatabaseTests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "AppStore", "Subscriptions", "Schemas", "Database", "TestSupport",
        ]),
    .testTarget(
        name: "IngestTests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI", "Database", "Ingest",
            "StoreSimulator", "TestSupport",
        ]),
    .testTarget(name: "CustomersTests", dependencies: ["Base", "Subscriptions", "Customers"]),
    .testTarget(
        name: "WorkerTests",
        dependencies: ["Base", "Daemon", "Crypto", "Postgres", "HTTP", "Database", "Worker", "TestSupport"]),
    .testTarget(
        name: "DutiesTests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStoreAPI", "Subscriptions", "Schemas", "Database",
            "Customers", "Duties", "TestSupport",
        ]),
    .testTarget(
        name: "APITests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "Subscriptions", "Schemas", "Database",
            "Ingest", "Customers", "API", "StoreSimulator", "TestSupport",
        ]),
    .testTarget(
        name: "ConsoleTests",
        dependencies: [
            "Base", "Daemon", "Markup", "Crypto", "Postgres", "HTTP", "AppStore", "Subscriptions", "Schemas",
            "Database", "Charts", "Customers",
            "Duties", "Operator", "Accounts", "Console", "TestSupport",
        ]),
    .testTarget(
        name: "StoreSimulatorTests", dependencies: ["Base", "Daemon", "CLI", "Crypto", "AppStore", "StoreSimulator"]),
    .testTarget(name: "BenchmarksTests", dependencies: ["Base", "Daemon", "CLI", "Benchmarks"]),
    .testTarget(
        name: "EntitledAppTests",
        dependencies: [
            "Base", "Daemon", "CLI", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI", "Subscriptions",
            "Schemas", "Database", "API", "Operator", "EntitledApp", "StoreSimulator", "TestSupport",
        ]),
    .testTarget(
        name: "OperatorTests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "Subscriptions", "Schemas", "Database",
            "Customers", "Duties", "Operator", "TestSupport",
        ]),
    // Several roles on a real Postgres.
    .testTarget(
        name: "IntegrationTests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "AppStore", "AppStoreAPI", "Subscriptions", "Charts",
            "Schemas", "Database", "Ingest", "Customers", "Worker", "Duties", "API", "Operator", "StoreSimulator",
            "TestSupport",
        ]),
    // Real processes, killed for real.
    .testTarget(
        name: "EndToEndTests",
        dependencies: [
            "Base", "Daemon", "Crypto", "Postgres", "HTTP", "Subscriptions", "Schemas", "Database", "StoreSimulator",
            "TestSupport",
        ], exclude: ["Contract/Python"]),
]

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Modules that compute most in tests: optimised in debug builds, too. Of others a build loses more than the tests gain.
let optimised: Set = ["Base", "Crypto", "AppStore", "StoreSimulator"]

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
