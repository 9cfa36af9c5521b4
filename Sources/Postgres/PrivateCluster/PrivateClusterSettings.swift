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

    package init(isDurable: Bool, connections: Int, isOwnerSuperuser: Bool) {
        self.isDurable = isDurable
        self.connections = connections
        self.isOwnerSuperuser = isOwnerSuperuser
    }

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
            # A cluster that is thrown away has hundreds of databases, which would be looked through ten times a second.
            autovacuum = \(durability)
            max_wal_size = 2GB
            jit = off
            timezone = 'UTC'
            log_timezone = 'UTC'
            log_min_messages = warning
            log_checkpoints = off
            # As ClusterLog reads it.
            log_line_prefix = '%m [%p] %b '
            # Statements could quote what people wrote.
            log_min_error_statement = panic

            """
    }
}
