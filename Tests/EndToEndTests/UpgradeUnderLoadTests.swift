import Base
import Daemon
import FoundationEssentials
import Glibc
import Postgres
import Schemas
import TestSupport
import Testing

/// `entitled migrate` beside real processes under load: the endpoint answers 200 all the time, and nothing is lost.
///
/// Serialised: each test has processes of its own under load.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct UpgradeUnderLoadTests {
    private func version(_ database: TestDatabase) throws -> Int? {
        try SchemaVersion.read(on: try database.connect())
    }

    /// A database of the oldest schema that this program works with.
    private func makeOldestDatabase() throws -> TestDatabase {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, upTo: SchemaVersion.oldest)
        _ = try PrivilegeGranting.apply(on: connection)
        return database
    }

    private func expectNoDifferences(_ site: Site) throws {
        // Ten minutes of load are 20,000 customers.
        let rebuilt = try site.run(["rebuild", "--dry-run", "--json"], timeout: .seconds(300))
        #expect(rebuilt.document?["differences"] == .int(0), "\(rebuilt.text)")
    }

    @Test func `a migration that is killed again and again under load is whole in the end, and costs no notification`()
        throws
    {
        let database = try makeOldestDatabase()
        let scene = try FaultFixture(database)
        scene.beginLoad()
        try scene.more(20)
        // A transaction ends with a migration that leaves steps to be done.
        let whole =
            [SchemaVersion.oldest, SchemaVersion.current]
            + Schemas.migrations.filter { !$0.steps.isEmpty && $0.version > SchemaVersion.oldest }.map(\.version)
        for delay in [5, 20, 40, 60, 80, 100] as [UInt32] {
            let migrating = try scene.site.start("migrate")
            usleep(delay * 1000)
            migrating.kill()
            _ = try migrating.wait()
            let found = try #require(try version(database))
            #expect(whole.contains(found), "\(found) of \(whole)")
            try scene.more(3)
        }
        let done = try scene.site.run("migrate", "--json")
        #expect(done.document?["version"] == .int(Int64(SchemaVersion.current)))
        try scene.more(20)
        // A process that is started again works with what the migration made.
        for place in 0..<2 { try scene.replaceWorker(place) }
        try scene.replaceIngest()
        try scene.more(20)
        try scene.endLoad()
        #expect(try scene.faults() == [])
        try expectNoDifferences(scene.site)
        #expect(scene.refused == 0)
    }

    @Test func `a newer schema comes and this program's processes work on, also when they are started again`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let scene = try FaultFixture(database)
        scene.beginLoad()
        try scene.more(20)
        let next = SchemaVersion.current + 1
        let expanding = Schemas.Migration(
            version: next, name: "expanding",
            sql: """
                ALTER TABLE entitled.fact ADD COLUMN counted int;
                ALTER TABLE entitled.purchase ADD COLUMN counted int;
                ALTER TABLE entitled.pending ADD COLUMN counted int;
                ALTER TABLE entitled.notification ADD COLUMN counted int;
                CREATE TABLE entitled.counted (id bigint PRIMARY KEY);
                """,
            oldestProgram: SchemaVersion.current,
            steps: [
                .index(name: "fact_by_counted", definition: "ON entitled.fact (counted)"),
                .backfill(
                    name: "counted", table: "counted",
                    batch: """
                        WITH written AS (
                            INSERT INTO entitled.counted
                            SELECT generate_series(coalesce($1::bigint, 0) + 1, least(coalesce($1::bigint, 0) + $2, 5000))
                            RETURNING id
                        )
                        SELECT CASE WHEN max(id) < 5000 THEN max(id)::text END AS cursor, count(*) AS rows FROM written
                        """),
            ])
        // The migrator's connection is ended several times on its way.
        for delay in [10, 30, 60, 150, 400] as [UInt32] {
            let migrating = TestThread {
                let target = PostgresTarget(url: database.url, applicationName: "migrator")
                _ = try? Migrator.migrate(on: try PostgresConnection(target), Schemas.migrations + [expanding])
            }
            usleep(delay * 1000)
            try database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'migrator'")
            try migrating.value()
            #expect([SchemaVersion.current, next].contains(try version(database)))
        }
        _ = try Migrator.migrate(on: try database.connect(), Schemas.migrations + [expanding])
        #expect(try version(database) == next)
        #expect(try database.count("SELECT count(*) FROM entitled.counted") == 5000)
        try scene.more(20)
        // Rolling back: the program of the version before is started on the newer schema.
        for place in 0..<2 { try scene.replaceWorker(place) }
        try scene.replaceIngest()
        let migrated = try scene.site.run("migrate")
        #expect(migrated.text.contains("newer than this program's \(SchemaVersion.current), which works with it"))
        let status = try #require(try scene.site.run("migrate", "--status", "--json").document)
        #expect(status["version"] == .int(Int64(next)) && status["fits"] == .bool(true))
        try scene.more(20)
        try scene.endLoad()
        #expect(try scene.faults() == [])
        try expectNoDifferences(scene.site)
        #expect(scene.refused == 0)
    }

    @Test func `what a migration would do is shown before it is done`() throws {
        let database = try makeOldestDatabase()
        let site = try Site(database)
        let status = try #require(try site.run("migrate", "--status", "--json").document)
        #expect(status["version"] == .int(Int64(SchemaVersion.oldest)) && status["fits"] == .bool(true))
        #expect(
            status["missing"]?.arrayValue?.compactMap { $0["version"]?.intValue }
                == (SchemaVersion.oldest + 1...SchemaVersion.current).map { Int64($0) })
        let dry = try site.run("migrate", "--dry-run").text
        #expect(dry.contains("schema_version (about ") && dry.contains("ACCESS EXCLUSIVE on every table"))
        #expect(try version(database) == SchemaVersion.oldest)
        let refused = try site.run("migrate", "--status", "--dry-run", status: 2)
        #expect(refused.log.contains("--status and --dry-run cannot be combined"))
        try site.run("migrate")
        #expect(try site.run("migrate", "--status").text.contains("the schema has version \(SchemaVersion.current)"))
    }

    @Test func `tables that are held for too long end the migration with a line that names the holder`() throws {
        let database = try makeOldestDatabase()
        let site = try Site(database)
        let holder = try PostgresConnection(PostgresTarget(url: database.url, applicationName: "nightly report"))
        _ = try holder.query("BEGIN")
        _ = try holder.query("SELECT count(*) FROM entitled.fact")
        let refused = try site.run("migrate", "--wait", "1s", status: 1)
        #expect(
            refused.logLines.count == 1 && refused.log.contains("(nightly report)") && refused.log.contains("--wait"))
        #expect(try version(database) == SchemaVersion.oldest)
        let waiting = try site.start("migrate", "--wait", "60s")
        usleep(700_000)
        _ = try holder.query("COMMIT")
        #expect(try waiting.wait() == 0)
        #expect(try version(database) == SchemaVersion.current)
    }

    // MARK: - From a released program

    /// A program of an earlier release, which a person built; `deploy/upgrade` does.
    private static let released = ProcessInfo.processInfo.environment["ENTITLED_RELEASED"]
    /// How long its processes and this program's work beside each other, in seconds.
    private static let mixed = ProcessInfo.processInfo.environment["ENTITLED_MIXED_SECONDS"].flatMap { Int($0) } ?? 0

    /// Processes of both programs, one replaced after the other by the other program's.
    private func mix(_ scene: FaultFixture, _ released: String) throws {
        let end = ContinuousClock.now + .seconds(Self.mixed)
        var number = 0
        while ContinuousClock.now < end {
            // Three processes, two programs: within six replacements each was both.
            scene.site.install(number % 2 == 0 ? released : Program.path)
            number % 3 == 2 ? try scene.replaceIngest() : try scene.replaceWorker(number % 3)
            try scene.more(200)
            number += 1
        }
        scene.site.install(Program.path)
        for place in 0..<2 { try scene.replaceWorker(place) }
        try scene.replaceIngest()
        print("mixed: \(number) replacements in \(Self.mixed) s, \(scene.acknowledged) notifications accepted in all")
    }

    /// The apis of both programs, side by side, say the same of customers.
    private func expectSameAnswers(_ scene: FaultFixture, _ released: String, by key: String) throws {
        let ids = try scene.database.texts(
            "SELECT original_app_user_id FROM entitled.customer ORDER BY first_seen_ms LIMIT 20")
        #expect(ids.count == 20)
        var answers: [[JSON?]] = []
        for program in [released, Program.path] {
            scene.site.install(program)
            let api = try scene.site.start("api")
            let port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
            answers.append(
                ids.map { id in
                    HTTPCall.send(
                        "GET", "/v1/subscribers/\(id)", headers: ["Authorization": "Bearer \(key)"], to: port
                    ).json["subscriber"]
                })
            api.kill(SIGTERM)
            #expect(try api.wait() == 0)
        }
        #expect(answers[0].allSatisfy { $0 != nil } && answers[0] == answers[1])
    }

    @Test(.enabled(if: released != nil, "skipped: ENTITLED_RELEASED names no program of an earlier release"))
    func `an installation of an earlier release is upgraded under load in the documented order`() throws {
        let released = try #require(Self.released)
        let database = try TestCluster.shared.makeDatabase()
        let former = try Site(database, program: released)
        try former.run("migrate")
        let began = try #require(try version(database))
        let key = try #require(
            try former.run("keys", "create", "--kind", "secret", "--json").document?["key"]?.stringValue)
        let scene = try FaultFixture(database, program: released)
        scene.beginLoad(rate: Self.mixed > 0 ? 60 : nil)
        try scene.more(200)
        scene.site.install(Program.path)
        for delay in [20, 60, 120, 200, 300] as [UInt32] {
            let migrating = try scene.site.start("migrate")
            usleep(delay * 1000)
            migrating.kill()
            _ = try migrating.wait()
            // Each version on the way is whole.
            let reached = try #require(try version(database))
            #expect((began...SchemaVersion.current).contains(reached))
        }
        try scene.site.run("migrate")
        let refused = scene.refused
        try scene.more(100)
        let later = scene.refused
        for worker in scene.workers { print("a worker, ended: \(worker.hasEnded): \(worker.log.suffix(1500))") }
        for place in 0..<2 { try scene.replaceWorker(place) }
        try scene.replaceIngest()
        try scene.more(100)
        try expectSameAnswers(scene, released, by: key)
        // Back again, one process after the other: each mixture works.
        scene.site.install(released)
        try scene.replaceWorker(0)
        try scene.more(50)
        try scene.replaceIngest()
        try scene.more(50)
        try scene.replaceWorker(1)
        try scene.more(50)
        try expectSameAnswers(scene, released, by: key)
        scene.site.install(Program.path)
        try scene.replaceWorker(1)
        try scene.more(50)
        try scene.replaceWorker(0)
        try scene.replaceIngest()
        try scene.more(50)
        try mix(scene, released)
        try scene.endLoad()
        print("refused: \(refused) until migrated, \(later - refused) before, \(scene.refused - later) after replacing")
        #expect(try scene.faults() == [])
        try expectNoDifferences(scene.site)
    }
}
