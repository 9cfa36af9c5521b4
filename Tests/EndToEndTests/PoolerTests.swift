import Base
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Everything through PgBouncer in transaction mode.
///
/// Serialised: each test has a pooler and all processes under load.
@Suite(
    .serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"),
    .enabled(if: Pooler.isInstalled, "skipped: there is no PgBouncer"))
struct PoolerTests {
    private static let roles = ["ingest", "worker", "api"]

    /// The URLs of the roles through the pooler; the owner's, for migrating, past it.
    private func way(_ pooler: Pooler, _ database: TestDatabase) -> [String: JSON] {
        let urls = PoolerTests.roles.map {
            JSON.Member(name: "\($0)_url", value: .string(pooler.url("entitled_\($0)")))
        }
        return ["database": .object([JSON.Member(name: "url", value: .string(database.url))] + urls)]
    }

    /// Only who may log in comes through a pooler.
    private func makeDatabase(_ cluster: TestCluster) throws -> TestDatabase {
        let database = try cluster.makeMigratedDatabase()
        for role in PoolerTests.roles { try database.execute("ALTER ROLE entitled_\(role) LOGIN") }
        return database
    }

    @Test func `with role URLs everything works through it`() throws {
        let cluster = try TestCluster()
        let database = try makeDatabase(cluster)
        let pooler = try Pooler(database, host: cluster.host)
        let site = try Site(database, way(pooler, database))
        try site.run("migrate")
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let ingest = try site.start("ingest")
        let workers = [try site.start("worker"), try site.start("worker")]
        let address = try ingest.address("ingest")
        var lives = (0..<30).map { SubscriberLife(app: Site.app, seed: 70, number: $0) }
        for number in lives.indices {
            #expect(try site.post(lives[number].start(at: Site.start), to: address) == 200)
        }
        for number in lives.indices {
            let cancelled = lives[number].autoRenewOff(at: Site.start + StoreProduct.day)
            #expect(try site.post(cancelled, to: address) == 200)
        }
        try eventually(timeout: .seconds(40), "every event arrives") { Set(consumer.requests.map(\.id)).count == 60 }
        // Both have work, one connection serves them, and neither keeps it.
        try eventually("both have their share") {
            try database.texts("SELECT count(*)::text FROM entitled.lane GROUP BY owner") == ["128", "128"]
        }
        let connections = try database.count(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'entitled_worker'")
        #expect(connections == 1)

        let tokens = try lives.map { try #require($0.account.token) }
        try site.run("customers", "alias", tokens[0], tokens[1], "--reason", "a test")
        try site.run("customers", "transfer", tokens[2], tokens[3], "--reason", "a test")
        func customer(_ id: String) throws -> String? {
            try site.run("customers", "show", id, "--json").document?["customer"]?["original_app_user_id"]?.stringValue
        }
        #expect(try customer(tokens[0]) != nil && customer(tokens[0]) == customer(tokens[1]))
        try eventually("the transfer is told") { consumer.requests.contains { $0.type == "TRANSFER" } }
        try eventually("everything is written down") {
            try database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0") == 0
        }
        try site.run("rebuild", "--dry-run")
        for program in [ingest] + workers {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0, "\(program.log)")
        }
    }

    /// Nobody takes a role through a pooler; whether it refuses the wish or drops it.
    @Test(arguments: ["", "options, extra_float_digits"], roles)
    func `without a role's URL a process ends and names the key`(ignored: String, role: String) throws {
        let cluster = try TestCluster.shared
        let database = try cluster.makeMigratedDatabase()
        let pooler = try Pooler(database, host: cluster.host, ignored: ignored)
        let site = try Site(database, ["database": .object(["url": .string(pooler.url())])])
        let program = try site.run(role, status: 1)
        #expect(program.log.contains("database.\(role)_url"), "\(program.log)")
        #expect(program.logLines.count == 1)
    }
}
