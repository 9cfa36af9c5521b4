import Base
import Glibc
import TestSupport
import Testing

/// What a process says when it cannot start.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RejectionTests {
    @Test(arguments: ["ingest", "worker", "api"])
    func `a database that nobody migrated ends it with one line`(role: String) throws {
        let site = try Site(try TestCluster.shared.makeDatabase())
        let program = try site.run(role, status: 1)
        #expect(program.logLines.count == 1)
        #expect(program.log.contains("entitled migrate"))
        #expect(program.text.isEmpty)
    }

    @Test(arguments: ["ingest", "worker", "api", "migrate"])
    func `a newer database ends it with one line`(role: String) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("INSERT INTO entitled.schema_version (version, name) VALUES (9999, 'later')")
        let site = try Site(database)
        let program = try site.run(role, status: 1)
        #expect(program.logLines.count == 1)
        #expect(program.log.contains("9999"))
    }

    @Test func `another role in a role's URL ends it with the key to set`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database, ["database": .object(["ingest_url": .string(database.url)])])
        let program = try site.run("ingest", status: 1)
        #expect(program.logLines.count == 1)
        #expect(program.log.contains("database.ingest_url"))
    }

    @Test func `a worker with another sealing key says so and goes on`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try Site(database).addEndpoint(consumer)
        let other = try Site(database)
        let program = try other.start("worker")
        try eventually("it says so; it said: \(program.log)") { program.log.contains("sealing key missing") }
        #expect(!program.hasEnded)
        let refused = try other.run("endpoints", "add", consumer.url(), status: 1)
        #expect(refused.logLines.count == 1 && refused.log.contains("webhook-secrets.key"))
    }

    struct Mistake: Sendable {
        let key: String
        let section: String
        let value: JSON
    }

    private static let mistakes = [
        Mistake(key: "worker.lease", section: "worker", value: .object(["lease": .string("1ms")])),
        Mistake(key: "ingest.listen", section: "ingest", value: .object(["listen": .string("nowhere")])),
        Mistake(key: "worker.leese", section: "worker", value: .object(["leese": .string("10s")])),
        Mistake(key: "webhooks.retry_schedule", section: "webhooks", value: .object(["retry_schedule": .int(5)])),
        Mistake(key: "apps", section: "apps", value: .array([.object(["id": .string("x")])])),
    ]

    @Test(arguments: mistakes)
    func `a mistake in the configuration ends every command with 2 and names the key`(mistake: Mistake) throws {
        let site = try Site(try TestCluster.shared.makeDatabase(), [mistake.section: mistake.value])
        for command in ["check-config", "ingest", "worker", "run", "migrate"] {
            let program = try site.run(command, status: 2)
            #expect((program.log + program.text).contains(mistake.key))
        }
    }

    @Test func `a database that is away is waited for`() throws {
        let cluster = try TestCluster()
        let site = try Site(try cluster.makeDatabase())
        try site.run("migrate")
        try cluster.stop()
        let ingest = try site.start("ingest")
        let admin = try ingest.address("admin")
        #expect(site.get("/readyz", from: admin).status == 503)
        try cluster.start()
        try eventually("it is ready") { site.get("/readyz", from: admin).status == 200 }
        ingest.kill(SIGTERM)
        #expect(try ingest.wait() == 0)
    }
}
