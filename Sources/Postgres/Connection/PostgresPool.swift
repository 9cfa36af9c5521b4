import Daemon

/// Several sessions for several threads, such as those that answer requests.
///
/// `@unchecked Sendable`: the list of free sessions is touched only with the lock held.
package final class PostgresPool: @unchecked Sendable {
    private let sessions: [PostgresSession]
    private let lock = ThreadLock()
    private var free: [PostgresSession]

    /// Connects nothing yet.
    ///
    /// - Parameter prepare: as a session's.
    package init(
        _ target: PostgresTarget, size: Int, logger: Logger = .silent,
        prepare: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in }
    ) {
        sessions = (0..<max(1, size)).map { _ in PostgresSession(target, logger: logger, prepare: prepare) }
        free = sessions.reversed()
    }

    /// Runs the body with a connection that nobody else has; as a session does it.
    ///
    /// - Parameter patience: how long to wait for a free one; then an error of kind `connection`.
    package func withConnection<Result>(
        patience: Duration = .seconds(5), _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
        let session = try take(patience)
        defer {
            lock.hold {
                free.append(session)
                lock.signal()
            }
        }
        return try session.withConnection(body)
    }

    /// The one used last comes first, so that what is not needed stays unconnected.
    private func take(_ patience: Duration) throws(PostgresError) -> PostgresSession {
        let deadline = ThreadLock.deadline(after: patience)
        return try lock.hold { () throws(PostgresError) in
            while true {
                if let session = free.popLast() { return session }
                guard lock.wait(until: deadline) || !free.isEmpty else {
                    throw PostgresError(.connection, "all \(sessions.count) connections are busy")
                }
            }
        }
    }

    /// From any thread: cancels all statements that are running.
    package func cancel() {
        for session in sessions { session.cancel() }
    }

    /// From any thread: takes all connections away at once.
    package func cut() {
        for session in sessions { session.cut() }
    }
}
