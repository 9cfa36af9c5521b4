import Base
import FoundationEssentials
import Glibc
import Postgres
import Schemas
import TestSupport
import Testing

/// The login of a private cluster, which is no superuser.
///
/// Serialised: each test starts servers of its own and waits for them against the clock.
@Suite(.serialized) struct PrivateOwnerTests {
    private func cluster(_ folder: String, _ settings: PrivateClusterSettings) throws -> PrivateCluster {
        try PrivateCluster(stateDirectory: folder, settings: settings)
    }

    private func login(_ cluster: PrivateCluster, as user: String = "entitled") throws -> PostgresConnection {
        try PostgresConnection(PostgresTarget(url: cluster.url().replacing("//entitled@", with: "//\(user)@")))
    }

    private func state(_ sql: String, on connection: PostgresConnection) -> String? {
        do {
            _ = try connection.query(sql)
            return nil
        } catch {
            return error.sqlstate ?? "no state"
        }
    }

    private func expectNoPower(_ cluster: PrivateCluster) throws {
        let connection = try login(cluster)
        #expect(
            try connection.query("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").one().bool(0) == false)
        for sql in [
            "COPY (SELECT 1) TO PROGRAM 'cat'", "CREATE ROLE mine", "ALTER ROLE entitled SUPERUSER",
            "SET ROLE entitled_superuser", "SET SESSION AUTHORIZATION entitled_superuser",
            "ALTER SYSTEM SET work_mem = '1MB'",
            "GRANT pg_execute_server_program TO entitled", "SELECT pg_read_file('PG_VERSION')",
        ] {
            #expect(state(sql, on: connection) == "42501", "\(sql)")
        }
        // Peer authentication lets the cluster's own user in, who has its files.
        guard geteuid() == 0 else { return }
        try eventually("the superuser is refused") { (try? login(cluster, as: "entitled_superuser")) == nil }
    }

    /// What `entitled run` does before it migrates.
    private func prepareAndMigrate(_ cluster: PrivateCluster) throws -> Migrator.Outcome {
        try cluster.asSuperuser { superuser in
            try RoleMaking.make(for: PrivateCluster.owner, on: superuser)
            try PublicPrivileges.withdraw(on: superuser)
        }
        let connection = try login(cluster)
        let outcome = try Migrator.migrate(on: connection)
        #expect(try RoleMaking.isDone(for: nil, on: connection))
        #expect(try PublicPrivileges.left(on: connection) == [])
        return outcome
    }

    private func expectWork(_ cluster: PrivateCluster) throws {
        for role in DatabaseRole.allCases {
            try role.check(try PostgresConnection(PostgresTarget(url: cluster.url(), role: role.rawValue)))
        }
        let worker = try PostgresConnection(PostgresTarget(url: cluster.url(), role: "entitled_worker"))
        let day = "SELECT entitled.make_day('attempt', (clock_timestamp() AT TIME ZONE 'UTC')::date + 20)"
        #expect(["made", "there"].contains(try worker.query(day).one().text(0)))
    }

    @Test func `the login of a new cluster owns the database, and nothing else`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder, .throwAwayAsInProduction)
            try cluster.start()
            try expectNoPower(cluster)
            #expect(try prepareAndMigrate(cluster) == .migrated(Schemas.migrations.map(\.version)))
            try expectNoPower(cluster)
            try expectWork(cluster)
            try cluster.stop()
            try cluster.start()
            try expectNoPower(cluster)
            try expectWork(cluster)
            try cluster.stop(.immediate)
        }
    }

    @Test(arguments: [false, true])
    func `a cluster of an earlier version keeps what it has, also where its server was left running`(isLeft: Bool)
        throws
    {
        try TemporaryFolder.with { folder in
            var former: PrivateCluster? = try cluster(folder, .throwAway)
            try former?.start()
            let superuser = try login(try #require(former))
            #expect(try superuser.query("SELECT rolsuper FROM pg_roles WHERE rolname = 'entitled'").one().bool(0))
            _ = try Migrator.migrate(on: superuser, upTo: 21)
            try superuser.execute(
                script: """
                    INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ('ada', 1);
                    CREATE SCHEMA reports; CREATE TYPE reports.kind AS ENUM ('a', 'b');
                    CREATE TABLE reports.mine (id serial PRIMARY KEY, kind reports.kind);
                    CREATE VIEW reports.all AS SELECT * FROM reports.mine;
                    CREATE FUNCTION reports.one() RETURNS int LANGUAGE sql AS 'SELECT 1';
                    CREATE EXTENSION IF NOT EXISTS plpgsql;
                    """)
            if !isLeft { try former?.stop() }
            former = nil

            let now = try cluster(folder, .throwAwayAsInProduction)
            try now.start()
            try expectNoPower(now)
            #expect(try prepareAndMigrate(now) == .migrated(Array(22...SchemaVersion.current)))
            try expectWork(now)
            let connection = try login(now)
            #expect(
                try connection.query("SELECT original_app_user_id FROM entitled.customer").map { try $0.text(0) } == [
                    "ada"
                ])
            try connection.execute(
                script: """
                    INSERT INTO reports.mine (kind) VALUES ('a'); SELECT * FROM reports.all; SELECT reports.one();
                    ALTER TABLE reports.mine ADD x int; DROP SCHEMA reports CASCADE;
                    """)
            let left = """
                SELECT count(*) FROM pg_class WHERE oid >= 16384 AND relowner = 10 AND relnamespace <> 'pg_toast'::regnamespace
                """
            #expect(try connection.query(left).one().int(0) == 0)
            try now.stop()
            try now.start()
            try expectWork(now)
            try now.stop(.immediate)
        }
    }

    @Test func `an upgrade or a making that was cut short is done by the next start`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder, .throwAwayAsInProduction)
            try cluster.start()
            // After initdb; after the role; before the cluster was closed.
            for rest in ["DROP DATABASE entitled; DROP ROLE entitled", "DROP DATABASE entitled", "SELECT 1"] {
                try cluster.asSuperuser(in: "postgres") { superuser in
                    for sql in rest.split(separator: "; ") { try superuser.query(String(sql)) }
                }
                let rules = "\(folder)/postgres/data/pg_hba.conf"
                try "local all all trust\n".write(toFile: rules, atomically: false, encoding: .utf8)
                try cluster.stop(.immediate)
                try cluster.start()
                try expectNoPower(cluster)
                _ = try prepareAndMigrate(cluster)
                try expectWork(cluster)
            }
            try cluster.stop(.immediate)
        }
    }
}
