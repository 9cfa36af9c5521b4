import Base
import Daemon
import Database
import Postgres

/// Keeps the endpoint of operations in step with the configuration: once, when the worker begins.
struct OperationsEndpointSync {
    private let url: String?
    var sealer: SecretSealer
    private let logger: Logger
    /// Whether the operations endpoint is as configured.
    private(set) var isDone = false

    init(url: String?, sealer: SecretSealer, logger: Logger) {
        self.url = url
        self.sealer = sealer
        self.logger = logger
    }

    mutating func keep(now: Int64, on connection: PostgresConnection) throws {
        let limits = PostgresStatement(
            """
            SELECT set_config('statement_timeout', '2s', true), set_config('lock_timeout', '200ms', true),
                \(Durability.setting)
            """)
        let isChanged = try connection.transaction(opening: [limits]) { _ in
            try OperationsEndpoint.keep(url: url, sealer: sealer, now: now, on: connection)
        }
        isDone = true
        guard isChanged else { return }
        logger.notice(
            url == nil ? "operations endpoint removed" : "operations endpoint configured",
            ["endpoint": .string(OperationsEndpoint.id)])
    }
}
