import Base
import Daemon
import Glibc
import Postgres
import Schemas
import TestSupport
import Testing

/// The migrator beside connections that use the tables.
@Suite struct MigrationLocksTests {
    /// Tables in any order, as no process of ours takes them, in transactions that last, with pauses between them.
    private static func use(_ tables: [String], on connection: PostgresConnection) throws {
        _ = try connection.query("BEGIN")
        do {
            for table in tables.shuffled().prefix(3) {
                _ = try connection.query("LOCK TABLE entitled.\(table) IN ROW EXCLUSIVE MODE")
                _ = try connection.query("SELECT pg_sleep($1)", [.float8(Double.random(in: 0...0.01))])
            }
            _ = try connection.query("COMMIT")
            _ = try connection.query("SELECT pg_sleep($1)", [.float8(Double.random(in: 0...0.2))])
        } catch {
            _ = try? connection.query("ROLLBACK")
            throw error
        }
    }

    @Test func `transactions that lock tables in any order are never ended for a migration`() throws {
        let database = try NextSchemas.makeDatabase()
        let tables = try database.texts(
            """
            SELECT relname::text FROM pg_class WHERE relnamespace = 'entitled'::regnamespace AND relkind = 'r'
                AND NOT relispartition
            """)
        let isOver = Monitor(false)
        let done = Monitor(0)
        let threads = (0..<4).map { _ in
            TestThread {
                let connection = try database.connect()
                while !isOver.read({ $0 }) {
                    try Self.use(tables, on: connection)
                    done.change { $0 += 1 }
                }
            }
        }
        try eventually("they work") { done.read { $0 } > 20 }
        let outcome = try Migrator.migrate(on: try database.connect(), NextSchemas.all, wait: .seconds(120))
        isOver.change { $0 = true }
        #expect(outcome == .migrated([NextSchemas.first, NextSchemas.first + 1]))
        for thread in threads { try thread.value() }
        #expect(try NextSchemas.faults(in: database) == [])
    }

    @Test func `a table that is held for too long ends the migration with the holder's name, and nothing is changed`()
        throws
    {
        let database = try NextSchemas.makeDatabase()
        let holder = try PostgresConnection(PostgresTarget(url: database.url, applicationName: "nightly report"))
        _ = try holder.query("BEGIN")
        _ = try holder.query("SELECT count(*) FROM entitled.fact")
        // The tables of another copy of the template have the same numbers; what holds them holds up nothing here.
        let elsewhere = try NextSchemas.makeDatabase().connect()
        _ = try elsewhere.query("BEGIN")
        _ = try elsewhere.query("SELECT count(*) FROM entitled.fact")
        var waits: [[String]] = []
        let busy = #expect(throws: Migrator.Busy.self) {
            try Migrator.migrate(
                on: try database.connect(), NextSchemas.all, wait: .seconds(2),
                onEvent: { if case .waiting(let holders) = $0 { waits.append(holders) } })
        }
        #expect(busy?.description.contains("(nightly report)") == true)
        #expect(busy?.description.contains("--wait") == true)
        let role = try holder.query("SELECT session_user::text AS name, pg_backend_pid()::int8 AS pid").one()
        let description = "process \(try role.int("pid")) of \(try role.text("name")) (nightly report) for "
        #expect(waits.count > 1 && waits.allSatisfy { $0.contains { $0.hasPrefix(description) } }, "\(waits)")
        let other = "process \(try elsewhere.query("SELECT pg_backend_pid()::int8 AS pid").one().int("pid")) "
        #expect(!waits.joined().contains { $0.hasPrefix(other) }, "\(waits)")
        #expect(try SchemaVersion.read(on: try database.connect()) == SchemaVersion.current)
        #expect(try NextSchemas.faults(in: database) == [])
        _ = try holder.query("COMMIT")
        #expect(
            try Migrator.migrate(on: try database.connect(), NextSchemas.all)
                == .migrated([NextSchemas.first, NextSchemas.first + 1]))
    }

    @Test func `writers wait for a migration that is held up only while it asks for the locks`() throws {
        let database = try NextSchemas.makeDatabase()
        let holder = try database.connect()
        _ = try holder.query("BEGIN")
        _ = try holder.query("SELECT count(*) FROM entitled.fact")
        let migrating = TestThread { try Migrator.migrate(on: try database.connect(), NextSchemas.all) }
        // Each of these conflicts with what the migrator waits for; a lock that was kept would let none through.
        let writer = try database.connect()
        for _ in 0..<5 {
            try database.untilBlocked()
            _ = try writer.query("UPDATE entitled.fact SET seq = seq + 1 WHERE original_transaction_id = '1'")
        }
        _ = try holder.query("COMMIT")
        #expect(try migrating.value() == .migrated([NextSchemas.first, NextSchemas.first + 1]))
    }

    @Test func `another migration is waited for, and named`() throws {
        let database = try NextSchemas.makeDatabase()
        let other = try database.connect()
        let process = try other.query("SELECT pg_advisory_lock(4992030524978970960), pg_backend_pid()::int8 AS pid")
            .one()
        let busy = #expect(throws: Migrator.Busy.self) {
            try Migrator.migrate(on: try database.connect(), wait: .seconds(1))
        }
        #expect(busy?.description.contains("another migration is running") == true)
        let pid = try process.int("pid")
        #expect(busy?.description.contains("held by process \(pid) of ") == true, "\(busy?.description ?? "")")
    }

    @Test func `a migration that loses its connection at any moment leaves a whole version, and goes on`() throws {
        let database = try NextSchemas.makeDatabase()
        let killer = try database.connect()
        let sessions = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'migrator'
            """
        let kill = sessions.replacing("count(*)", with: "count(pg_terminate_backend(pid))")
        var interrupted = 0
        var delay: Duration = .milliseconds(1)
        while true {
            let migrating = TestThread {
                let target = PostgresTarget(url: database.url, applicationName: "migrator")
                return try Migrator.migrate(on: try PostgresConnection(target), NextSchemas.all)
            }
            try eventually("it is connected") { try migrating.hasEnded || killer.query(sessions).one().int(0) > 0 }
            usleep(UInt32(delay.milliseconds * 1000))
            _ = try killer.query(kill)
            delay += .milliseconds(2)
            do {
                _ = try migrating.value()
                if try SchemaVersion.read(on: killer) == NextSchemas.first + 1 { break }
            } catch is PostgresError {
                interrupted += 1
            }
            #expect(try NextSchemas.faults(in: database) == [])
        }
        #expect(interrupted > 5)
        #expect(try Migrator.migrate(on: killer, NextSchemas.all) == .migrated([]))
        #expect(try NextSchemas.faults(in: database) == [])
        #expect(try OnlineStep.read(on: killer).allSatisfy(\.isFinished))
        #expect(try database.count("SELECT count(*) FROM entitled.fact WHERE counted = 1") == Int64(NextSchemas.rows))
        let valid =
            "SELECT count(*) FROM pg_index WHERE indexrelid = 'entitled.fact_by_counted'::regclass AND indisvalid"
        #expect(try database.count(valid) == 1)
    }
}
