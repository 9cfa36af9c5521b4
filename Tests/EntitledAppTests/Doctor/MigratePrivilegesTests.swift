import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// Privileges that the doctor misses, and that `migrate` restores.
struct MigratePrivilegesTests {
    @Test func `migrate restores the privileges that the doctor misses, and says so`() throws {
        let bench = try DoctorFixture()
        for sql in [
            "REVOKE DELETE ON entitled.pending FROM entitled_worker",
            "GRANT UPDATE (url) ON entitled.endpoint TO PUBLIC",
        ] {
            try bench.database.execute(sql)
        }
        // The worker misses one, and the three others have one too many.
        #expect(bench.complaints().count == 4)
        let outcome = bench.run(["migrate"])
        #expect(outcome.status == 0)
        #expect(outcome.errors.isEmpty)
        #expect(
            outcome.output.split(separator: "\n").dropFirst() == [
                "changed privileges: REVOKE UPDATE (\"url\") ON TABLE entitled.endpoint FROM PUBLIC CASCADE",
                "changed privileges: GRANT DELETE ON TABLE entitled.pending TO entitled_worker",
            ])
        #expect(bench.complaints() == [])
        #expect(bench.run(["migrate"]).output.split(separator: "\n").count == 1)
        let document = bench.run(["migrate", "--json"]).document
        #expect(document?.members?.map(\.name) == ["applied", "version"])
    }

    @Test func `migrate names the privileges that its user may not change`() throws {
        let bench = try DoctorFixture()
        let guest = "guest_of_\(bench.database.name)"
        for sql in [
            "CREATE ROLE \(guest) LOGIN",
            "GRANT entitled_ingest, entitled_worker, entitled_api, entitled_console TO \(guest)",
            "GRANT CREATE ON DATABASE \(bench.database.name) TO \(guest)",
            "GRANT USAGE, CREATE ON SCHEMA entitled TO \(guest)",
            "GRANT SELECT ON entitled.schema_version TO \(guest)",
            "GRANT EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) TO \(guest)",
            "REVOKE DELETE ON entitled.pending FROM entitled_worker",
        ] {
            try bench.database.execute(sql)
        }
        let url = bench.database.url.replacing("//entitled@", with: "//\(guest)@")
        bench.configure("database", .object(["url": .string(url)]))
        let outcome = bench.run(["migrate"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").count == 1)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("entitled: warning: the privileges of the processes' roles differ") == true)
        #expect(lines.first?.hasSuffix(": GRANT DELETE ON TABLE entitled.pending TO entitled_worker") == true)
    }
}
