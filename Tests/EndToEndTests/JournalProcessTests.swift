import Base
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// `entitled journal` beside processes, and with a dump in a cluster of its own.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct JournalProcessTests {
    @Test func `a journal that follows gives a dump in a fresh cluster back what happened since`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        let worker = try site.start("worker")
        let file = "\(site.folder)/entitled.journal"
        try site.run("customers", "grant", "ann", "pro", "--create", "--duration", "yearly")
        let dump = try TestCommand.run([
            "/usr/bin/pg_dump", "--no-owner", "--no-privileges", try #require(site.database).url,
        ])
        let follower = try site.start("journal", "export", "--to", file, "--follow")
        try eventually("the journal is written; it said: \(follower.log)") { try text(file).contains("ann") }
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        try site.run("customers", "grant", "carl", "pro", "--create", "--duration", "yearly")
        try site.run("customers", "delete", "ann", "--yes")
        try eventually("the journal follows; it said: \(follower.log)") {
            let text = try text(file)
            return text.contains("carl") && !text.contains("\"ann\"")
        }
        #expect(
            try site.run("journal", "export", "--to", file, status: 1).log.contains("another `entitled journal export`")
        )
        for process in [follower, worker] {
            process.kill(SIGTERM)
            #expect(try process.wait() == 0)
        }

        let cluster = try TestCluster()
        let restored = try cluster.makeDatabase()
        try "\(dump)".write(toFile: "\(site.folder)/dump.sql", atomically: true, encoding: .utf8)
        try TestCommand.run([
            "/usr/bin/psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", "\(site.folder)/dump.sql", restored.url,
        ])
        try site.configure([
            "database": .object(["url": .string(restored.url)]), "state_dir": .string("\(site.folder)/fresh"),
        ])
        try site.run("migrate")
        let again = try site.start("worker")
        let dry = try #require(try site.run("journal", "apply", file, "--dry-run", "--json").document)
        let done = try #require(try site.run("journal", "apply", file, "--json").document)
        #expect(dry["applied"] == done["applied"] && dry["dry_run"] == .bool(true))
        #expect(done["applied"]?.intValue ?? 0 > 0 && done["refused"] == .int(0))
        #expect(try site.run("journal", "apply", file, "--json").document?["applied"] == .int(0))
        #expect(
            try site.run("customers", "show", "carl", "--json").document?.text.contains("rc_promo_pro_yearly") == true)
        try site.run("customers", "show", "ann", status: 1)
        try eventually("the deletion is carried out") {
            try DatabaseScan(restored).places(of: ["\"ann\""]).isEmpty
        }
        // It ends with 1 where a record differs.
        try site.run("rebuild", "--dry-run")
        again.kill(SIGTERM)
        #expect(try again.wait() == 0)
    }

    private func text(_ file: String) throws -> String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }
}
