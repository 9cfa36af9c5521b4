import Base
import Postgres
import TestSupport
import Testing

@testable import EntitledApp

/// What `entitled migrate` says while it waits.
@Suite struct MigrationWaitTests {
    @Test func `a wait that lasts is told of, and not at every pause`() {
        var wait = MigrationWait()
        let begin = ContinuousClock.now
        let lines = stride(from: 0, through: 23, by: 0.5).compactMap { seconds in
            wait.line(["process 1", "process 2"], now: begin + .seconds(seconds)).map { (seconds, $0) }
        }
        #expect(lines.map(\.0) == [2, 12, 22])
        #expect(lines[0].1 == "waiting for locks that others hold: process 1, process 2")
        var silent = MigrationWait()
        #expect(silent.line([], now: begin) == nil && silent.line([], now: begin + .seconds(60)) == nil)
        #expect(silent.line(["process 1"], now: begin + .seconds(61)) != nil)
    }

    @Test func `migrate names what it waits for while it waits`() throws {
        let bench = try DoctorFixture()
        let holder = try PostgresConnection(PostgresTarget(url: bench.database.url, applicationName: "nightly report"))
        _ = try holder.query("SELECT pg_advisory_lock(4992030524978970960)")
        let refused = bench.run(["migrate", "--wait", "5s"])
        let role = try holder.query("SELECT session_user::text AS name, pg_backend_pid()::int8 AS pid").one()
        let name = "process \(try role.int("pid")) of \(try role.text("name")) (nightly report) for "
        #expect(refused.status == 1)
        #expect(refused.errors.contains("waiting for locks that others hold: \(name)"), "\(refused.errors)")
        #expect(refused.errors.contains("held by \(name)"), "\(refused.errors)")
    }
}
