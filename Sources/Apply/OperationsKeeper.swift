import Base
import Postgres
import Records
import Telemetry

/// Keeps the endpoint of operations in step with the configuration: once, when the worker begins.
struct OperationsKeeper {
    private let url: String?
    private let sealer: SecretSealer
    private let logger: Logger
    private var isDone = false

    init(url: String?, sealer: SecretSealer, logger: Logger) {
        self.url = url
        self.sealer = sealer
        self.logger = logger
    }

    mutating func keep(now: Int64, on connection: PostgresConnection) throws {
        guard !isDone else { return }
        let limits = PostgresStatement(
            """
            SELECT set_config('statement_timeout', '2s', true), set_config('lock_timeout', '2s', true),
                set_config('synchronous_commit', 'on', true)
            """)
        let isChanged = try connection.transaction(opening: [limits]) { _ in
            try OperationsEndpoint.keep(url: url, sealer: sealer, now: now, on: connection)
        }
        isDone = true
        guard isChanged else { return }
        logger.notice(
            url == nil ? "operators are told nothing any more" : "operators are told of endpoints",
            ["endpoint": .string(OperationsEndpoint.id)])
    }
}
