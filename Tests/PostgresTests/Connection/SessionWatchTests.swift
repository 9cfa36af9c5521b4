import Base
import Daemon
import Glibc
import Postgres
import TestSupport
import Testing

@Suite struct SessionWatchTests {
    /// Roles let go of their context once they are made.
    private func session(patience: Duration) throws -> PostgresSession {
        let database = try TestCluster.shared.makeDatabase()
        let context = ProcessContext(clock: SystemClock(), logger: .silent, metrics: Metrics()) { prepare in
            PostgresSession(database.target(), prepare: prepare)
        }
        return try context.session(patience: patience)
    }

    @Test func `a statement without an answer is cut, and the next one has time of its own`() throws {
        let session = try session(patience: .seconds(1))
        for _ in 0..<2 {
            let error = try #require(throws: PostgresError.self) {
                try session.withConnection { try $0.query("SELECT pg_sleep(50)") }
            }
            #expect(error.kind == .connection)
            _ = try session.withConnection { try $0.query("SELECT pg_sleep(0.5)") }
            _ = try session.withConnection { try $0.query("SELECT pg_sleep(0.7)") }
        }
    }

    @Test func `a session says while its statement is unanswered`() throws {
        let session = try session(patience: .seconds(3))
        #expect(!session.isBusy(longerThan: .zero))
        let work = Running { try session.withConnection { _ = try $0.query("SELECT pg_sleep(50)") } }
        try eventually("it is busy") { session.isBusy(longerThan: .milliseconds(500)) }
        #expect(try (work.error() as? PostgresError)?.kind == .connection)
        #expect(!session.isBusy(longerThan: .zero))
    }

    /// Connects by one name of a server, has another session find the primary by the other, and says what became of the
    /// statement of the first one.
    private func error(
        sleeping seconds: Int = 6, _ meanwhile: (_ name: String) throws -> Void = { _ in }
    ) throws -> (any Error)? {
        let cluster = try TestCluster()
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let names = ["\(folder)/first", "\(folder)/second"]
        for name in names { #expect(symlink(cluster.host, name) == 0) }
        let hosts = Monitor(names.joined(separator: ","))
        let watch = SessionWatch(logger: .silent)
        // As the duties of a worker and its lanes have it.
        let contexts = (0..<2).map { _ in
            ProcessContext(clock: SystemClock(), logger: .silent, metrics: Metrics(), watch: watch) { prepare in
                let url = "host=\(hosts.read { $0 }) user=entitled dbname=postgres"
                return PostgresSession(PostgresTarget(url: url), prepare: prepare)
            }
        }
        let former = try contexts[0].session(patience: .seconds(40))
        let work = Running { try former.withConnection { _ = try $0.query("SELECT pg_sleep(\(seconds))") } }
        try eventually("it is busy") { former.isBusy(longerThan: .milliseconds(100)) }
        try meanwhile(names[0])
        hosts.change { $0 = names[1] + "," + names[0] }
        let other = try contexts[1].session(patience: .seconds(40))
        _ = try other.withConnection { try $0.query("SELECT 1") }
        let error = try work.error()
        // A statement at the primary itself takes its time.
        _ = try other.withConnection { try $0.query("SELECT pg_sleep(2.5)") }
        return error
    }

    @Test func `a statement at a former primary that does not answer is cut when the new one is found`() throws {
        let error = try error { name in #expect(unlink(name) == 0) }
        #expect((error as? PostgresError)?.kind == .connection)
    }

    @Test func `a statement at a former primary that lets clients in and says nothing more is cut, too`() throws {
        let silent = Monitor<SilentPostgres?>(nil)
        let error = try error(sleeping: 20) { name in
            #expect(unlink(name) == 0)
            let server = try SilentPostgres(in: name)
            silent.change { $0 = server }
        }
        #expect((error as? PostgresError)?.kind == .connection)
        #expect(silent.read { $0?.admitted ?? 0 } > 0)
    }

    @Test func `a statement by another way to the primary takes its time`() throws {
        #expect(try error() == nil)
    }

    @Test func `every role can commit what the probe commits`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        for role in ["entitled_ingest", "entitled_api", "entitled_console", "entitled_worker"] {
            let probe = DatabaseProbe(name: "probe", session: PostgresSession(database.target(role: role)))
            probe.start()
            try eventually("\(role) has tried a commit") {
                try database.count(
                    """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                        AND query LIKE '%pg_logical_emit_message%' AND state = 'idle'
                    """) > 0
            }
            #expect(probe.obstacle == nil, "\(role)")
            probe.drain(until: .now + .seconds(2))
        }
    }

    @Test func `a probe says that there is no database`() throws {
        let nowhere = PostgresTarget(url: "postgresql://entitled@127.0.0.1:1/none")
        let probe = DatabaseProbe(name: "probe", session: PostgresSession(nowhere))
        probe.start()
        defer { probe.drain(until: .now + .seconds(2)) }
        try eventually("it says so") { probe.obstacle == "the database is unavailable" }
    }
}
