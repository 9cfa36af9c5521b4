import Base
import Postgres
import TestSupport
import Testing

/// `entitled retention`, by the program.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RetentionCommandTests {
    @Test func `what the next run would delete is shown, and nothing is changed`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        try database.execute("INSERT INTO entitled.rebuild (started_ms, settings) VALUES (1700000000000, 'old')")
        let document = try #require(try site.run("retention", "--dry-run", "--json").document)
        let tables = try #require(document["tables"]?.arrayValue)
        #expect(document["dry_run"] == .bool(true) && tables.count == 16)
        let rebuild = try #require(tables.first { $0["table"] == .string("rebuild") })
        #expect(rebuild["rows"] == .int(1) && rebuild["effect"] == .string("deleted"))
        #expect(rebuild["oldest_at"]?.stringValue?.hasPrefix("2023-11-14T22:13:20") == true)
        let page = try site.run("retention", "--dry-run").text
        #expect(page.contains("notification_key") && page.contains("2023-11-14"))
        #expect(try database.count("SELECT count(*) FROM entitled.rebuild") == 1)
    }

    @Test func `without --dry-run it says that the workers delete`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        #expect(try site.run("retention", status: 2).log.contains("retention needs --dry-run"))
    }
}
