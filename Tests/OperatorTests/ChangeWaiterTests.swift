import Base
import Daemon
import Database
import Operator
import Postgres
import TestSupport
import Testing

/// What becomes of a change is told to the one that waits.
@Suite struct ChangeWaiterTests {
    private let database: TestDatabase
    private let waiter: ChangeWaiter
    private let told = Monitor<Change??>(nil)

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        let session = PostgresSession(database.target(role: "entitled_console"))
        waiter = ChangeWaiter(session: session, logger: .silent)
    }

    private func wait(for job: Int64) {
        waiter.wait(for: job) { [told] change in told.change { $0 = .some(change) } }
    }

    private func rotated() throws -> Int64 {
        try #require(
            try database.connect().query(
                """
                INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, state, target, reason,
                    idempotency_key, request_hash, outcome)
                VALUES ('endpoint_rotate_secret', 'r', '{}', 'anna', 1, 1, 'done', 'ep_1', 't', 'k', ''::bytea, '{}') RETURNING id
                """
            ).first?.int("id"))
    }

    private func untilLookedFor() throws {
        try eventually("it was looked for") {
            try database.count(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
                    AND query LIKE '%FROM entitled.job%state <> ''running''%' AND pid <> pg_backend_pid()
                """) > 0
        }
    }

    /// A new secret is told later than it is found: until then the database may be lost, and the secret with it.
    @Test func `what was found is told although the database is away by then`() throws {
        let job = try rotated()
        waiter.start()
        defer { waiter.drain(until: .now + .seconds(2)) }
        let began = ContinuousClock.now
        wait(for: job)
        try untilLookedFor()
        try database.execute("ALTER TABLE entitled.job RENAME TO away")
        let change = try #require(told.wait(timeout: .seconds(10)) { $0 })
        #expect(change?.id == job && ContinuousClock.now - began >= EndpointSecrets.spreading)
    }

    @Test func `at the end what was found is told at once`() throws {
        let job = try rotated()
        waiter.start()
        wait(for: job)
        try untilLookedFor()
        waiter.drain(until: .now + .seconds(2))
        let change = try #require(told.read { $0 })
        #expect(change?.id == job)
    }
}
