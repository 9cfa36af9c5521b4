import Base
import FoundationEssentials
import Glibc
import Postgres
import TestSupport
import Testing

/// `entitled setup` against a Postgres that takes passwords over TCP, as Debian's does.
///
/// Serialised: roles belong to a whole server, so that each test has one of its own.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct SetupTests {
    private let site: Site
    private let server: TestPasswordServer

    init() throws {
        server = try TestPasswordServer()
        site = try Site(nil)
        try site.configure(["secrets_dir": .string("\(site.folder)/secrets")])
        try (server.url + "\n").write(toFile: "\(site.folder)/admin", atomically: true, encoding: .utf8)
    }

    private func setup(_ options: String..., status: Int32 = 0) throws -> Program {
        try site.run(["setup", "--superuser-url-file", "\(site.folder)/admin"] + options, status: status)
    }

    private static let keys = [
        "database.url", "database.ingest_url", "database.worker_url", "database.api_url", "database.console_url",
        "webhooks.secret_keys",
    ]

    private func file(_ key: String) -> String { "\(site.folder)/secrets/\(key.replacing(".", with: "_"))" }

    private func content(_ key: String) -> String { (try? String(contentsOfFile: file(key), encoding: .utf8)) ?? "" }

    private func line(_ key: String) -> String { content(key).replacing("\n", with: "") }

    private func kept(_ program: Program) -> [String] {
        (program.document?["kept"]?.arrayValue ?? []).compactMap(\.stringValue)
    }

    private func done(_ program: Program) -> [String] {
        (program.document?["done"]?.arrayValue ?? []).compactMap(\.stringValue)
    }

    @Test func `a new installation works after one command, and a second one finds nothing to do`() throws {
        let planned = try setup("--dry-run")
        #expect(planned.text.contains("to do: create the database entitled"))
        #expect(access("\(site.folder)/secrets", F_OK) != 0)
        let made = try setup()
        #expect(!made.text.contains("nothing to do"))
        for key in Self.keys {
            var status = stat()
            try #require(stat(file(key), &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            // Nothing of a secret is shown.
            #expect(!made.text.contains(line(key)))
        }
        let before = Self.keys.map(content)
        let again = try setup("--json")
        #expect(kept(again).sorted() == Self.keys.sorted() && done(again).isEmpty)
        #expect(Self.keys.map(content) == before)
        // No password reached the server's log.
        for key in Self.keys.dropLast() {
            let password = try #require(PostgresTarget(url: line(key)).password)
            #expect(!server.log.contains(password))
        }
        // Processes and commands use what was made.
        let worker = try site.start("worker")
        try eventually("it is ready; it said: \(worker.log)") {
            site.get("/readyz", from: try worker.address("admin")).status == 200
        }
        let endpoint = try site.run("endpoints", "add", "https://example.com/hooks", "--json")
        #expect(endpoint.document?["secret"]?.stringValue?.hasPrefix("whsec_") == true)
        worker.kill(SIGTERM)
        #expect(try worker.wait() == 0)
    }

    @Test func `what is lost is mended, and what another host may have is not changed without a word`() throws {
        _ = try setup()
        // A password that was changed elsewhere: the one of the file is set again.
        let worker = content("database.worker_url")
        _ = try server.connection().query("ALTER ROLE entitled_worker PASSWORD 'another'")
        #expect(try done(setup("--json")) == ["entitled_worker"])
        #expect(content("database.worker_url") == worker)
        // A file that is gone: another host may have it.
        let api = content("database.api_url")
        unlink(file("database.api_url"))
        let refused = try setup(status: 1)
        #expect(refused.log.contains("entitled_api can log in already") && refused.log.contains("--new-passwords"))
        #expect(access(file("database.api_url"), F_OK) != 0)
        #expect(try done(setup("--new-passwords", "--json")) == ["entitled_api"])
        #expect(content("database.api_url") != api)
        #expect(try done(setup("--json")).isEmpty)
    }

    @Test func `the owner and the database of database.url are mended, and no others are made`() throws {
        _ = try setup("--owner", "tenant_a", "--database", "shop")
        #expect(line("database.url").contains("tenant_a:") && line("database.url").hasSuffix("/shop"))
        let before = Self.keys.map(content)
        let server = try server.connection()
        _ = try server.query("ALTER ROLE tenant_a PASSWORD 'another'")
        #expect(try done(setup("--json")).first == "owner")
        #expect(Self.keys.map(content) == before)
        #expect(try kept(setup("--json")).sorted() == Self.keys.sorted())
        let other = try server.query(
            "SELECT rolname FROM pg_roles WHERE rolname = 'entitled' UNION ALL SELECT datname FROM pg_database WHERE datname = 'entitled'"
        )
        #expect(other.isEmpty)
        for options in [["--owner", "entitled"], ["--database", "entitled"]] {
            let refused = try site.run(
                ["setup", "--superuser-url-file", "\(site.folder)/admin"] + options, status: 2)
            #expect(refused.log.contains("contradicts database.url"), "\(refused.log)")
        }
    }

    @Test func `a name of any characters is mended as it is`() throws {
        let admin = try server.connection()
        _ = try admin.query(#"CREATE ROLE "Te-nant ""A""" LOGIN CREATEROLE PASSWORD 'given'"#)
        _ = try admin.query(#"CREATE DATABASE "My shop" OWNER "Te-nant ""A""""#)
        try FileManager.default.createDirectory(atPath: "\(site.folder)/secrets", withIntermediateDirectories: true)
        let url = "postgres://Te-nant%20%22A%22:given@127.0.0.1:\(server.port)/My%20shop"
        try (url + "\n").write(toFile: file("database.url"), atomically: true, encoding: .utf8)
        _ = try setup()
        _ = try admin.query(#"ALTER ROLE "Te-nant ""A""" PASSWORD 'another'"#)
        #expect(try done(setup("--json")).first == "owner")
        #expect(line("database.url") == url)
        #expect(try kept(setup("--json")).sorted() == Self.keys.sorted())
    }

    @Test func `a server that is away is not repaired`() throws {
        _ = try setup()
        for key in ["database.url", "database.api_url"] {
            let before = content(key)
            // Nothing listens at port 1.
            let away = before.replacing(":\(server.port)/", with: ":1/")
            try away.write(toFile: file(key), atomically: true, encoding: .utf8)
            let refused = try setup(status: 1)
            #expect(refused.log.contains("\(key) is set, and does not work"), "\(refused.log)")
            #expect(refused.log.contains("Nothing was changed"), "\(refused.log)")
            #expect(content(key) == away)
            try before.write(toFile: file(key), atomically: true, encoding: .utf8)
        }
        #expect(try done(setup("--json")).isEmpty)
    }

    @Test func `a sealing key that is lost is not replaced by another one`() throws {
        _ = try setup()
        _ = try site.run("endpoints", "add", "https://example.com/hooks", "--json")
        let key = content("webhooks.secret_keys")
        unlink(file("webhooks.secret_keys"))
        let refused = try setup(status: 1)
        #expect(refused.log.contains("which this host does not have") && refused.log.contains("secrets reset"))
        #expect(access(file("webhooks.secret_keys"), F_OK) != 0)
        try key.write(toFile: file("webhooks.secret_keys"), atomically: true, encoding: .utf8)
        #expect(try kept(setup("--json")).sorted() == Self.keys.sorted())
    }

    @Test func `what a killed run left unfinished is removed, and nothing else`() throws {
        _ = try setup()
        let (draft, other) = ("\(file("database.url")).unfinished-0123abcd", "\(site.folder)/secrets/mine.unfinished")
        for path in [draft, other] { try "x".write(toFile: path, atomically: true, encoding: .utf8) }
        _ = try setup()
        #expect(access(draft, F_OK) != 0 && access(other, F_OK) == 0)
    }

    @Test func `killed at any time, it is continued by the next run`() throws {
        for delay in [1, 10, 25, 50, 75, 100, 150, 200, 300] as [UInt32] {
            let process = try site.start("setup", "--superuser-url-file", "\(site.folder)/admin")
            usleep(delay * 1000)
            process.kill()
            _ = try process.wait()
        }
        _ = try setup()
        #expect(try kept(setup("--json")).sorted() == Self.keys.sorted())
        #expect(try site.run("migrate", "--status", "--json").document?["fits"] == .bool(true))
    }

    @Test func `an owner that may create roles needs no administrator`() throws {
        let admin = try server.connection()
        _ = try admin.query("CREATE ROLE managed LOGIN CREATEROLE PASSWORD 'given'")
        _ = try admin.query("CREATE DATABASE theirs OWNER managed")
        let url = "postgres://managed:given@127.0.0.1:\(server.port)/theirs"
        try site.configure([
            "secrets_dir": .string("\(site.folder)/secrets"), "database": .object(["url": .string(url)]),
        ])
        let made = try site.run("setup", "--json")
        #expect(
            done(made) == [
                "schema", "entitled_ingest", "entitled_worker", "entitled_api", "entitled_console", "sealing_key",
            ])
        #expect(content("database.api_url").hasSuffix("/theirs\n") && access(file("database.url"), F_OK) != 0)
        #expect(try kept(site.run("setup", "--json")).sorted() == Self.keys.sorted())
    }

    @Test func `a URL that does not work is named, and nothing is changed`() throws {
        let url = "postgres://managed:given@127.0.0.1:\(server.port)/nowhere"
        try site.configure([
            "secrets_dir": .string("\(site.folder)/secrets"), "database": .object(["url": .string(url)]),
        ])
        let refused = try setup(status: 1)
        #expect(refused.log.contains("database.url is set, and does not work") && !refused.log.contains("given"))
        #expect(access("\(site.folder)/secrets", F_OK) != 0)
        try site.configure([:])
        #expect(try setup(status: 1).log.contains("secrets_dir is not set"))
    }
}
