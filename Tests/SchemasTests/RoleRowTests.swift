import Base
import Database
import Postgres
import Schemas
import TestSupport
import Testing

/// What roles may do beside the tables that they are granted, and which rows they add to those.
struct RoleRowTests {
    private func state(_ sql: String, on connection: PostgresConnection) -> String? {
        do {
            _ = try connection.query(sql)
            return nil
        } catch {
            return error.sqlstate ?? "no state"
        }
    }

    private static let notNeeded = [
        "SELECT lo_create(0)", "SELECT lo_creat(-1)", "SELECT lo_from_bytea(0, 'x')", "SELECT lo_put(1, 0, 'x')",
        "SELECT lowrite(0, 'x')", "SELECT lo_truncate(0, 1)", "CREATE TEMPORARY TABLE mine (x int)",
        "SELECT pg_advisory_lock(1)", "SELECT pg_try_advisory_lock(1)", "SELECT pg_advisory_xact_lock_shared(1, 2)",
        "SELECT pg_try_advisory_xact_lock(1)",
    ]

    @Test(arguments: DatabaseRole.allCases)
    func `no role keeps large objects, temporary tables or advisory locks`(role: DatabaseRole) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: role.rawValue)
        for sql in Self.notNeeded {
            #expect(state(sql, on: connection) == "42501", "\(sql)")
        }
        #expect(try PublicPrivileges.left(on: connection) == [])
    }

    // MARK: - Listening

    private static let minute = "floor(extract(epoch FROM clock_timestamp()) / 60)::int8"

    @Test func `the public role notes the present minute, and no other`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_ingest")
        for minute in ["1", "\(Self.minute) - 3", "\(Self.minute) + 2", "9223372036854775807", "0", "-1"] {
            let sql = "INSERT INTO entitled.listening (minute) SELECT \(minute)"
            #expect(state(sql, on: connection) == "42501", "\(minute)")
            #expect(state(sql + " ON CONFLICT DO NOTHING", on: connection) == "42501", "\(minute)")
        }
        try IngestUptime.note(on: connection)
        try IngestUptime.note(on: connection)
        #expect(try database.count("SELECT count(*) FROM entitled.listening") >= 1)
        let worker = try database.connect(role: "entitled_worker")
        try IngestUptime.forget(now: SystemClock().now(), on: worker)
        #expect(state("INSERT INTO entitled.listening VALUES (1)", on: worker) == nil)
        let reader = try database.connect(role: "entitled_api")
        #expect(try reader.query("SELECT count(*) FROM entitled.listening").one().int(0) >= 2)
    }

    // MARK: - Facts

    private func insert(_ kind: Int, signed: String = "NULL, NULL") -> String {
        """
        INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload,
            header, signature)
        VALUES (1, 'demo', 1, '1', gen_random_uuid(), \(kind), 1, 1, 'x', \(signed))
        """
    }

    @Test func `the api adds facts of what was done here, and none that Apple would have signed`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_api")
        for kind in 0...12 {
            let isOurs = [4, 6, 7, 8].contains(kind)
            #expect((state(insert(kind), on: connection) == nil) == isOurs, "\(kind)")
            for signed in ["gen_random_uuid(), NULL", "NULL, 'x'", "gen_random_uuid(), 'x'"] {
                #expect(state(insert(kind, signed: signed), on: connection) == "42501", "\(kind) \(signed)")
            }
        }
        #expect(try connection.query("SELECT count(*) FROM entitled.fact").one().int(0) == 4)
        #expect(state("DELETE FROM entitled.fact", on: connection) == "42501")
        #expect(state("UPDATE entitled.fact SET kind = 1", on: connection) == "42501")
        let worker = try database.connect(role: "entitled_worker")
        for kind in 1...8 { #expect(state(insert(kind, signed: "gen_random_uuid(), 'x'"), on: worker) == nil) }
        #expect(try worker.query("DELETE FROM entitled.fact RETURNING 1").count == 12)
    }

    @Test func `a role of an operator's own is concerned by grants alone`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let name = "reader_of_\(database.name)"
        try database.execute("CREATE ROLE \(name)")
        try database.execute("GRANT USAGE ON SCHEMA entitled TO \(name)")
        try database.execute("GRANT SELECT ON entitled.fact, entitled.listening TO \(name)")
        try database.execute(insert(1))
        let connection = try database.connect(role: name)
        #expect(try connection.query("SELECT count(*) FROM entitled.fact").one().int(0) == 1)
    }
}
