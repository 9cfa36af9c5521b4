import Base
import Crypto
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport

/// A private Postgres with durable settings, migrated, and a configuration for daemons that use it.
final class Installation {
    /// What apps ask with.
    static let publicKey = "appl_benchmark"

    private let cluster: TestCluster
    private let program: String
    private let folder: String
    private let configuration: String
    private let postmasters: [pid_t]
    let database: PostgresConnection

    /// - Parameters:
    ///   - program: the daemon's path.
    ///   - root: the file of the root that notifications are signed under.
    ///   - folder: its maker removes it, and stops a Postgres that this process leaves behind.
    ///   - webhooks: further members of that section of the configuration.
    ///   - store: where Apple's Server API is; nil: nowhere.
    ///   - telemetry: that section of the configuration; nil: its defaults.
    ///   - countsStatements: whether Postgres counts what each statement costs (`StatementCosts`).
    ///   - shards: over how many shards of two further servers the tables are distributed; nil: one Postgres.
    init(
        program: String, root: String, folder: String, webhooks: [JSON.Member] = [], store: String? = nil,
        telemetry: JSON? = nil, countsStatements: Bool = false, shards: Int? = nil
    ) throws {
        self.program = program
        self.folder = folder
        guard access(program, X_OK) == 0 else {
            throw BenchmarkFailure("there is no program \(program); build it: swift build -c release")
        }
        cluster = try TestCluster(.durableForMeasuring, servers: shards == nil ? 0 : 2)
        if shards != nil {
            try TestServers.join([cluster] + cluster.servers, database: PrivateCluster.owner)
            let coordinator = try PostgresConnection(PostgresTarget(url: cluster.url))
            try coordinator.query("ALTER SYSTEM SET citus.recover_2pc_interval = '1d'")
            try coordinator.query("SELECT pg_reload_conf()")
        }
        if countsStatements { try StatementCosts.prepare(cluster) }
        configuration = "\(folder)/entitled.json5"
        let serverAPI = try store.map { try Installation.serverAPI($0, folder: folder) }
        let text = Installation.text(
            url: cluster.url(of: PrivateCluster.owner), root: root, folder: folder, webhooks: webhooks,
            serverAPI: serverAPI,
            telemetry: telemetry)
        try text.write(toFile: configuration)
        let url = cluster.url(of: PrivateCluster.owner)
        let arguments = ["migrate"] + (shards.map { ["--shards", "\($0)"] } ?? [])
        try DaemonProcess.run(arguments, program: program, configuration: configuration, folder: folder)
        database = try PostgresConnection(PostgresTarget(url: url, applicationName: "benchmarks"))
        postmasters = try ([cluster] + cluster.servers).map { server in
            let lines = try String(contentsOfFile: "\(server.folder)/postgres/data/postmaster.pid", encoding: .utf8)
            return lines.split(separator: "\n").first.flatMap { pid_t($0) } ?? 0
        }
    }

    deinit {
        try? cluster.stop(.immediate)
    }

    private static func serverAPI(_ origin: String, folder: String) throws -> JSON {
        let file = "\(folder)/server_api.p8"
        try Data(SigningKey.generate(.p256).pem().utf8).write(to: URL(fileURLWithPath: file))
        chmod(file, 0o600)
        return .object([
            "issuer_id": .string("57246542-96fe-1a63-e053-0824d011072a"), "key_id": .string("2X9R4HXF34"),
            "private_key_file": .string(file), "base_url": .string(origin),
        ])
    }

    private static func text(
        url: String, root: String, folder: String, webhooks: [JSON.Member], serverAPI: JSON?,
        telemetry: JSON?
    ) -> JSON {
        let app = StoreApp()
        return .object([
            "state_dir": .string("\(folder)/state"), "database": .object(["url": .string(url)]),
            "ingest": .object(["listen": .string("127.0.0.1:0")]),
            "api": .object(["listen": .string("127.0.0.1:0"), "public_keys": .strings([publicKey])]),
            "console": .object(["listen": .string("127.0.0.1:0")]),
            "admin": .object(["listen": .string("127.0.0.1:0")]),
            "trust": .object(["root_sha256": .array([]), "root_files": .strings([root])]),
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": .string(app.bundleID), "apple_app_id": .int(app.appleAppID),
                    "environments": .strings([app.environment]), "server_api": serverAPI,
                ])
            ]),
            "entitlements": .object(["pro": .strings(["pro_monthly", "pro_yearly", "pro_lifetime"])]),
            "webhooks": .object(
                [JSON.Member(name: "allow_private_networks", value: .strings(["127.0.0.0/8"]))] + webhooks),
            "telemetry": telemetry,
        ])
    }

    func start(_ role: String) throws -> DaemonProcess {
        try DaemonProcess(role, program: program, configuration: configuration, folder: folder)
    }

    /// Runs one of the daemon's commands; what it printed.
    @discardableResult
    func command(_ arguments: [String]) throws -> String {
        try DaemonProcess.run(arguments, program: program, configuration: configuration, folder: folder)
    }

    /// The id of a new endpoint.
    func addEndpoint(_ url: String, _ options: String...) throws -> String {
        let added = try JSON(parsing: Array(command(["endpoints", "add", url, "--json"] + options).utf8))
        guard let id = added["id"]?.stringValue else { throw BenchmarkFailure("endpoints add gave no id") }
        return id
    }

    /// For further connections as the owner, of threads that each have their own.
    var target: PostgresTarget {
        PostgresTarget(url: cluster.url(of: PrivateCluster.owner), applicationName: "benchmarks")
    }

    /// What Postgres logged.
    func serverLog() throws -> String {
        try String(contentsOfFile: "\(cluster.folder)/postgres/server.log", encoding: .utf8)
    }

    /// Seconds of processor time that Postgres used so far, on all servers.
    var postgresCPU: Double { postmasters.reduce(0) { $0 + ProcessUsage.treeCPU(of: $1) } }

    /// The same of the server that clients connect to.
    var coordinatorCPU: Double { postmasters.first.map { ProcessUsage.treeCPU(of: $0) } ?? 0 }

    /// Bytes in memory of Postgres' processes together.
    var postgresMemory: Double { postmasters.reduce(0) { $0 + ProcessUsage.treeMemory(of: $1) } }

    // MARK: - Looking into the database

    func number(_ sql: String) throws -> Int64 {
        try database.query(sql).one().int(ColumnName(place: 0))
    }

    /// Transactions that were prepared on a server so far, since a commit changed several; none on one Postgres.
    func twoPhaseCommits() throws -> Double {
        guard !cluster.servers.isEmpty else { return 0 }
        // Each leaves a row until recovery looks for it, which is long after a measurement.
        return Double(try number("SELECT count(*) FROM pg_dist_transaction"))
    }

    /// Waits until the query gives 0, asking rarely enough to cost little; the moment when it did.
    func waitForNone(
        _ sql: String, timeout: Duration = .seconds(1800), until done: () -> Bool = { false }
    ) throws -> ContinuousClock.Instant {
        let deadline = ContinuousClock.now + timeout
        while true {
            let asked = ContinuousClock.now
            if try number(sql) == 0 || done() { return ContinuousClock.now }
            guard asked < deadline else { throw BenchmarkFailure("did not end within \(timeout): \(sql)") }
            let cost = ContinuousClock.now - asked
            usleep(UInt32(clamping: max(5, cost.milliseconds * 20) * 1000))
        }
    }

    /// Bytes on disk of each table with its indexes, the largest first.
    func tableSizes() throws -> [(table: String, bytes: Int64)] {
        let rows = try database.query(
            """
            SELECT relname::text, pg_total_relation_size(oid) AS bytes FROM pg_class
            WHERE relnamespace = 'entitled'::regnamespace AND relkind = 'r' ORDER BY 2 DESC
            """)
        return try rows.map { (try $0.text("relname"), try $0.int("bytes")) }
    }

    /// Bytes on disk of each table (what lies outside of its rows included) and each index by itself, the largest first.
    func relationSizes() throws -> [(relation: String, bytes: Int64)] {
        let rows = try database.query(
            """
            SELECT relname::text, CASE relkind WHEN 'r' THEN pg_table_size(oid) ELSE pg_relation_size(oid) END AS bytes
            FROM pg_class WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'i') ORDER BY 2 DESC
            """)
        return try rows.map { (try $0.text("relname"), try $0.int("bytes")) }
    }
}

extension JSON {
    fileprivate func write(toFile path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}
