import Base
import FoundationEssentials
import Glibc
import Postgres
import TestSupport
import Testing

/// Serialised: each test starts servers of its own and waits for them against the clock.
@Suite(.serialized) struct `the private cluster` {
    private func cluster(_ folder: String) throws -> PrivateCluster {
        try PrivateCluster(stateDirectory: folder, settings: .throwAway)
    }

    private func process(_ folder: String) throws -> pid_t {
        let text = try String(contentsOfFile: "\(folder)/postgres/data/postmaster.pid", encoding: .utf8)
        return try #require(pid_t(text.prefix { $0.isNumber }))
    }

    @Test func `it is made, found, left over, adopted and stopped`() throws {
        try TemporaryFolder.with { folder in
            #expect(PrivateCluster.runningURL(stateDirectory: folder) == nil)
            var first: PrivateCluster? = try cluster(folder)
            try first?.start()
            let url = try #require(first?.url())
            #expect(PrivateCluster.runningURL(stateDirectory: folder) == url)
            let connection = try PostgresConnection(PostgresTarget(url: url))
            #expect(try connection.currentUser() == "entitled")
            try connection.execute(script: "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
            let left = try process(folder)

            // A second process is refused; after the first one's death it goes on with the same server.
            #expect(throws: PrivateClusterError.self) { try cluster(folder) }
            first = nil
            let second = try cluster(folder)
            try second.start()
            #expect(try process(folder) == left)
            #expect(try connection.query("SELECT a FROM t").one().int(0) == 1)

            try second.stop()
            #expect(!second.isRunning)
            #expect(PrivateCluster.runningURL(stateDirectory: folder) == nil)
            try second.stop()
            try second.start()
            #expect(try PostgresConnection(PostgresTarget(url: url)).query("SELECT a FROM t").one().int(0) == 1)
            try second.stop(.immediate)
        }
    }

    @Test func `a server that was killed is started again, even if its number belongs to another process`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            try cluster.start()
            let killed = try process(folder)
            kill(killed, SIGKILL)
            try eventually("the killed server is gone") { !cluster.isRunning }
            let file = "\(folder)/postgres/data/postmaster.pid"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            // Of the same user, and a Postgres even: only its folder tells.
            let other = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
            let number = try other.query("SELECT pg_backend_pid()").one().int(0)
            try ("\(number)" + text.drop { $0 != "\n" }).write(toFile: file, atomically: false, encoding: .utf8)
            #expect(!cluster.isRunning)
            try eventually("its children are gone, and it starts") { (try? cluster.start()) != nil }
            #expect(try process(folder) != killed)
            try cluster.stop(.immediate)
        }
    }

    @Test func `what stops initdb or the server is told`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            try "".write(toFile: "\(folder)/postgres/data", atomically: false, encoding: .utf8)
            #expect(throws: PrivateClusterError.self) { try cluster.start() }
            #expect(unlink("\(folder)/postgres/data") == 0)
            try cluster.start()
            try cluster.stop(.immediate)
            let settings = "\(folder)/postgres/data/postgresql.auto.conf"
            try "nonsense = 1\n".write(toFile: settings, atomically: false, encoding: .utf8)
            let error = try #require(throws: PrivateClusterError.self) { try cluster.start() }
            #expect(error.description.contains("nonsense"))
        }
    }

    @Test func `an initdb that was interrupted is done again`() throws {
        try TemporaryFolder.with { folder in
            let first = try cluster(folder)
            var home = stat()
            #expect(stat("\(folder)/postgres", &home) == 0 && mkdir("\(folder)/postgres/data.new", 0o700) == 0)
            #expect(chown("\(folder)/postgres/data.new", home.st_uid, home.st_gid) == 0)
            try "rest".write(toFile: "\(folder)/postgres/data.new/rest", atomically: false, encoding: .utf8)
            try first.start()
            #expect(first.isRunning)
            try first.stop(.immediate)
        }
    }

    @Test func `a long or odd path gets its socket elsewhere`() throws {
        try TemporaryFolder.with { folder in
            let state = "\(folder)/it's \"odd\", " + String(repeating: "long", count: 20)
            let cluster = try cluster(state)
            try cluster.start()
            #expect(cluster.url().contains("%2Ftmp%2Fentitled%2D"))
            #expect(try PostgresConnection(PostgresTarget(url: cluster.url())).currentUser() == "entitled")
            try cluster.stop()
        }
    }

    @Test func `committing is durable unless the cluster is for tests`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try PrivateCluster(stateDirectory: folder)
            try cluster.start()
            let connection = try PostgresConnection(PostgresTarget(url: cluster.url()))
            for (name, value) in [
                ("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "on"), ("max_connections", "100"),
                ("listen_addresses", ""), ("shared_buffers", "128MB"), ("server_encoding", "UTF8"),
            ] {
                #expect(try connection.query("SELECT current_setting($1)", [.text(name)]).one().text(0) == value)
            }
            try cluster.stop(.immediate)
        }
    }

    @Test func `nobody else enters its folders`() throws {
        try TemporaryFolder.with { folder in
            _ = try cluster(folder)
            var status = stat()
            #expect(stat("\(folder)/postgres", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o700)
            #expect(status.st_uid != 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: only root runs Postgres as another user"))
    func `a folder that Postgres' user may not enter is named`() throws {
        try TemporaryFolder.with { folder in
            chmod(folder, 0o700)
            let error = try #require(throws: PrivateClusterError.self) { try cluster("\(folder)/state") }
            #expect(error.description.contains("may not enter \(folder);"))
        }
    }

    @Test func `data of a version that is not installed says what to install`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            mkdir("\(folder)/postgres/data", 0o700)
            try "9\n".write(toFile: "\(folder)/postgres/data/PG_VERSION", atomically: false, encoding: .utf8)
            let error = try #require(throws: PrivateClusterError.self) { try cluster.start() }
            #expect(error.description.contains("apt-get install postgresql-9"))
        }
    }
}
