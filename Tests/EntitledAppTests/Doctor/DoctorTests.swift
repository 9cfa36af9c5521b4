import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// What the doctor says of a good installation, and of one that it cannot look at.
struct DoctorTests {
    @Test func `of a good installation every line is ok, and nothing is changed`() throws {
        let bench = try DoctorFixture()
        let outcome = bench.run(["doctor", "--json"])
        #expect(outcome.status == 0, "\(bench.complaints())")
        #expect(outcome.errors.isEmpty)
        #expect(outcome.document?["ok"]?.boolValue == true)
        let checks = try #require(outcome.document?["checks"]?.arrayValue)
        #expect(checks.count > 20)
        for check in checks {
            #expect(check.members?.map(\.name) == ["action", "message", "name", "status"])
        }
        let names = Set(checks.compactMap { $0["name"]?.stringValue })
        #expect(names.isSuperset(of: ["app_store.key", "app_store.round_trip", "database.privileges", "work.ingest"]))
        #expect(!outcome.output.contains("secret/path"))
    }

    @Test func `a cluster that forgets, and roles that may too much, have their lines`() throws {
        let bench = try DoctorFixture(try TestCluster())
        try bench.database.execute("ALTER ROLE entitled_ingest CREATEDB")
        try bench.database.execute("GRANT entitled_worker TO entitled_ingest")
        let complaints = bench.complaints(["--offline"])
        #expect(complaints.contains { $0.hasPrefix("database.server error fsync is off") })
        #expect(
            complaints.contains { $0.contains("entitled_ingest is CREATEDB → ALTER ROLE entitled_ingest NOCREATEDB") })
        #expect(complaints.contains { $0.contains("entitled_ingest can become entitled_worker") })
    }

    @Test func `without a database the rest is looked at all the same`() throws {
        let cluster = try TestCluster()
        let bench = try DoctorFixture(cluster)
        try cluster.stop()
        let complaints = bench.complaints()
        #expect(complaints.count { $0.hasPrefix("database.connection error entitled_") } == 4)
        #expect(complaints.contains { $0.contains("not checked without the database: database.server") })
        let all = bench.run(["doctor", "--json"]).document?["checks"]?.arrayValue ?? []
        #expect(all.contains { $0["name"]?.stringValue == "app_store.key" && $0["status"]?.stringValue == "ok" })
        #expect(all.contains { $0["name"]?.stringValue == "certificates.roots" })
    }

    @Test func `a database that nobody migrated is told to migrate`() throws {
        let bench = try DoctorFixture()
        try bench.database.execute("DROP SCHEMA entitled CASCADE")
        #expect(bench.complaints(["--offline"]).contains { $0.hasSuffix("→ entitled migrate") })
    }

    @Test func `all mistakes of the configuration have lines, and machines get them as one document`() throws {
        let bench = try DoctorFixture()
        bench.configure("worker", .object(["leese": .string("10s"), "expiry_patience": .string("soon")]))
        let complaints = bench.complaints()
        #expect(complaints.count == 2)
        #expect(complaints.allSatisfy { $0.hasPrefix("configuration.values error worker.") })
        let outcome = bench.run(["doctor", "--json"])
        #expect(outcome.status == 1 && outcome.errorLines == 1)
        #expect(outcome.document?["ok"]?.boolValue == false)
    }

    @Test func `offline nobody asks Apple`() throws {
        let bench = try DoctorFixture()
        bench.apple.become(.refusesKey)
        #expect(bench.complaints(["--offline"]).isEmpty)
    }
}
