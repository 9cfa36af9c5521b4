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
    private let watch: SessionWatch
    package let clock: any WallClock
    package let logger: Logger
    package let metrics: Metrics
    package let tracer: Tracer

    /// - Parameter watch: nil: of its own. Sessions of one watch tell each other where the primary is.
    package init(
        clock: any WallClock, logger: Logger, metrics: Metrics, tracer: Tracer = .off, watch: SessionWatch? = nil,
        sessions: @escaping Sessions
    ) {
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        self.tracer = tracer
        self.sessions = sessions
        self.watch = watch ?? SessionWatch(logger: logger)
    }

    /// - Parameter patience: how long one statement may stay unanswered before the connection is cut; longer than the
    ///   server lets a statement of the role run. Asked for again and again.
    package func session(
        patience: @escaping @autoclosure @Sendable () -> Duration,
        _ prepare: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in }
    ) throws -> PostgresSession {
        let session = try sessions(prepare)
        watch.add(session, patience: patience())
        return session
    }
}
