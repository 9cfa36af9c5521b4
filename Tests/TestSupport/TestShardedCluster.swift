import Base
import FoundationEssentials
import Glibc
import Postgres
import Schemas
import Synchronization

/// A Citus cluster for tests: a coordinator and two servers that take shards, each a Postgres of its own. It goes, with its files,
/// when the test process ends, however it ends.
package final class TestShardedCluster: Sendable {
    /// One of its servers.
    package final class Server: Sendable {
        private let watchdog: Watchdog
        private let folder: String
        private let programs: String
        private var data: String { "\(folder)/postgres/data" }
        /// The folder of its socket.
        package var host: String { "\(folder)/postgres" }

        fileprivate init() throws {
            folder = try TemporaryFolder.make()
            programs = try TestStandby.findPrograms()
            guard mkdir("\(folder)/postgres", 0o755) == 0 else { throw TestFailure("no folder") }
            try TestCommand.giveAway("\(folder)/postgres")
            watchdog = try Watchdog(folder: folder)
            try TestCommand.run(
                TestCommand.unprivileged([
                    "\(programs)/initdb", "-U", "entitled", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync",
                    "-D", data,
                ]))
            try start()
        }

        private var settings: String {
            [
                "listen_addresses=", "unix_socket_directories=\(host)", "shared_preload_libraries=citus", "fsync=off",
                "wal_level=logical", "max_connections=200", "max_prepared_transactions=200",
                "citus.node_connection_timeout=2s", "citus.recover_2pc_interval=1s",
            ].map { "-c \($0)" }.joined(separator: " ")
        }

        package func start() throws {
            try control("start", "-l", "\(host)/log", "-o", settings)
        }

        /// As a crash does it.
        package func stop() throws {
            try control("stop", "-m", "immediate")
        }

        private func control(_ command: String, _ options: String...) throws {
            try TestCommand.run(
                TestCommand.unprivileged(["\(programs)/pg_ctl", command, "-s", "-w", "-D", data] + options))
        }

        package func url(database: String) -> String {
            "postgres://entitled@/\(database)?host=\(host.replacing("/", with: "%2F"))"
        }
    }

    /// Whether Postgres has the extension here.
    package static let isAvailable: Bool = {
        guard let programs = try? TestStandby.findPrograms(),
            let folder = try? TestCommand.run(["\(programs)/pg_config", "--sharedir"])
        else { return false }
        return FileManager.default.fileExists(
            atPath: "\(folder.trimmingPrefix { $0.isWhitespace }.prefix { !$0.isNewline })/extension/citus.control")
    }()

    /// Why a test is disabled where it has not.
    package static let absence = "skipped: Postgres has no extension citus"

    private static let made = Result { try TestShardedCluster() }
    private static let number = Atomic<Int>(0)

    /// The one that tests of a process share, started by the first; for faults take one of your own.
    package static var shared: TestShardedCluster {
        get throws { try made.get() }
    }

    /// The coordinator is the first one.
    package let servers: [Server]

    package init() throws {
        servers = try (0..<3).map { _ in try Server() }
    }

    /// A new database of the coordinator, an ordinary one, empty.
    package func makeDatabase() throws -> TestDatabase {
        let name = "sharded_\(TestShardedCluster.number.add(1, ordering: .relaxed).newValue)"
        for server in servers {
            let connection = try PostgresConnection(PostgresTarget(url: server.url(database: "postgres")))
            try connection.query("CREATE DATABASE \(name)")
        }
        return TestDatabase(url: servers[0].url(database: name), name: name)
    }

    /// Makes the database the coordinator's, and adds the other servers; its tables stay where they are.
    package func join(_ database: TestDatabase) throws {
        for server in servers {
            try PostgresConnection(PostgresTarget(url: server.url(database: database.name))).query(
                "CREATE EXTENSION citus")
        }
        let connection = try database.connect()
        try connection.query("SELECT citus_set_coordinator_host($1, 5432)", [.text(servers[0].host)])
        for server in servers.dropFirst() {
            try connection.query("SELECT citus_add_node($1, 5432)", [.text(server.host)])
        }
    }

    /// A new database with the schema of this program, distributed over so many shards.
    package func makeDistributedDatabase(shards: Int = 4) throws -> TestDatabase {
        let database = try makeDatabase()
        try join(database)
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection)
        _ = try Distribution.distribute(over: shards, on: connection)
        _ = try PrivilegeGranting.apply(on: connection)
        return database
    }
}
