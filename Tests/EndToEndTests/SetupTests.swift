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

    @Test func `what another host may have, or was changed on purpose, is not changed without a word`() throws {
        _ = try setup()
        // A password that was changed elsewhere: what the file has does not come back.
        let worker = content("database.worker_url")
        let admin = try server.connection()
        _ = try admin.query("ALTER ROLE entitled_worker PASSWORD 'another'")
        let rotated = try setup(status: 1)
        #expect(rotated.log.contains("has another password than") && rotated.log.contains("--new-passwords"))
        #expect(logsIn(worker.replacing(":\(password(worker))@", with: ":another@")))
        #expect(try done(setup("--new-passwords", "--json")) == ["entitled_worker"])
        let renewed = content("database.worker_url")
        #expect(renewed == worker.replacing(password(worker), with: password(renewed)) && renewed != worker)
        #expect(logsIn(renewed) && !logsIn(worker))
        // A file that is gone: another host may have it.
        let api = content("database.api_url")
        unlink(file("database.api_url"))
        let refused = try setup(status: 1)
        #expect(refused.log.contains("entitled_api can log in already") && refused.log.contains("--new-passwords"))
        #expect(access(file("database.api_url"), F_OK) != 0 && logsIn(api))
        #expect(try done(setup("--new-passwords", "--json")) == ["entitled_api"])
        #expect(content("database.api_url") != api)
        #expect(try done(setup("--json")).isEmpty)
    }

    private func password(_ url: String) -> String {
        PostgresTarget(url: url.replacing("\n", with: "")).password ?? "none"
    }

    private func logsIn(_ url: String) -> Bool {
        (try? PostgresConnection(PostgresTarget(url: url.replacing("\n", with: "")))) != nil
    }

    @Test func `a login that was withdrawn stays withdrawn`() throws {
        _ = try setup()
        let admin = try server.connection()
        let urls = content("database.api_url") + content("database.worker_url")
        _ = try admin.execute(script: "ALTER ROLE entitled_api NOLOGIN; ALTER ROLE entitled_worker NOLOGIN")
        // Another host's fence, too: nothing here shows that there was a login.
        unlink(file("database.worker_url"))
        for options in [[], ["--new-passwords"]] {
            let refused = try site.run(["setup", "--superuser-url-file", "\(site.folder)/admin"] + options, status: 1)
            #expect(refused.log.contains(#"ALTER ROLE "entitled_worker" LOGIN; ALTER ROLE "entitled_api" LOGIN"#))
            let logins =
                "SELECT count(*) FROM pg_roles WHERE rolcanlogin AND rolname IN ('entitled_api', 'entitled_worker')"
            #expect(try admin.query(logins).one().int(0) == 0)
        }
        _ = try admin.execute(script: "ALTER ROLE entitled_api LOGIN; ALTER ROLE entitled_worker LOGIN")
        #expect(try done(setup("--new-passwords", "--json")) == ["entitled_worker"])
        #expect(urls.hasPrefix(content("database.api_url")))
    }

    @Test func `what a run has left between its steps is continued`() throws {
        // After the role of the owner, before its database.
        let admin = try server.connection()
        try FileManager.default.createDirectory(atPath: "\(site.folder)/secrets", withIntermediateDirectories: true)
        let url = "postgres://entitled:given@127.0.0.1:\(server.port)/entitled"
        try (url + "\n").write(toFile: file("database.url"), atomically: true, encoding: .utf8)
        _ = try admin.query("CREATE ROLE entitled LOGIN CREATEROLE PASSWORD 'given'")
        let made = try done(setup("--json"))
        #expect(made.prefix(3) == ["database", "public_privileges", "schema"] && line("database.url") == url)
        // After the file of a process, before its role has the login: as the schema's step makes the role.
        let worker = content("database.worker_url")
        _ = try admin.execute(script: "DROP OWNED BY entitled_api; REASSIGN OWNED BY entitled_worker TO entitled")
        let owned = try PostgresConnection(PostgresTarget(url: url))
        for role in ["entitled_worker", "entitled_api"] {
            _ = try PostgresConnection(PostgresTarget(url: server.url).with(database: "entitled"))
                .execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        }
        _ = try owned.execute(
            script: "CREATE ROLE entitled_worker NOLOGIN; COMMENT ON ROLE entitled_worker IS"
                + " 'Created by entitled setup, which has not let it log in yet.'")
        #expect(try done(setup("--json")) == ["schema", "entitled_worker", "entitled_api"])
        #expect(content("database.worker_url") == worker && logsIn(worker))
        // The mark is gone: what is withdrawn from now on stays so.
        _ = try admin.query("ALTER ROLE entitled_worker NOLOGIN")
        _ = try setup(status: 1)
    }

    @Test func `no password of a role that may be another's is set`() throws {
        let admin = try server.connection()
        _ = try admin.execute(
            script: """
                CREATE ROLE dba SUPERUSER LOGIN PASSWORD 'realdba'; CREATE ROLE app LOGIN PASSWORD 'real';
                CREATE ROLE copier REPLICATION LOGIN PASSWORD 'real';
                """)
        for role in ["dba", "copier"] { _ = try admin.query("CREATE DATABASE of_\(role) OWNER \(role)") }
        let passwords = "SELECT string_agg(rolpassword, ',' ORDER BY rolname) AS all FROM pg_authid"
        let before = try admin.query(passwords).one().text("all")
        try FileManager.default.createDirectory(atPath: "\(site.folder)/secrets", withIntermediateDirectories: true)
        for (login, reason) in [
            ("dba", "SUPERUSER"), ("copier", "REPLICATION"), ("app", "owns neither the database of_app"),
            ("admin", "SUPERUSER"),
        ] {
            let url = "postgres://\(login):guess@127.0.0.1:\(server.port)/of_\(login)"
            try url.write(toFile: file("database.url"), atomically: true, encoding: .utf8)
            for options in [["--yes"], ["--yes", "--new-passwords"]] {
                let refused = try site.run(
                    ["setup", "--superuser-url-file", "\(site.folder)/admin"] + options, status: 1)
                #expect(refused.log.contains(reason) && refused.log.contains("Correct \(file("database.url"))"))
            }
            unlink(file("database.url"))
            let named = try setup("--owner", login, "--database", "of_\(login)", "--new-passwords", status: 1)
            #expect(named.log.contains("Name another by --owner"), "\(named.log)")
        }
        #expect(try admin.query(passwords).one().text("all") == before)
        // Nor of a process' role that may do more than its work.
        _ = try setup("--owner", "shop")
        for power in ["SUPERUSER", "BYPASSRLS", "CREATEROLE"] {
            _ = try admin.query("ALTER ROLE entitled_api \(power) PASSWORD 'other'")
            #expect(try setup("--new-passwords", status: 1).log.contains("has \(power)"))
            #expect(logsIn(line("database.api_url").replacing(password(line("database.api_url")), with: "other")))
            _ = try admin.query("ALTER ROLE entitled_api NO\(power)")
        }
    }

    @Test func `a role of one server is not changed for a URL of another`() throws {
        _ = try setup()
        let other = try TestPasswordServer()
        _ = try other.connection().query("CREATE ROLE entitled_worker LOGIN PASSWORD 'of its own'")
        _ = try other.connection().query("CREATE DATABASE entitled")
        let own = content("database.worker_url")
        for elsewhere in [
            own.replacing(":\(server.port)/", with: ":\(other.port)/"), own.replacing("/entitled\n", with: "/shop\n"),
        ] {
            try elsewhere.write(toFile: file("database.worker_url"), atomically: true, encoding: .utf8)
            for options in [[], ["--new-passwords"]] {
                let refused = try site.run(
                    ["setup", "--superuser-url-file", "\(site.folder)/admin"] + options, status: 1)
                #expect(refused.log.contains("database.worker_url does not work and leads to"), "\(refused.log)")
                #expect(refused.log.contains("correct \(file("database.worker_url"))"))
                #expect(content("database.worker_url") == elsewhere && logsIn(own))
            }
        }
    }

    @Test func `what a new password does not mend is said`() throws {
        _ = try setup()
        let admin = try server.connection()
        let files = Self.keys.map(content)
        func refused(_ text: String) throws {
            for options in [[], ["--new-passwords"]] {
                let refused = try site.run(
                    ["setup", "--superuser-url-file", "\(site.folder)/admin"] + options, status: 1)
                #expect(refused.log.contains(text), "\(refused.log)")
            }
        }
        _ = try admin.query("ALTER ROLE entitled_api VALID UNTIL '2020-01-02'")
        try refused(#"ALTER ROLE "entitled_api" VALID UNTIL 'infinity'"#)
        _ = try admin.query("ALTER ROLE entitled_api VALID UNTIL 'infinity'")
        let rules = try admin.query("SELECT setting FROM pg_settings WHERE name = 'hba_file'").one().text("setting")
        func allow(_ lines: String...) throws {
            let values = lines.map { "('\($0)')" }.joined(separator: ", ")
            _ = try admin.execute(script: "COPY (VALUES \(values)) TO '\(rules)'")
            // A new connection has what its server read last.
            let loaded = { try server.connection().query("SELECT pg_conf_load_time()::text AS at").one().text("at") }
            let before = try loaded()
            _ = try admin.query("SELECT pg_reload_conf()")
            try eventually("the rules are read") { try loaded() != before }
        }
        try allow("host all entitled_api all reject", "host all all all scram-sha-256")
        try refused("pg_hba.conf of the server has to let the role in")
        // An owner that an interrupted run has created, before there is a database.
        _ = try admin.query("CREATE ROLE new_owner LOGIN CREATEROLE PASSWORD 'given'")
        try allow("host all new_owner all reject", "host all all all scram-sha-256")
        let url = "postgres://new_owner:given@127.0.0.1:\(server.port)/new"
        try url.write(toFile: file("database.url"), atomically: true, encoding: .utf8)
        try refused("pg_hba.conf of the server has to let the role in")
        try files[0].write(toFile: file("database.url"), atomically: true, encoding: .utf8)
        try allow("host all all all scram-sha-256")
        #expect(try done(setup("--json")).isEmpty && Self.keys.map(content) == files)
    }

    @Test func `the owner and the database of database.url are mended, and no others are made`() throws {
        _ = try setup("--owner", "tenant_a", "--database", "shop")
        #expect(line("database.url").contains("tenant_a:") && line("database.url").hasSuffix("/shop"))
        let before = Self.keys.map(content)
        let server = try server.connection()
        _ = try server.query("ALTER ROLE tenant_a PASSWORD 'another'")
        _ = try setup(status: 1)
        #expect(Self.keys.map(content) == before)
        #expect(try done(setup("--new-passwords", "--json")).first == "owner")
        #expect(Self.keys.dropFirst().map(content) == Array(before.dropFirst()))
        #expect(
            content("database.url") == before[0].replacing(password(before[0]), with: password(content("database.url")))
        )
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
        let url = "postgres://Te-nant%20%22A%22:given@127.0.0.1:\(server.port)/My%20shop?connect_timeout=7"
        try (url + "\n").write(toFile: file("database.url"), atomically: true, encoding: .utf8)
        _ = try setup()
        _ = try admin.query(#"ALTER ROLE "Te-nant ""A""" PASSWORD 'another'"#)
        #expect(try done(setup("--new-passwords", "--json")).first == "owner")
        #expect(line("database.url") == url.replacing(":given@", with: ":\(password(line("database.url")))@"))
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
        for delay in [1, 10, 25, 50, 75, 100, 125, 150, 175, 200, 250, 300, 350, 400] as [UInt32] {
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
