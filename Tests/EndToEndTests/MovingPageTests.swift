import Base
import FoundationEssentials
import Glibc
import Postgres
import TestSupport
import Testing

/// The commands of the pages about moving in, tried as they stand there.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct MovingPageTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    /// The lines in fenced blocks that run one of these programs.
    private func commands(_ page: String, of programs: [String]) throws -> [String] {
        let path = "\(Self.root)/Sources/EntitledApp/EntitledApp.docc/\(page).md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var isInBlock = false
        return text.split(separator: "\n").compactMap { line in
            let line = String(line.drop { $0 == " " })
            if line.hasPrefix("```") { isInBlock.toggle() }
            return isInBlock && programs.contains { line.hasPrefix("\($0) ") } ? line : nil
        }
    }

    /// Runs lines in the site's folder, as a shell does, with `entitled` as the program with the site's configuration.
    ///
    /// - Returns: what each printed.
    private func run(
        _ lines: [String], at site: Site, environment: [String: String] = [:]
    ) throws -> [(line: String, status: Int32, text: String)] {
        try lines.map { line in
            let entitled = "entitled() { \(Program.path) \"$@\" --config \(site.folder)/entitled.json5; }"
            let program = try Program(
                running: ["/bin/sh", "-c", "cd \(site.folder) && \(entitled); \(line)"], folder: site.folder,
                environment: environment)
            let status = try program.wait()
            return (line, status, program.text + program.log)
        }
    }

    @Test(.enabled(if: access("/usr/bin/psql", X_OK) == 0, "skipped: no psql"))
    func `the commands for a team with its own server work in their order`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        let store = try StoreProcess(site.folder, "store", "--seed", "9", "--scenario", "year")
        try site.configure([store.app("demo")], of: [store])
        let ids = try store.originals()
        // The team's own tables, in a database of theirs.
        let theirs = try TestCluster.shared.makeDatabase()
        let connection = try theirs.connect()
        _ = try connection.query("CREATE TABLE users (id text, account_token uuid, created_at timestamptz)")
        _ = try connection.query("CREATE TABLE subscriptions (user_id text, original_transaction_id text)")
        for (number, id) in ids.enumerated() {
            _ = try connection.query(
                "INSERT INTO users VALUES ($1, gen_random_uuid(), now() - interval '400 days')",
                [.text("user-\(number)")])
            _ = try connection.query("INSERT INTO subscriptions VALUES ($1, $2)", [.text("user-\(number)"), .text(id)])
        }
        let lines = try commands("MovingFromYourServer", of: ["entitled", "psql"])
        #expect(lines.count == 10, "\(lines)")
        let worker = try site.start("worker")
        _ = try worker.address("admin")
        for line in lines {
            if line.hasPrefix("entitled compare") {
                try eventually("it is applied") { try database.count("SELECT count(*) FROM entitled.pending") == 0 }
            }
            let done = try run([line], at: site, environment: ["YOUR_DATABASE": theirs.url])[0]
            #expect(done.status == 0, "\(done.line): \(done.text)")
            switch line {
            case _ where line.hasSuffix("--dry-run") && line.hasPrefix("entitled import"):
                #expect(done.text.contains("\(ids.count) rows: \(ids.count) to be imported"), "\(done.text)")
            case _ where line.hasPrefix("entitled import"):
                #expect(done.text.contains("\(ids.count) rows: \(ids.count) imported"), "\(done.text)")
            case _ where line.hasPrefix("entitled compare"):
                #expect(done.text.contains("\(ids.count) agree, 0 differ"), "\(done.text)")
            case _ where line.contains("export transactions"):
                #expect(done.text.contains("rows in back.csv"), "\(done.text)")
            default: break
            }
        }
        let owners = "SELECT count(DISTINCT owner) FROM entitled.purchase WHERE owner LIKE 'user-%'"
        #expect(try database.count(owners) == Int64(ids.count))
        // The account token is an alias, and the account is as old as the team's tables say.
        #expect(
            try database.count("SELECT count(*) FROM entitled.app_user_id WHERE id ~ '^[0-9a-f-]{36}$'")
                >= Int64(ids.count))
        withExtendedLifetime((worker, store)) {}
    }

    @Test func `the commands for a team that leaves RevenueCat work in their order`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        let store = try StoreProcess(site.folder, "store", "--seed", "9", "--scenario", "year")
        try site.configure([store.app("demo")], of: [store])
        let ids = try store.originals()
        let header =
            "rc_original_app_user_id,rc_last_seen_app_user_id_alias,store,is_sandbox,original_store_transaction_id"
        let rows = ids.enumerated().map { "$RCAnonymousID:\($0),user-\($0),app_store,true,\($1)" }
        let path = "\(site.folder)/transactions_1795730400.csv"
        try ([header] + rows).joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try run(["gzip \(path)"], at: site)[0].status == 0)
        let lines = try commands("MovingFromRevenueCat", of: ["entitled"])
        #expect(lines.count == 3, "\(lines)")
        #expect(try run(Array(lines.prefix(2)), at: site).map(\.status) == [0, 0])
        let worker = try site.start("worker")
        _ = try worker.address("admin")
        try eventually("it is applied") { try database.count("SELECT count(*) FROM entitled.pending") == 0 }
        let compared = try run([lines[2]], at: site)[0]
        #expect(compared.status == 0, "\(compared.text)")
        withExtendedLifetime((worker, store)) {}
    }
}
