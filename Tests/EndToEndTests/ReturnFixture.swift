import Base
import Crypto
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport

/// A site at work, whose Apple has a history, on a cluster of its own that goes back.
final class ReturnFixture {
    let cluster: TestCluster
    private(set) var database: TestDatabase
    let site: Site
    let apple: StoreService
    let consumer: Consumer
    let operators: Consumer
    private(set) var ingest: Program
    private(set) var worker: Program
    private var databaseURL: String
    /// That of the consumer.
    private(set) var secret = ""
    /// Stored before the state to which the database goes back, and after it.
    let before: [StoreNotification]
    let after: [StoreNotification]

    /// - Parameter url: by which way the processes reach the database.
    init(_ cluster: TestCluster, url: (TestDatabase) -> String = { $0.url }) throws {
        let now = SystemClock().now()
        var lives = (UInt64(0)..<6).map { SubscriberLife(app: Site.app, seed: 3300, number: $0) }
        before = lives.indices.map { lives[$0].start(at: now - 3 * StoreProduct.day + Int64($0)) }
        // Signed a moment ago: nothing but a restored database makes Apple's history be scanned up to them.
        var late = (UInt64(10)..<14).map { SubscriberLife(app: Site.app, seed: 3300, number: $0) }
        after =
            lives.indices.map { lives[$0].autoRenewOff(at: now + Int64($0)) }
            + late.indices.map { late[$0].start(at: now + 10 + Int64($0)) }
        self.cluster = cluster
        database = try cluster.makeMigratedDatabase()
        site = try Site(database)
        consumer = try Consumer()
        operators = try Consumer()
        var settings = StoreSettings()
        settings.app = Site.app
        apple = try StoreService(
            settings, site.pki, token: .generate(bundleID: Site.app.bundleID), notifications: before + after)
        try apple.start()
        databaseURL = url(database)
        try apple.token.key.pem().write(toFile: "\(site.folder)/AuthKey.p8", atomically: true, encoding: .utf8)
        ingest = try Program(running: ["/bin/true"], folder: site.folder)
        worker = ingest
        try site.configure(sections(state: "\(site.folder)/state"))
        secret = try site.addEndpoint(consumer).secret
        ingest = try site.start("ingest")
        worker = try site.start("worker")
        try untilStored(before)
        let worker = worker
        try eventually("Apple's history is scanned; it said: \(worker.log.suffix(2000))") {
            worker.log.contains("first Apple history scan completed")
        }
        try untilTold(before.count)
        try untilRaised()
    }

    /// The configuration of its processes.
    func sections(state: String) -> [String: JSON] {
        [
            "state_dir": .string(state), "database": .object(["url": .string(databaseURL)]),
            "webhooks": .object([
                "allow_private_networks": .strings(["127.0.0.0/8"]), "operations_url": .string(operators.url("/ops")),
            ]),
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": .string(Site.app.bundleID),
                    "apple_app_id": .int(Site.app.appleAppID), "environments": .strings(["Production"]),
                    "server_api": .object([
                        "issuer_id": .string(apple.token.issuerID), "key_id": .string(apple.token.keyID),
                        "private_key_file": .string("\(site.folder)/AuthKey.p8"), "base_url": .string(apple.baseURL),
                    ]),
                ])
            ]),
        ]
    }

    /// Its processes and commands use this database from now on.
    ///
    /// - Parameter state: their `state_dir`.
    func move(to database: TestDatabase, state: String) throws {
        self.database = database
        databaseURL = database.url
        try site.configure(sections(state: state))
    }

    deinit {
        for program in [ingest, worker] { program.kill() }
        apple.stop()
        consumer.stop()
        operators.stop()
    }

    // MARK: - Processes

    func stopProcesses() throws {
        for program in [ingest, worker] {
            program.kill(SIGTERM)
            _ = try program.wait()
        }
    }

    func startProcesses() throws {
        ingest = try site.start("ingest")
        worker = try site.start("worker")
    }

    func startWorker(environment: [String: String] = [:]) throws {
        worker = try site.start("worker", environment: environment)
    }

    var log: String { worker.log }

    // MARK: - What happens

    /// Posts them until they are taken.
    func untilStored(_ notifications: [StoreNotification]) throws {
        let address = try ingest.address("ingest")
        for notification in notifications {
            try eventually(timeout: .seconds(60), "it is taken; it said: \(ingest.log.suffix(2000))") {
                try site.post(notification, to: address) == 200
            }
        }
    }

    /// Waits until so many events reached the consumer.
    func untilTold(_ count: Int) throws {
        let said = { self.log.suffix(2000) }
        try eventually(timeout: .seconds(60), "\(count) events arrive; it said: \(said())") {
            Set(consumer.requests.map(\.id)).count >= count
        }
    }

    var number: Int64 { get throws { try database.count("SELECT number FROM entitled.database_position") } }

    /// Waits until the leader has raised the position twice more, so that every process has seen a greater one.
    func untilRaised() throws {
        let before = try number
        try eventually(timeout: .seconds(60), "the position is raised; it said: \(log.suffix(2000))") {
            try number >= before + 2
        }
    }

    /// Whether everything is known and applied.
    func isWhole() throws -> Bool {
        let known = Set(try database.texts("SELECT uuid FROM entitled.notification"))
        return try Set((before + after).map(\.uuid)).isSubset(of: known)
            && database.count("SELECT count(*) FROM entitled.pending") == 0
    }

    /// Waits for what the database lost, as long as may be.
    func untilWhole(since: ContinuousClock.Instant, in database: TestDatabase? = nil) throws -> Duration {
        let said = { self.log.suffix(3000) }
        try eventually(timeout: .seconds(90), "what was lost is back; it said: \(said())") {
            (try? isWhole()) ?? false
        }
        return ContinuousClock.now - since
    }

    /// The events that operators got, by type.
    var notices: [JSON] {
        operators.requests.compactMap { try? JSON(parsing: $0.body) }
            .filter { $0["type"]?.stringValue == "database.returned" }
    }

    // MARK: - Going back

    private var data: String { "\(cluster.folder)/postgres/data" }
    private var snapshot: String { "\(cluster.folder)/postgres/snapshot" }

    /// Copies the stopped cluster, and starts it again.
    func takeSnapshot() throws {
        try cluster.stop(.fast)
        try TestCommand.run(["/bin/cp", "-a", data, snapshot])
        try cluster.start()
    }

    /// Puts that copy back in place of what is there.
    func putSnapshotBack() throws {
        try cluster.stop(.immediate)
        try TestCommand.run(["/bin/rm", "-rf", data])
        try TestCommand.run(["/bin/cp", "-a", snapshot, data])
        try cluster.start()
    }
}

/// A base backup of a cluster with archived WAL, for a recovery to a point in time.
struct BaseBackup {
    private let cluster: TestCluster
    private var home: String { "\(cluster.folder)/postgres" }

    /// The cluster archives from now on.
    init(of cluster: TestCluster) throws {
        self.cluster = cluster
        let home = "\(cluster.folder)/postgres"
        try TestCommand.run(["/bin/mkdir", "\(home)/archive"])
        try TestCommand.giveAway("\(home)/archive")
        let connection = try PostgresConnection(PostgresTarget(url: cluster.url))
        try connection.query("ALTER SYSTEM SET archive_mode = on")
        try connection.query("ALTER SYSTEM SET archive_command = 'cp %p \(home)/archive/%f'")
        try connection.query("ALTER SYSTEM SET restore_command = 'cp \(home)/archive/%f %p'")
        try cluster.restart(.fast)
    }

    func take() throws {
        let programs = try TestStandby.findPrograms()
        try TestCommand.run(
            TestCommand.unprivileged([
                "\(programs)/pg_basebackup", "-h", cluster.host, "-U", "entitled", "-D", "\(home)/base", "-c", "fast",
                "--no-sync",
            ]))
    }

    /// This moment, by name; everything before it is archived.
    func pointInTime(in database: TestDatabase) throws -> String {
        try database.execute("SELECT pg_create_restore_point('here')")
        try database.execute("SELECT pg_switch_wal()")
        return "here"
    }

    /// The cluster as it was then, on a new timeline.
    func recover(to target: String) throws {
        try cluster.stop(.fast)
        try TestCommand.run(["/bin/rm", "-rf", "\(home)/data"])
        try TestCommand.run(["/bin/mv", "\(home)/base", "\(home)/data"])
        try TestCommand.run(
            TestCommand.unprivileged([
                "/bin/sh", "-c",
                """
                cd '\(home)/data' && touch recovery.signal && printf "%s\n" "recovery_target_name = '\(target)'" \
                    "recovery_target_action = 'promote'" >>postgresql.auto.conf
                """,
            ]))
        try cluster.start()
    }
}
