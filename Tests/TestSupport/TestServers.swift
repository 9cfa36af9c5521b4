import FoundationEssentials
import Glibc
import Postgres
import Synchronization

/// Further servers of a test cluster that is the coordinator of a cluster of Citus: its distributed tables lie there.
package struct TestServers: Sendable {
    /// Why tests that need such a cluster do not run.
    package static let absence = "skipped: Postgres has no extension citus"
    /// Whether there is the extension beside the programs that tests run.
    package static let areAvailable: Bool = {
        guard let programs = try? TestStandby.findPrograms() else { return false }
        let version = programs.split(separator: "/").dropLast().last ?? ""
        return access("/usr/share/postgresql/\(version)/extension/citus.control", R_OK) == 0
    }()

    /// Over how many shards `$ENTITLED_TEST_SHARDS` wants the tables of migrated databases distributed; nil: tests run on one
    /// Postgres.
    package static let wantedShards: Int? = {
        guard let text = ProcessInfo.processInfo.environment["ENTITLED_TEST_SHARDS"] else { return nil }
        guard let shards = Int(text), areAvailable else { fatalError("ENTITLED_TEST_SHARDS: no number, or no citus") }
        return shards
    }()

    /// Has each connection of this process find out where lanes lie, as the program's own do when they check their role.
    static func followShards() {
        PostgresConnection.opening.withLock { opening in
            opening = { connection in try? connection.findShards(of: "entitled.lane", count: 256) }
        }
    }

    private static let settings = [
        "shared_preload_libraries = 'citus'", "max_connections = 1000", "max_prepared_transactions = 1000",
        "max_worker_processes = 200", "wal_level = 'logical'",
    ]
    /// Known once the extension is loaded.
    private static let ownSettings = [
        "citus.node_connection_timeout = '2s'", "citus.recover_2pc_interval = '5s'",
    ]

    /// Has a server load the extension from its next start on.
    static func prepare(_ url: String) throws {
        let connection = try PostgresConnection(PostgresTarget(url: url))
        for setting in settings { try connection.query("ALTER SYSTEM SET \(setting)") }
    }

    /// Joins databases of this name, which all servers have, to one.
    package static func join(_ servers: [TestCluster], database: String) throws {
        let connections = try servers.map { server in
            let connection = try PostgresConnection(PostgresTarget(url: server.url(of: database)))
            try connection.query("SET client_min_messages = 'error'")
            try connection.query("CREATE EXTENSION citus")
            for setting in ownSettings { try connection.query("ALTER SYSTEM SET \(setting)") }
            try connection.query("SELECT pg_reload_conf()")
            return connection
        }
        try connections[0].query("SELECT citus_set_coordinator_host($1, 5432)", [.text(servers[0].host)])
        for server in servers.dropFirst() {
            try connections[0].query("SELECT citus_add_node($1, 5432)", [.text(server.host)])
        }
    }
}
