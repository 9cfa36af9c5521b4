import Base
import Daemon
import Database
import FoundationEssentials
import TestSupport
import Testing

/// `entitled import` as a program, with `storesim serve` as Apple.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ImportProcessTests {
    @Test(arguments: [FailPoint.importBeforeCommit, .importAfterCommit])
    func `the same command line goes on with an import that was killed around a commit`(point: FailPoint) throws {
        let database = try TestCluster.shared.makeDatabase()
        let site = try Site(database)
        try site.run("migrate")
        let store = try StoreProcess(site.folder, "store", "--seed", "5")
        try site.configure([store.app("demo")], of: [store])
        let ids = try store.originals()
        try #require(ids.count >= 5)
        let path = "\(site.folder)/customers.csv"
        let rows = ids.enumerated().map { "user-\($0),\($1)" } + ["user-x,2000000999999999"]
        try (["app_user_id,original_transaction_id"] + rows).joined(separator: "\n").write(
            toFile: path, atomically: true, encoding: .utf8)
        let doomed = try site.start(
            "import", "--csv", path, "--app", "demo", environment: [FailPoint.variable: "\(point.rawValue):3"])
        #expect(try doomed.wait() == 128 + 9, "\(doomed.log)")
        #expect(try database.count("SELECT count(*) FROM entitled.job WHERE state = 'running'") == 1)
        let done = try site.run("import", "--csv", path, "--app", "demo", "--json").document
        #expect(done?["rows"]?.intValue == Int64(ids.count + 1))
        #expect(done?["imported"]?.intValue == Int64(ids.count))
        #expect(done?["unknown"]?.intValue == 1 && done?["refused"]?.intValue == 0)
        #expect(done?["refused_file"]?.stringValue == "\(path).refused.csv")
        #expect(try database.count("SELECT count(*) FROM entitled.action WHERE kind = 'import'") >= Int64(ids.count))
        let worker = try site.start("worker")
        _ = try worker.address("admin")
        try eventually("it is applied") { try database.count("SELECT count(*) FROM entitled.pending") == 0 }
        try site.run("rebuild", "--dry-run")
        let again = try site.run("import", "--csv", path, "--app", "demo", "--json").document
        #expect(again?["imported"]?.intValue == 0 && again?["already"]?.intValue == Int64(ids.count))
        withExtendedLifetime((worker, store)) {}
    }

    @Test func `a second import of an app is told of the first`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        let store = try StoreProcess(site.folder, "store", "--seed", "5")
        try site.configure([store.app("demo")], of: [store])
        let path = "\(site.folder)/customers.csv"
        try "app_user_id,original_transaction_id\nuser-x,2000000999999999\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        try database.execute(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, driver, lease_until)
            VALUES ('import', 'import demo other', '{"app":"demo"}', 'a test', 1, 1, gen_random_uuid(),
                clock_timestamp() + interval '5 min')
            """)
        let id = try database.count("SELECT max(id) FROM entitled.job")
        let told = "another import of this app runs: job \(id); "
        #expect(try site.run("import", "--csv", path, "--app", "demo", "--dry-run").text.contains("\(told)they share"))
        #expect(try site.run("import", "--csv", path, "--app", "demo").text.contains("\(told)they share"))
        // A rate does not take it out of the share.
        #expect(
            try site.run("import", "--csv", path, "--app", "demo", "--rate", "5").text.contains("\(told)they share"))
        withExtendedLifetime(store) {}
    }

    @Test func `wrong files and apps are one line each`() throws {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase())
        let path = "\(site.folder)/wrong.csv"
        try "app_user_id,email\nu,e\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try site.run("import", "--csv", path, "--app", "demo", status: 1).log.contains("'email' is not known"))
        #expect(try site.run("import", "--csv", "\(path).no", "--app", "demo", status: 1).log.contains("cannot read"))
        #expect(try site.run("import", "--csv", path, "--app", "other", status: 2).log.contains("demo"))
        try "app_user_id,jws\nu,\"e\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try site.run("import", "--csv", path, "--app", "demo", status: 1).log.contains("never closed"))
        try "app_user_id,jws\nu,e\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try site.run("import", "--csv", path, "--app", "demo", status: 1).log.contains("no server_api"))
    }
}
