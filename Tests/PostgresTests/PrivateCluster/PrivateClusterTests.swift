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

    @Test func `whatever a server that was killed left behind, one new server starts`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            try cluster.start()
            let file = "\(folder)/postgres/data/postmaster.pid"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            // Of the same user.
            let other = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
            let number = try other.query("SELECT pg_backend_pid()").one().int(0)
            // As a disk that was full, a power cut and a container that was killed leave it.
            for left in ["", "nonsense\n", "1" + text.drop { $0 != "\n" }] {
                kill(try process(folder), SIGKILL)
                try eventually("the killed server is gone") { !cluster.isRunning }
                try left.write(toFile: file, atomically: false, encoding: .utf8)
                let lock = "\(folder)/postgres/socket/.s.PGSQL.5432.lock"
                try ("\(number)" + text.drop { $0 != "\n" }).write(toFile: lock, atomically: false, encoding: .utf8)
                try cluster.start()
                #expect(cluster.isRunning)
            }

            // A server that lives, and cannot be found.
            let hidden = try process(folder)
            #expect(unlink(file) == 0)
            try cluster.start()
            #expect(try process(folder) != hidden)
            // Also of one that is not reaped yet.
            #expect(access("/proc/\(hidden)/cwd", F_OK) != 0)

            // A child that stands still, and does not notice.
            let child = try PostgresConnection(PostgresTarget(url: cluster.url())).query(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
            ).one().int(0)
            kill(pid_t(child), SIGSTOP)
            kill(try process(folder), SIGKILL)
            try eventually("the killed server is gone") { !cluster.isRunning }
            try cluster.start()
            #expect(cluster.isRunning)
            try cluster.stop(.immediate)
        }
    }

    @Test func `a server keeps no descriptor of its starter open`() throws {
        try TemporaryFolder.with { folder in
            var ends = [Int32](repeating: -1, count: 2)
            // Without O_CLOEXEC, as other libraries of a process may open them.
            try #require(pipe(&ends) == 0)
            defer { close(ends[0]) }
            let cluster = try cluster(folder)
            try cluster.start()
            close(ends[1])
            // The end of the pipe comes only where no process has its other end: not the server, and no child of another test
            // any more.
            let reading = ends[0]
            try eventually("no process has the other end") {
                var end = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
                return poll(&end, 1, 0) == 1 && end.revents & Int16(POLLHUP) != 0
            }
            try cluster.stop(.immediate)
        }
    }

    @Test func `a server has ended only where that can be told`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            #expect(cluster.hasEnded)
            let file = "\(folder)/postgres/data/postmaster.pid"
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
            #expect(!cluster.hasEnded && !cluster.isRunning)
            #expect(rmdir(file) == 0)
            // Of no process, and of one that is no server.
            for number in [pid_t.max, getpid()] {
                try "\(number)\n".write(toFile: file, atomically: false, encoding: .utf8)
                #expect(cluster.hasEnded && !cluster.isRunning)
            }
        }
    }

    @Test func `its log is told without what sessions write, and begins anew when it has grown`() throws {
        try TemporaryFolder.with { folder in
            let tape = LogTape()
            let watchdog = ClusterWatchdog(try cluster(folder), logger: tape.logger)
            try watchdog.start()
            try tape.wait(for: "database system is ready to accept connections")
            let connection = try PostgresConnection(PostgresTarget(url: watchdog.cluster.url()))
            #expect(throws: PostgresError.self) { try connection.query("SELECT 'ada'::int") }
            let settings = "\(folder)/postgres/data/postgresql.auto.conf"
            try "nonsense = 1\n".write(toFile: settings, atomically: false, encoding: .utf8)
            try connection.query("SELECT pg_reload_conf()")
            try tape.wait(for: #""severity":"LOG","process":"postmaster","text":"unrecognized configuration parameter"#)
            #expect(!tape.text.contains("ada"))

            let log = "\(folder)/postgres/server.log"
            #expect(try String(contentsOfFile: log, encoding: .utf8).contains("ada"))
            let file = open(log, O_WRONLY | O_APPEND)
            let block = Array(String(repeating: "written\n", count: 131_072).utf8)
            for _ in 0..<10 { #expect(write(file, block, block.count) == block.count) }
            close(file)
            var status = stat()
            try eventually("it begins anew") { stat(log, &status) == 0 && status.st_size < 1_000_000 }
            #expect(try String(contentsOfFile: "\(log).1", encoding: .utf8).contains("ada"))
            try watchdog.stop(timeout: .seconds(20))
            try tape.wait(for: "database system is shut down")
            #expect(!watchdog.cluster.isRunning)
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
            #expect(error.description.contains("apt-get install postgresql-9; with both installed, `entitled upgrade"))
        }
    }

    @Test func `where an upgrade was interrupted no empty cluster takes the place of the data`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            mkdir("\(folder)/postgres/data.14", 0o700)
            let error = try #require(throws: PrivateClusterError.self) { try cluster.start() }
            #expect(error.description.contains("mv \(folder)/postgres/data.14 \(folder)/postgres/data"))
            #expect(access("\(folder)/postgres/data", F_OK) != 0)
        }
    }

    private static let installed =
        ((try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []).compactMap { Int($0) }
        .sorted()

    @Test(.enabled(if: installed.count > 1, "skipped: only one major version of Postgres is installed"))
    func `data of an earlier major version are upgraded, and stay as they are where that fails`() throws {
        try TemporaryFolder.with { folder in
            let cluster = try cluster(folder)
            let (old, new) = (Self.installed[0], try PrivateCluster.newestInstalled())
            let data = "\(folder)/postgres/data"
            try TestCommand.run(
                TestCommand.unprivileged([
                    "/usr/lib/postgresql/\(old)/bin/initdb", "-D", data, "-U", "entitled", "-E", "UTF8", "--no-locale",
                    "--auth-local=trust", "--no-sync",
                ]))
            try "include_if_exists = 'entitled.conf'\n".write(
                toFile: "\(data)/postgresql.conf", atomically: false, encoding: .utf8)
            try cluster.start()
            func connect() throws -> PostgresConnection {
                try PostgresConnection(PostgresTarget(url: cluster.url()))
            }
            try connect().execute(script: "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
            try connect().query("CREATE DATABASE closed ALLOW_CONNECTIONS false")
            try connect().query("ALTER SYSTEM SET work_mem = '5MB'")

            let refusal = try #require(throws: PrivateClusterError.self) { try cluster.upgrade() }
            #expect(refusal.description.contains("pg_upgrade from \(old) to \(new) failed"))
            #expect(cluster.version == old && !cluster.isRunning)
            try cluster.start()
            try connect().query("DROP DATABASE closed")

            let upgrade = try #require(try cluster.upgrade())
            #expect(upgrade.from == old && upgrade.to == new && upgrade.former == "\(data).\(old)")
            #expect(access(upgrade.former, F_OK) == 0)
            #expect(cluster.version == new && !cluster.isRunning)
            #expect(try cluster.upgrade() == nil)
            try cluster.start()
            #expect(try connect().query("SELECT a FROM t").one().int(0) == 1)
            #expect(try connect().query("SHOW work_mem").one().text(0) == "5MB")
            #expect(try connect().query("SHOW server_version_num").one().text(0).hasPrefix("\(new)"))
            try cluster.stop(.immediate)
        }
    }
}
