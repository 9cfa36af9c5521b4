import Base
import Postgres
import Schemas
import TestSupport
import Testing

struct PrivilegeTests {
    /// Every privilege that some role of a process has on a table, a column or a function, as Postgres judges it.
    private static let effective = """
        SELECT concat_ws(' ', r, v, c.relname) FROM unnest($1::text[]) AS r,
            unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS v, pg_class c
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p')
            AND has_table_privilege(r, c.oid, v)
        UNION ALL
        SELECT concat_ws(' ', r, v, c.relname, a.attname) FROM unnest($1::text[]) AS r,
            unnest('{SELECT,INSERT,UPDATE,REFERENCES}'::text[]) AS v, pg_class c, pg_attribute a
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND a.attrelid = c.oid
            AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(r, c.oid, a.attnum, v)
        UNION ALL
        SELECT concat_ws(' ', r, v, c.relname) FROM unnest($1::text[]) AS r,
            unnest('{USAGE,SELECT,UPDATE}'::text[]) AS v, pg_class c
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind = 'S' AND has_sequence_privilege(r, c.oid, v)
        UNION ALL
        SELECT concat_ws(' ', r, p.oid::regprocedure) FROM unnest($1::text[]) AS r, pg_proc p
        WHERE p.pronamespace = 'entitled'::regnamespace AND has_function_privilege(r, p.oid, 'EXECUTE')
        UNION ALL
        SELECT concat_ws(' ', r, v) FROM unnest($1::text[]) AS r, unnest('{USAGE,CREATE}'::text[]) AS v
        WHERE has_schema_privilege(r, 'entitled', v)
        ORDER BY 1
        """

    /// A role that has no more than PUBLIC stands for it.
    private func privileges(_ database: TestDatabase) throws -> [String] {
        let bystander = "bystander_of_\(database.name)"
        let connection = try database.connect()
        try connection.query("CREATE ROLE \(bystander)")
        let roles = DatabaseRole.allCases.map(\.rawValue) + [bystander]
        return try connection.query(Self.effective, [.texts(roles)]).map {
            try $0.text(0).replacing(bystander, with: "PUBLIC")
        }
    }

    private static let withdrawn = [
        "REVOKE ALL ON SCHEMA entitled FROM entitled_ingest, entitled_worker, entitled_api",
        "REVOKE ALL ON ALL TABLES IN SCHEMA entitled FROM entitled_ingest, entitled_worker, entitled_api",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA entitled TO PUBLIC",
        "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA entitled FROM entitled_ingest, entitled_worker, entitled_api",
    ]

    /// The last version whose migrations grant.
    private static let granting = 24
    /// Privileges that the table gives since then on tables that were there: retention deletes senders, and a
    /// cluster finds the server of keys by their lanes.
    private static let later =
        ["DELETE sender", "UPDATE sender"].map { "entitled_worker \($0)" }
        + ["host", "number", "worker"].map { "entitled_worker UPDATE sender \($0)" }
        + ["entitled_ingest SELECT notification_key lane"]

    @Test func `the table states what the migrations before it granted, no more and no less`() throws {
        let former = try TestCluster.shared.makeDatabase()
        let connection = try former.connect()
        _ = try Migrator.migrate(on: connection, upTo: Self.granting)
        let before = try privileges(former)
        #expect(before.count > 500)

        let database = try TestCluster.shared.makeDatabase()
        let other = try database.connect()
        _ = try Migrator.migrate(on: other, upTo: Self.granting)
        for sql in Self.withdrawn { try other.query(sql) }
        #expect(try PrivilegeGranting.apply(on: other).count > 60)
        // The console's role is younger than these migrations.
        let isFormer = { (text: String) in !text.contains("entitled_console") }
        #expect(Set(try privileges(database).filter(isFormer)) == Set(before.filter(isFormer)).union(Self.later))
        #expect(try PrivilegeGranting.differences(on: other) == [])
        // What was granted needs no statement.
        #expect(
            Set(try PrivilegeGranting.apply(on: connection).map(\.sql).filter(isFormer)) == [
                "GRANT DELETE, UPDATE ON TABLE entitled.sender TO entitled_worker",
                "GRANT SELECT (\"lane\") ON TABLE entitled.notification_key TO entitled_ingest",
            ])
    }

    @Test func `grants that a restore lost come back with the next migrate`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let before = try privileges(database)
        for sql in Self.withdrawn { try database.execute(sql) }
        var granted: [String] = []
        #expect(try Migrator.migrate(on: try database.connect(), onGrant: { granted.append($0.sql) }) == .migrated([]))
        try database.execute("DROP ROLE bystander_of_\(database.name)")
        #expect(try privileges(database) == before)
        #expect(granted.contains("GRANT INSERT, SELECT (\"seq\") ON TABLE entitled.pending TO entitled_ingest"))
        #expect(granted.contains("REVOKE EXECUTE ON FUNCTION entitled.drop_day(text, date) FROM PUBLIC CASCADE"))
        granted = []
        #expect(try Migrator.migrate(on: try database.connect(), onGrant: { granted.append($0.sql) }) == .migrated([]))
        #expect(granted == [])
    }

    static let excess = [
        "GRANT UPDATE, DELETE ON entitled.pending TO entitled_ingest",
        // With the whole table goes the column that is stated, and comes back.
        "GRANT SELECT ON entitled.notification_key TO entitled_ingest",
        "GRANT UPDATE (url) ON entitled.endpoint TO entitled_api",
        "GRANT SELECT (authorization_sealed) ON entitled.endpoint TO entitled_api",
        "GRANT SELECT ON entitled.fact TO PUBLIC", "GRANT CREATE ON SCHEMA entitled TO entitled_worker",
        "GRANT ALL ON ALL TABLES IN SCHEMA entitled TO entitled_api",
        "GRANT ALL ON ALL SEQUENCES IN SCHEMA entitled TO entitled_api",
        "GRANT EXECUTE ON FUNCTION entitled.make_day(text, date) TO entitled_api",
        "GRANT EXECUTE ON FUNCTION entitled.day_start(text, date) TO PUBLIC",
        "GRANT SELECT ON entitled.fact TO entitled_api WITH GRANT OPTION",
    ]

    @Test(arguments: PrivilegeTests.excess)
    func `a privilege that is not stated is revoked`(sql: String) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let before = try privileges(database)
        let connection = try database.connect()
        try connection.query(sql)
        #expect(try !PrivilegeGranting.differences(on: connection).isEmpty)
        #expect(try !PrivilegeGranting.apply(on: connection).isEmpty)
        try database.execute("DROP ROLE bystander_of_\(database.name)")
        #expect(try privileges(database) == before)
        #expect(try PrivilegeGranting.differences(on: connection) == [])
    }

    @Test func `what a role passed on goes with its grant option`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let friend = "friend_of_\(database.name)"
        try database.execute("CREATE ROLE \(friend)")
        try database.execute("GRANT SELECT ON entitled.fact TO entitled_api WITH GRANT OPTION")
        try database.connect(role: "entitled_api").query("GRANT SELECT ON entitled.fact TO \(friend)")
        _ = try PrivilegeGranting.apply(on: try database.connect())
        let has = try database.connect().query(
            "SELECT has_table_privilege($1, 'entitled.fact', 'SELECT')", [.text(friend)])
        #expect(try !has.one().bool(0))
    }

    @Test func `roles of an operator's own keep what they have`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let reader = "own_of_\(database.name)"
        try database.execute("CREATE ROLE \(reader)")
        try database.execute("GRANT USAGE ON SCHEMA entitled TO \(reader)")
        try database.execute("GRANT SELECT ON ALL TABLES IN SCHEMA entitled TO \(reader)")
        try database.execute("GRANT UPDATE (url) ON entitled.endpoint TO \(reader)")
        try database.execute("GRANT EXECUTE ON FUNCTION entitled.drop_day(text, date) TO \(reader)")
        let connection = try database.connect()
        #expect(try PrivilegeGranting.differences(on: connection) == [])
        for sql in Self.withdrawn { try connection.query(sql) }
        _ = try PrivilegeGranting.apply(on: connection)
        let kept = """
            SELECT has_schema_privilege($1, 'entitled', 'USAGE') AND has_table_privilege($1, 'entitled.fact', 'SELECT')
                AND has_column_privilege($1, 'entitled.endpoint', 'url', 'UPDATE')
                AND has_function_privilege($1, 'entitled.drop_day(text, date)', 'EXECUTE')
            """
        #expect(try connection.query(kept, [.text(reader)]).one().bool(0))
    }

    @Test func `without a difference nothing is locked, and with one nothing that a running process uses`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let working = try database.connect(role: "entitled_worker")
        try working.query("BEGIN")
        // The strongest that a process or an operator can hold.
        try working.query("SELECT count(*) FROM entitled.pending")
        let operating = try database.connect()
        try operating.query("BEGIN")
        try operating.query("LOCK TABLE entitled.fact IN ACCESS EXCLUSIVE MODE")
        let connection = try database.connect()
        try connection.query("SET lock_timeout = '1s'")
        #expect(try PrivilegeGranting.apply(on: connection) == [])
        try connection.query("REVOKE DELETE ON entitled.pending FROM entitled_worker")
        #expect(
            try PrivilegeGranting.apply(on: connection).map(\.sql) == [
                "GRANT DELETE ON TABLE entitled.pending TO entitled_worker"
            ])
        try working.query("DELETE FROM entitled.pending")
        try working.query("COMMIT")
        try operating.query("COMMIT")
    }

    @Test func `an operator who grants on the same table at the same time is waited for`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let reader = "late_of_\(database.name)"
        try database.execute("CREATE ROLE \(reader)")
        try database.execute("REVOKE DELETE ON entitled.pending FROM entitled_worker")
        let operating = try database.connect()
        try operating.query("BEGIN")
        try operating.query("GRANT SELECT ON entitled.pending TO \(reader)")
        let thread = TestThread { try PrivilegeGranting.apply(on: try database.connect()).map(\.sql) }
        try database.untilBlocked()
        try operating.query("COMMIT")
        #expect(try thread.value() == ["GRANT DELETE ON TABLE entitled.pending TO entitled_worker"])
        let has = "SELECT has_table_privilege($1, 'entitled.pending', 'SELECT')"
        #expect(try operating.query(has, [.text(reader)]).one().bool(0))
        #expect(try PrivilegeGranting.differences(on: operating) == [])
    }

    @Test func `a user who owns no table changes nothing, and learns what differs`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let user = "guest_of_\(database.name)"
        try database.execute("CREATE ROLE \(user) LOGIN")
        try database.execute("REVOKE DELETE ON entitled.pending FROM entitled_worker")
        try database.execute("GRANT SELECT ON entitled.fact TO entitled_ingest")
        let guest = try PostgresConnection(
            PostgresTarget(url: database.url.replacing("//entitled@", with: "//\(user)@")))
        #expect(try PrivilegeGranting.apply(on: guest) == [])
        let left = try PrivilegeGranting.differences(on: guest)
        #expect(
            left.map(\.sql) == [
                "REVOKE SELECT ON TABLE entitled.fact FROM entitled_ingest CASCADE",
                "GRANT DELETE ON TABLE entitled.pending TO entitled_worker",
            ])
        #expect(left.allSatisfy { !$0.isPossible })
    }

    @Test func `an owner who is no superuser restores the privileges`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let owner = "keeper_of_\(database.name)"
        try database.execute("CREATE ROLE \(owner) LOGIN CREATEROLE")
        try database.execute("ALTER DATABASE \(database.name) OWNER TO \(owner)")
        let connection = try PostgresConnection(
            PostgresTarget(url: database.url.replacing("//entitled@", with: "//\(owner)@")))
        _ = try Migrator.migrate(on: connection)
        let before = try privileges(database)
        for sql in Self.withdrawn { try connection.query(sql) }
        #expect(try Migrator.migrate(on: connection) == .migrated([]))
        try database.execute("DROP ROLE bystander_of_\(database.name)")
        #expect(try privileges(database) == before)
        #expect(try PrivilegeGranting.differences(on: connection) == [])
    }
}
