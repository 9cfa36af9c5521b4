import Base
import FoundationEssentials
import Glibc
import Postgres
import Schemas
import StoreSimulator
import TestSupport
import Testing

/// `entitled backup` and `entitled restore` of the private Postgres.
///
/// Serialised: each test starts a Postgres of its own.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct BackupTests {
    /// The same site with another state folder.
    private func configure(_ site: Site, state: String) throws -> String {
        let path = "\(site.folder)/\(state)"
        try site.configure(["state_dir": .string(path)])
        return path
    }

    private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Ends the server of a state folder that no process keeps.
    private func end(_ state: String) {
        let text = (try? String(contentsOfFile: "\(state)/postgres/data/postmaster.pid", encoding: .utf8)) ?? ""
        if let process = pid_t(text.prefix { $0.isNumber }) { Glibc.kill(process, SIGQUIT) }
    }

    /// A command that is killed once this file is there.
    private func killed(_ arguments: String..., in site: Site, once path: String) throws {
        let command = try Program(arguments + ["--config", "\(site.folder)/entitled.json5"], folder: site.folder)
        try eventually("\(path) is there; it said: \(command.log)") { exists(path) || command.hasEnded }
        command.kill(SIGKILL)
        #expect(try command.wait() == 128 + SIGKILL)
    }

    @Test func `what was backed up under way is restored with its key, also after a restore that was killed`() throws {
        let site = try Site(nil)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let (first, second) = ("\(site.folder)/state", "\(site.folder)/second")
        defer { for state in [first, second] { end(state) } }
        let run = try site.startWithItsOwnDatabase()
        let address = try run.address("ingest")
        let endpoint = try site.addEndpoint(consumer).id
        var life = SubscriberLife(app: Site.app, seed: 6)
        #expect(try site.post(life.start(at: Site.start), to: address) == 200)
        _ = try consumer.wait(1)

        // A backup that is cut off is none.
        let half = "\(site.folder)/half"
        try killed("backup", half, in: site, once: "\(half)/data")
        let refused = try site.run("backup", half, status: 1).log
        #expect(refused.contains("\(half) is not an empty folder"))
        let folder = "\(site.folder)/backup"
        let document = try #require(try site.run("backup", folder, "--json").document)
        #expect(document["folder"]?.stringValue == folder && document["key"]?.stringValue == "file")
        #expect(document["schema"]?.intValue == Int64(SchemaVersion.current))
        run.kill(SIGTERM)
        #expect(try run.wait() == 0)

        let state = try configure(site, state: "second")
        #expect(try site.run("restore", half, status: 1).log.contains("backup.json, which is written last, is missing"))
        try killed("restore", folder, in: site, once: "\(state)/postgres/data.new")
        #expect(!exists("\(state)/postgres/data"))
        let restored = try #require(try site.run("restore", folder, "--json").document)
        #expect(restored["state_dir"]?.stringValue == state)
        let again = try site.startWithItsOwnDatabase()
        #expect(try site.post(life.renew(at: Site.start + 60_000), to: again.address("ingest")) == 200)
        // The endpoint's secret is opened by the key of the backup.
        try eventually("the next webhook arrives; it said: \(again.log.suffix(2000))") {
            try consumer.wait(2).last?.type == "RENEWAL"
        }
        #expect(try site.run("endpoints", "show", endpoint, "--json").document?["id"]?.stringValue == endpoint)
        try eventually("it notices that it is a backup; it said: \(again.log.suffix(2000))") {
            again.log.contains(#""message":"database returned to an earlier state""#)
        }
        #expect(again.log.contains(#""reason":"restored""#) && !run.log.contains("database returned"))
        #expect(try site.run("restore", folder, status: 1).log.contains("private Postgres already, which runs"))
        again.kill(SIGTERM)
        #expect(try again.wait() == 0)
    }

    private static let installed =
        ((try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []).compactMap { Int($0) }
        .sorted()

    private func identifier(_ state: String) throws -> String {
        let url = try #require(PrivateCluster.runningURL(stateDirectory: state))
        return try PostgresConnection(PostgresTarget(url: url)).query(
            "SELECT system_identifier::text FROM pg_control_system()"
        ).one().text(0)
    }

    @Test(.enabled(if: installed.count > 1, "skipped: only one major version of Postgres is installed"))
    func `after an upgrade of Postgres the installation goes on in a cluster of another identifier`() throws {
        let site = try Site(nil)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let state = "\(site.folder)/state"
        defer { end(state) }
        let data = "\(state)/postgres/data"
        _ = try PrivateCluster(stateDirectory: state)
        let initdb = "/usr/lib/postgresql/\(try #require(Self.installed.first))/bin/initdb"
        try TestCommand.run(
            TestCommand.unprivileged([
                initdb, "-D", data, "-U", PrivateCluster.owner, "-E", "UTF8", "--no-locale", "--auth-local=trust",
                "--no-sync",
            ]))
        try "include_if_exists = 'entitled.conf'\n".write(
            toFile: "\(data)/postgresql.conf", atomically: false, encoding: .utf8)
        let run = try site.startWithItsOwnDatabase()
        let address = try run.address("ingest")
        let secret = try site.addEndpoint(consumer).secret
        var life = SubscriberLife(app: Site.app, seed: 8)
        #expect(try site.post(life.start(at: Site.start), to: address) == 200)
        _ = try consumer.wait(1)
        let before = try identifier(state)
        run.kill(SIGTERM)
        #expect(try run.wait() == 0)
        end(state)
        try eventually("the server has ended") { PrivateCluster.runningURL(stateDirectory: state) == nil }

        try site.run("upgrade-postgres")
        let again = try site.startWithItsOwnDatabase()
        #expect(try site.post(life.renew(at: Site.start + 60_000), to: again.address("ingest")) == 200)
        let request = try #require(try consumer.wait(2).last)
        #expect(request.type == "RENEWAL")
        let fault = try #require(WebhookSignatureCheck(secrets: [secret])).fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
        #expect(try identifier(state) != before)
        // The number counts, not the cluster: the leader raises it twice, and nothing is refused or scanned for.
        let url = try #require(PrivateCluster.runningURL(stateDirectory: state))
        let database = TestDatabase(url: url, name: "postgres")
        let number = try database.count("SELECT number FROM entitled.database_position")
        try eventually(timeout: .seconds(30), "the position is raised") {
            try database.count("SELECT number FROM entitled.database_position") >= number + 2
        }
        #expect(!again.log.contains("database returned") && !again.log.contains("refused"))
        let rebuilt = try site.run("rebuild", "--dry-run", "--json").document
        #expect(rebuilt?["differences"] == .int(0) && consumer.requests.count == 2)
        again.kill(SIGTERM)
        #expect(try again.wait() == 0)
    }

    /// Runs `restore` of a copy of the backup that was changed; what it complains about.
    private func complaint(
        _ site: Site, _ backup: String, _ change: (_ folder: String) throws -> Void
    ) throws -> String {
        let folder = "\(site.folder)/changed"
        try TestCommand.run(["/bin/cp", "-a", "--", backup, folder])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try change(folder)
        let state = try configure(site, state: "target")
        let complaint = try site.run("restore", folder, status: 1).log
        #expect(!exists(state), "\(complaint)")
        #expect(complaint.split(separator: "\n").count == 1)
        return complaint
    }

    private func edit(_ path: String, _ text: String, _ other: String) throws {
        let content = try String(contentsOfFile: path, encoding: .utf8)
        #expect(content.contains(text))
        try content.replacing(text, with: other).write(toFile: path, atomically: true, encoding: .utf8)
    }

    @Test func `what is no whole backup for this program is refused in one line, and nothing is changed`() throws {
        let site = try Site(nil)
        let state = "\(site.folder)/state"
        let folder = "\(site.folder)/backup"
        do {
            let cluster = try PrivateCluster(stateDirectory: state, settings: .throwAwayAsInProduction)
            defer { try? cluster.stop(.immediate) }
            try cluster.start()
            try cluster.asSuperuser { try RoleMaking.make(for: PrivateCluster.owner, on: $0) }
            try site.run("migrate")
            _ = try site.run("endpoints", "add", "https://example.com/hooks", "--json")
        }
        // No process runs the cluster: the command does for as long as it takes.
        let page = try site.run("backup", folder).text
        #expect(page.contains("every file checked") && page.contains("It has the sealing key, too"))
        #expect(PrivateCluster.runningURL(stateDirectory: state) == nil)
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) + ["."] {
            var status = stat()
            #expect(lstat("\(folder)/\(name)", &status) == 0 && status.st_mode & 0o077 == 0, "\(name)")
        }
        #expect(try site.run("restore", folder, status: 1).log.contains("\(state) has a private Postgres already:"))

        let manifest = "backup.json"
        #expect(
            try complaint(site, folder) { unlink("\($0)/\(manifest)") }.contains("backup.json, which is written last"))
        #expect(
            try complaint(site, folder) {
                try "{".write(toFile: "\($0)/\(manifest)", atomically: false, encoding: .utf8)
            }.contains("damaged"))
        #expect(
            try complaint(site, folder) { try edit("\($0)/\(manifest)", "\"format\":1", "\"format\":2") }
                .contains("has the format 2"))
        #expect(
            try complaint(site, folder) {
                try edit("\($0)/\(manifest)", "\"schema\":\(SchemaVersion.current)", "\"schema\":9999")
                try edit("\($0)/\(manifest)", "\"oldest_program\":", "\"oldest_program\":9999,\"former\":")
            }.contains("9999"))
        #expect(
            try complaint(site, folder) { folder in
                let version = try String(contentsOfFile: "\(folder)/data/PG_VERSION", encoding: .utf8).prefix {
                    $0.isNumber
                }
                try edit("\(folder)/\(manifest)", "\"postgres\":\(version)", "\"postgres\":9")
                try "9\n".write(toFile: "\(folder)/data/PG_VERSION", atomically: false, encoding: .utf8)
            }.contains("made by Postgres 9"))
        #expect(
            try complaint(site, folder) { unlink("\($0)/webhook-secrets.key") }.contains("lacks the key"))
        #expect(
            try complaint(site, folder) { folder in
                try edit("\(folder)/data/postgresql.conf", "max_connections", "mox_connections")
            }.contains("postgresql.conf"))
        #expect(try complaint(site, folder) { unlink("\($0)/data/global/pg_control") }.contains("pg_control"))

        try site.configure(["database": .object(["url": .string("postgresql://nowhere/x")])])
        for command in ["backup", "restore"] {
            #expect(try site.run(command, folder, status: 1).log.contains("there is no private Postgres, because"))
        }
        _ = try configure(site, state: "none")
        #expect(try site.run("backup", "\(site.folder)/new", status: 1).log.contains("there is no private Postgres in"))
        #expect(!exists("\(site.folder)/new") && !exists("\(site.folder)/none"))
    }
}
