import Base
import Glibc
import Postgres
import Synchronization

/// A throw-away Postgres for tests, or the coordinator of a throw-away cluster. It goes, with its files, when the test process
/// ends, however it ends.
package final class TestCluster: Sendable {
    private static let made = Result { try TestCluster() }
    private static let number = Atomic<Int>(0)

    /// The one that tests of a process share, started by the first; for faults take one of your own.
    package static var shared: TestCluster {
        get throws { try made.get() }
    }

    private let cluster: PrivateCluster
    private let watchdog: Watchdog
    package let folder: String
    /// Where it is a coordinator, the servers that distributed tables lie on.
    package let servers: [TestCluster]
    /// What migrated databases are copied from.
    let template = MadeOnce<TestDatabase>()

    /// One Postgres, unless all migrated databases of this process are to be distributed (`TestServers.wantedShards`).
    package convenience init(_ settings: PrivateClusterSettings = .throwAway) throws {
        try self.init(settings, servers: TestServers.wantedShards == nil ? 0 : 2)
    }

    /// - Parameter servers: how many servers a coordinator has beside itself; 0: one Postgres, without the extension.
    package convenience init(_ settings: PrivateClusterSettings = .throwAway, servers: Int) throws {
        let others = try (0..<servers).map { _ in try TestCluster(settings, servers: [], isServer: true) }
        try self.init(settings, servers: others, isServer: servers > 0)
    }

    private init(_ settings: PrivateClusterSettings, servers: [TestCluster], isServer: Bool) throws {
        folder = try TemporaryFolder.make()
        watchdog = try Watchdog(folder: folder)
        self.servers = servers
        cluster = try PrivateCluster(stateDirectory: folder, settings: settings)
        try cluster.start()
        guard isServer else { return }
        try TestServers.prepare(url)
        try cluster.stop()
        try cluster.start()
    }

    /// For the maintenance database.
    package var url: String { url(of: "postgres") }

    package func url(of database: String) -> String { cluster.url(database: database) }

    /// A new database of this cluster.
    ///
    /// - Parameters:
    ///   - tablespace: where its tables are kept, if not in the cluster's folder.
    ///   - template: what it is a copy of, which has no connection then; without one it is empty.
    package func makeDatabase(in tablespace: String? = nil, from template: TestDatabase? = nil) throws -> TestDatabase {
        let number = TestCluster.number.add(1, ordering: .relaxed).newValue
        let name = "test_\(number)"
        // A copy lies on the same servers as its template.
        for server in [self] + servers {
            let connection = try PostgresConnection(PostgresTarget(url: server.url))
            try connection.query(
                "CREATE DATABASE \(name)" + (template.map { " TEMPLATE \($0.name)" } ?? "")
                    + (tablespace.map { " TABLESPACE \($0)" } ?? ""))
        }
        if template == nil, !servers.isEmpty { try TestServers.join([self] + servers, database: name) }
        return TestDatabase(url: cluster.url(database: name), name: name)
    }

    /// The folder of its socket, as a host of a connection string.
    package var host: String {
        String(url.split(separator: "=").last ?? "").replacing("%2F", with: "/").replacing("%2D", with: "-")
    }

    package func start() throws {
        try cluster.start()
    }

    /// As a crash does it, unless another mode is asked for. A coordinator's servers go on.
    package func stop(_ mode: PrivateCluster.StopMode = .immediate) throws {
        try cluster.stop(mode)
    }

    package func restart(_ mode: PrivateCluster.StopMode = .immediate) throws {
        try stop(mode)
        try start()
    }

    package var isRunning: Bool { cluster.isRunning }
}

/// A value that the first caller makes, and all others wait for; a failure is made again by the next.
final class MadeOnce<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func get(_ make: () throws -> Value) throws -> Value {
        try value.withLock { value in
            if let value { return value }
            let made = try make()
            value = made
            return made
        }
    }
}

/// A database for one test.
package struct TestDatabase: Sendable {
    package let url: String
    package let name: String

    package init(url: String, name: String) {
        self.url = url
        self.name = name
    }

    package func connect(role: String? = nil) throws -> PostgresConnection {
        try PostgresConnection(target(role: role))
    }

    package func target(role: String? = nil) -> PostgresTarget {
        PostgresTarget(url: url, role: role, applicationName: name)
    }

    /// Ends every other connection to this database, as a failover or an administrator does.
    package func terminateConnections() throws {
        let connection = try PostgresConnection(PostgresTarget(url: url, applicationName: "terminator"))
        try connection.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """)
    }
}
