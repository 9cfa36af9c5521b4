import Glibc
import Postgres
import Schemas
import TestSupport
import Testing

@Suite struct MigratorTests {
    @Test func `an empty database gets everything, a second time nothing`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        #expect(try SchemaVersion.read(on: connection) == nil)
        #expect(try Migrator.migrate(on: connection) == .migrated(Schemas.migrations.map(\.version)))
        #expect(try SchemaVersion.read(on: connection) == SchemaVersion.current)
        #expect(try Migrator.migrate(on: connection) == .migrated([]))
        #expect(try database.count("SELECT count(*) FROM entitled.lane") == 256)
    }

    @Test func `versions count from one without gaps`() {
        #expect(Schemas.migrations.map(\.version) == Array(1...Schemas.migrations.count))
    }

    @Test func `of two at once one migrates and the other finds it done`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let threads = (0..<4).map { _ in
            TestThread { try Migrator.migrate(on: try database.connect()) }
        }
        let outcomes = try threads.map { try $0.value() }
        let all = Schemas.migrations.map(\.version)
        #expect(outcomes.filter { $0 == .migrated(all) }.count == 1)
        #expect(outcomes.filter { $0 == .migrated([]) }.count == 3)
    }

    @Test func `databases of one cluster can be migrated at the same moment`() throws {
        let databases = try (0..<6).map { _ in try TestCluster.shared.makeDatabase() }
        let threads = databases.map { database in
            TestThread { try Migrator.migrate(on: try database.connect()) }
        }
        for thread in threads {
            #expect(try thread.value() == .migrated(Schemas.migrations.map(\.version)))
        }
    }

    @Test func `a database of the first version keeps what it has, and what was joined gets into the log`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        #expect(try Migrator.migrate(on: connection, upTo: 1) == .migrated([1]))
        try connection.execute(
            script: """
                INSERT INTO entitled.held_notification VALUES (1, 2, 'forged', 3);
                INSERT INTO entitled.customer VALUES ('user', 5), ('other', 6);
                INSERT INTO entitled.app_user_id VALUES ('user', 'user', 5), ('alias', 'user', 4), ('other', 'other', 6);
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                    will_renew, version, updated_ms) VALUES (1, 'demo', 1, '2000', 'alias', 'pro_monthly', true, 1, 7);
                """)
        #expect(try Migrator.migrate(on: connection) == .migrated(Array(Schemas.migrations.map(\.version).dropFirst())))
        #expect(
            try database.texts("SELECT concat_ws(' ', kind, app_user_id, other) FROM entitled.action ORDER BY seq")
                == ["merge user alias", "keep "])
        #expect(try database.texts("SELECT product_id || first_seen_ms FROM entitled.product") == ["pro_monthly7"])
        #expect(
            try database.texts("SELECT concat_ws(' ', seq, held_ms, attempts, next_ms) FROM entitled.held_notification")
                == ["2 3 1 0"])
    }

    @Test func `an owner who is no superuser migrates, and what it may not take away is named`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let owner = "owner_of_\(database.name)"
        try database.execute("CREATE ROLE \(owner) LOGIN CREATEROLE")
        try database.execute("ALTER DATABASE \(database.name) OWNER TO \(owner)")
        let connection = try PostgresConnection(
            PostgresTarget(url: database.url.replacing("//entitled@", with: "//\(owner)@")))
        for expected in [Schemas.migrations.map(\.version), []] {
            #expect(try Migrator.migrate(on: connection) == .migrated(expected))
            #expect(try PublicPrivileges.left(on: connection) == [.largeObjects, .advisoryLocks])
        }
        // A superuser takes the rest; the owner still migrates.
        try database.connect().execute(script: PublicPrivileges.script)
        #expect(try PublicPrivileges.left(on: connection) == [])
        #expect(try Migrator.migrate(on: connection) == .migrated([]))
        // Of an owner who may make no roles, where they are there.
        try database.execute("ALTER ROLE \(owner) NOCREATEROLE")
        #expect(try Migrator.migrate(on: connection) == .migrated([]))
    }

    @Test func `a newer schema is left alone`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("INSERT INTO entitled.schema_version (version, name) VALUES (9999, 'later')")
        #expect(try Migrator.migrate(on: try database.connect()) == .newer(9999))
    }

    /// Postgres' own program, the newest one: beside the server's programs as a rule.
    static let dump: String? = {
        let besideServers: [String] = (13...30).reversed().map { version in "/usr/lib/postgresql/\(version)/bin/pg_dump"
        }
        return (besideServers + ["/usr/bin/pg_dump"]).first { path in access(path, X_OK) == 0 }
    }()

    @Test(
        .enabled(if: MigratorTests.dump != nil, "skipped: there is no pg_dump"),
        arguments: [
            ["GRANT pg_read_all_data TO dumper"],
            [
                "GRANT USAGE ON SCHEMA entitled TO dumper", "GRANT SELECT ON ALL TABLES IN SCHEMA entitled TO dumper",
                "GRANT SELECT ON ALL SEQUENCES IN SCHEMA entitled TO dumper",
            ],
        ])
    func `a role that may read every table dumps the database`(grants: [String]) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let role = "dumper_of_\(database.name)"
        try database.execute("CREATE ROLE \(role) LOGIN")
        for grant in grants { try database.execute(grant.replacing("TO dumper", with: "TO \(role)")) }
        try database.execute(
            """
            INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq,
                payload) VALUES (1, 'demo', 1, 'dumped', gen_random_uuid(), 1, 1, 1, 'x')
            """)
        try database.execute("INSERT INTO entitled.listening VALUES (4711)")
        let dumped = try TestCommand.run([
            try #require(MigratorTests.dump), "--dbname", database.url.replacing("//entitled@", with: "//\(role)@"),
        ])
        #expect(dumped.contains("\tdumped\t") && dumped.contains("\n4711\n"))
    }

    @Test func `no table has row level security, which would keep readers from dumping it`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        #expect(try database.count("SELECT count(*) FROM pg_class WHERE relrowsecurity OR relforcerowsecurity") == 0)
    }

    @Test func `roles are made that cannot log in and that their maker may take`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        for role in DatabaseRole.allCases {
            #expect(try database.connect(role: role.rawValue).currentUser() == role.rawValue)
            let dangerous = """
                SELECT count(*) FROM pg_roles WHERE rolname = $1
                AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
                """
            #expect(try database.count(dangerous, [.text(role.rawValue)]) == 0)
        }
    }
}

@Suite struct DatabaseRoleTests {
    private func refusal(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> DatabaseRole.Rejection? {
        do {
            try role.check(connection)
            return nil
        } catch let refusal as DatabaseRole.Rejection {
            return refusal
        }
    }

    @Test(arguments: DatabaseRole.allCases)
    func `a role of its own on the right schema is let in`(role: DatabaseRole) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        #expect(try refusal(role, try database.connect(role: role.rawValue)) == nil)
    }

    @Test(arguments: DatabaseRole.allCases)
    func `another role is refused with the key to set`(role: DatabaseRole) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let refusal = try refusal(role, try database.connect())
        #expect(refusal == .wrongRole(found: "entitled", wanted: role))
        #expect(refusal?.description.contains(role.configurationKey) == true)
    }

    @Test func `a database that nobody migrated says so`() throws {
        let database = try TestCluster.shared.makeDatabase()
        #expect(try refusal(.worker, try database.connect()) == .notMigrated)
    }

    @Test func `an older and a newer schema are refused`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute(
            "UPDATE entitled.schema_version SET version = version + 100, oldest_program = oldest_program + 100")
        let newer = SchemaVersion.current + 100
        #expect(try refusal(.ingest, try database.connect(role: "entitled_ingest")) == .newer(found: newer))
        try database.execute("DELETE FROM entitled.schema_version")
        #expect(try refusal(.ingest, try database.connect(role: "entitled_ingest")) == .older(found: 0))
    }
}
