import Base
import Postgres
import Schemas
import TestSupport
import Testing

/// What a migration leaves to be done while processes work.
@Suite struct OnlineStepTests {
    @Test func `steps run after their migration's transaction and before the next migration`() throws {
        let database = try NextSchemas.makeDatabase()
        var story: [String] = []
        let outcome = try Migrator.migrate(
            on: try database.connect(), NextSchemas.all,
            onEvent: { event in
                switch event {
                case .waiting: break
                case .applied(let versions): story.append("applied \(versions)")
                case .step(let step): if step.isFinished { story.append("\(step.name): \(step.rows)") }
                }
            })
        let next = NextSchemas.first
        #expect(outcome == .migrated([next, next + 1]))
        #expect(
            story == [
                "applied [\(next)]", "fact_counted: \(NextSchemas.rows)", "fact_by_counted: 0", "applied [\(next + 1)]",
            ])
    }

    @Test func `a backfill that is interrupted goes on where it was, and writes no row twice`() throws {
        let database = try NextSchemas.makeDatabase()
        var batches = 0
        let killer = try database.connect()
        let interrupt: (Migrator.Event) -> Void = { event in
            guard case .step = event else { return }
            batches += 1
            guard batches == 2 else { return }
            _ = try? killer.query(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'migrator'
                """)
        }
        let doomed = try PostgresConnection(PostgresTarget(url: database.url, applicationName: "migrator"))
        #expect(throws: PostgresError.self) {
            try Migrator.migrate(on: doomed, NextSchemas.all, onEvent: interrupt)
        }
        let step = try #require(try OnlineStep.read(on: killer).first { $0.name == "fact_counted" })
        #expect(!step.isFinished && step.rows > 0 && step.rows < Int64(NextSchemas.rows))
        #expect(try database.count("SELECT count(*) FROM entitled.fact WHERE counted = 1") == step.rows)
        // A process works with the version that has come.
        try DatabaseRole.worker.check(try database.connect(role: "entitled_worker"))

        #expect(try Migrator.migrate(on: killer, NextSchemas.all) == .migrated([NextSchemas.first + 1]))
        #expect(try database.count("SELECT count(*) FROM entitled.fact WHERE counted = 1") == Int64(NextSchemas.rows))
        #expect(try OnlineStep.read(on: killer).map(\.rows).max() == Int64(NextSchemas.rows))
    }

    @Test func `an index that an interrupted build left is built anew`() throws {
        let database = try NextSchemas.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, NextSchemas.all)
        try database.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'entitled.fact_by_counted'::regclass")
        try database.execute("UPDATE entitled.migration_step SET finished_at = NULL WHERE name = 'fact_by_counted'")
        #expect(try Migrator.migrate(on: connection, NextSchemas.all) == .migrated([]))
        let valid =
            "SELECT count(*) FROM pg_index WHERE indexrelid = 'entitled.fact_by_counted'::regclass AND indisvalid"
        #expect(try database.count(valid) == 1)
        #expect(try OnlineStep.read(on: connection).allSatisfy(\.isFinished))
    }
}
