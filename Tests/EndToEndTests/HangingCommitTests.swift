import Base
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Commits that do not return, since no synchronous standby is there: real processes answer in time, leave few backends
/// behind, and continue by themselves.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct HangingCommitTests {
    private static let timeout = Duration.seconds(2)

    private let cluster: TestCluster
    private let database: TestDatabase
    private let site: Site

    init() throws {
        cluster = try TestCluster()
        database = try cluster.makeMigratedDatabase()
        site = try Site(
            database,
            [
                "ingest": .object(["listen": .string("127.0.0.1:0"), "commit_timeout": .string("2s")]),
                "api": .object([
                    "listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_hanging_commit_tests_0000"]),
                ]),
            ])
    }

    /// - Parameter name: of a standby; empty: commits wait for none.
    private func wait(for name: String) throws {
        let connection = try database.connect()
        try connection.query("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
        try connection.query("SELECT pg_reload_conf()")
        try eventually("the server has it") {
            try database.texts("SELECT current_setting('synchronous_standby_names')") == [name]
        }
    }

    private var hanging: Int64 {
        get throws {
            try database.count("SELECT count(*) FROM pg_stat_activity WHERE lower(wait_event) = 'syncrep'")
        }
    }

    private func isReady(_ process: Program) throws -> Bool {
        site.get("/readyz", from: try process.address("admin")).status == 200
    }

    @Test func `a commit that hangs is answered in time, leaves few backends, and passes by itself`() throws {
        let ingest = try site.start("ingest")
        let worker = try site.start("worker")
        let address = try ingest.address("ingest")
        var lives = (0..<24).map { SubscriberLife(app: Site.app, seed: 97, number: UInt64($0)) }
        let notifications = lives.indices.map { lives[$0].start(at: Site.start) }
        #expect(try site.post(notifications[0], to: address) == 200)
        try eventually("both are ready") { try isReady(ingest) && isReady(worker) }
        try wait(for: "missing")
        try eventually(timeout: .seconds(10), "both tell it; the worker said: \(worker.log.suffix(800))") {
            try !isReady(ingest) && !isReady(worker)
        }

        // Enough one after the other for several connections to be given up.
        for notification in notifications.dropFirst() {
            let began = ContinuousClock.now
            let status = try site.post(notification, to: address)
            let took = ContinuousClock.now - began
            #expect(status == 503 && took < Self.timeout + .seconds(1), "\(status) after \(took)")
        }
        let names = try database.texts(
            "SELECT application_name FROM pg_stat_activity WHERE lower(wait_event) = 'syncrep'")
        #expect(names.count <= 12, "\(names)")
        #expect(try !isReady(ingest) && !isReady(worker))
        #expect(ingest.log.contains("unresponsive database connections cut"))
        #expect(ingest.log.contains("commits hang"))
        try wait(for: "")
        try eventually(timeout: .seconds(20), "ingest takes notifications again; it said: \(ingest.log.suffix(800))") {
            try site.post(notifications[1], to: address) == 200
        }
        for notification in notifications { #expect(try site.post(notification, to: address) == 200) }
        try eventually(timeout: .seconds(40), "all are applied, once; the worker said: \(worker.log.suffix(800))") {
            try database.count("SELECT count(*) FROM entitled.notification") == notifications.count
                && database.count("SELECT count(*) FROM entitled.pending") == 0
                && database.count("SELECT count(*) FROM entitled.purchase") == notifications.count
        }
        try eventually(timeout: .seconds(10), "nothing hangs any more") { try hanging == 0 }
        try eventually("both are ready again") { try isReady(ingest) && isReady(worker) }
    }

    @Test func `a command tells what its statement waits for`() throws {
        try wait(for: "missing")
        let command = try site.start("users", "add", "anna", "--role", "operator")
        try eventually(timeout: .seconds(30), "it tells the reason") {
            command.log.contains("entitled: waiting for a synchronous standby of Postgres")
        }
        try wait(for: "")
        #expect(try command.wait() == 0)

        let holder = try database.connect()
        try holder.query("BEGIN")
        try holder.query("SET LOCAL application_name = 'a report'")
        try holder.query("LOCK TABLE entitled.console_user")
        let blocked = try site.start("users", "list")
        try eventually(timeout: .seconds(30), "it names the holder; it said: \(blocked.log)") {
            blocked.log.contains("entitled: waiting for a lock or the end of a transaction of a report (process ")
        }
        try holder.query("COMMIT")
        #expect(try blocked.wait() == 0 && blocked.text.contains("anna"))
    }

    /// `remote_apply` is more than what durability here needs; `local` is less.
    @Test func `what the server asks of commits is raised, and never lowered`() throws {
        for (set, wanted) in [("remote_apply", "remote_apply"), ("off", "on"), ("local", "on"), ("on", "on")] {
            let connection = try database.connect()
            try connection.query("SET synchronous_commit = \(set)")
            let found = try connection.query("SELECT \(Durability.setting) AS setting").one().text("setting")
            #expect(found == "\(wanted) warning", "\(set)")
        }
    }
}
