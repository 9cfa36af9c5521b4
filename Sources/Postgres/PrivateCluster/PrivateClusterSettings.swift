/// How a private cluster is set up: written anew before each start. What an operator sets by `ALTER SYSTEM` wins.
package struct PrivateClusterSettings: Sendable {
    static let file = "entitled.conf"

    let isDurable: Bool
    let connections: Int
    /// Whether the role that logs in may do everything in the cluster.
    let isOwnerSuperuser: Bool

    /// What is committed survives a power cut.
    package static let durable = PrivateClusterSettings(
        isDurable: true, connections: 100, isOwnerSuperuser: false)

    /// The same for benchmarks and tests that look into the server.
    package static let durableForMeasuring = PrivateClusterSettings(
        isDurable: true, connections: 100, isOwnerSuperuser: true)

    /// For tests: survives the end of processes, not of the machine.
    package static let throwAway = PrivateClusterSettings(
        isDurable: false, connections: 200, isOwnerSuperuser: true)

    /// The same with a login as in production.
    package static let throwAwayAsInProduction = PrivateClusterSettings(
        isDurable: false, connections: 100, isOwnerSuperuser: false)

    func text(socket: String) -> String {
        let durability = isDurable ? "on" : "off"
        return """
            listen_addresses = ''
            port = 5432
            unix_socket_directories = '\(socket)'
            unix_socket_permissions = 0700
            max_connections = \(connections)
            shared_buffers = 128MB
            fsync = \(durability)
            full_page_writes = \(durability)
            synchronous_commit = on
            max_wal_size = 2GB
            jit = off
            timezone = 'UTC'
            log_timezone = 'UTC'
            log_min_messages = warning
            log_checkpoints = off
            # Statements could quote what people wrote.
            log_min_error_statement = panic

            """
    }
}
