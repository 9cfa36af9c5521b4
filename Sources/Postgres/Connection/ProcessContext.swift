import Base
import Daemon

/// What a role gets from its process, or from a test.
package struct ProcessContext: Sendable {
    /// Makes sessions with the role's privileges, each for one thread. The body prepares every new connection.
    package typealias Sessions =
        @Sendable (
            _ prepare: @escaping @Sendable (PostgresConnection) throws -> Void
        ) throws -> PostgresSession

    private let sessions: Sessions
    package let clock: any WallClock
    package let logger: Logger
    package let metrics: Metrics

    package init(clock: any WallClock, logger: Logger, metrics: Metrics, sessions: @escaping Sessions) {
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        self.sessions = sessions
    }

    package func session(
        _ prepare: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in }
    ) throws -> PostgresSession {
        try sessions(prepare)
    }
}
