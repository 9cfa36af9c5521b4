import Base
import Daemon
import Glibc
import Synchronization

/// Keeps one connection alive for as long as a loop runs: connects when it is needed and again when it was lost.
///
/// Callers from several threads take turns. It never waits for a server that is away: it says so at once, and
/// `retryDelay` says how long a loop should do something else.
///
/// `@unchecked Sendable`: the state is touched only with the lock held.
package final class PostgresSession: @unchecked Sendable {
    private let target: PostgresTarget
    /// Of several hosts it takes the one that accepts writes.
    private let isForPrimary: Bool
    private let logger: Logger
    private let prepare: @Sendable (PostgresConnection) throws -> Void
    private let epoch: ConnectionEpoch
    private let canceller = PostgresCanceller()
    private let lock = ThreadLock()
    private var connection: PostgresConnection?
    /// That in which the connection was opened.
    private var openedIn = 0
    /// What was logged of a server that is not the right one; nil since the right one was found at once.
    private var lastRefusal: String?
    private var backOff: BackOff
    /// Keeps the watch as long as there is something to watch.
    private let watch = Mutex<SessionWatch?>(nil)
    /// Whether a statement was given up without an answer, so that its commit may hang.
    private let wasCut = Atomic(false)

    /// - Parameters:
    ///   - backOff: pauses between attempts to connect: the first and the longest.
    ///   - prepare: runs on each new connection before anything else, for example to check the role; an error of its
    ///     counts as a failed attempt, and a `PostgresRefusal` leads to the next host of the target.
    ///   - epoch: a connection of an earlier epoch is closed before its next use.
    package init(
        _ target: PostgresTarget, logger: Logger = .silent,
        backOff: ClosedRange<Duration> = .milliseconds(100)...Duration.seconds(2),
        epoch: ConnectionEpoch = ConnectionEpoch(),
        prepare: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in }
    ) {
        self.target = target
        isForPrimary = target.isForPrimary
        self.epoch = epoch
        self.logger = logger
        self.backOff = BackOff(backOff)
        self.prepare = prepare
    }

    /// Runs the body with a living connection. Its errors are passed on; a body is never run twice.
    ///
    /// Throws `PostgresError` of kind `connection` if there is none and it is too early to try again, or the attempt
    /// fails. A transaction that the body leaves open is rolled back. Must not be called inside a body.
    package func withConnection<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        try lock.hold {
            let connection = try connected()
            defer { inspect(connection) }
            do {
                return try body(connection)
            } catch let error as PostgresError where error.isOfStandby {
                // A standby where the primary was: connecting again finds the new one.
                connection.isBroken = true
                throw error
            }
        }
    }

    /// How long until the next attempt to connect makes sense; zero while connected.
    package var retryDelay: Duration {
        lock.hold { connection == nil ? backOff.remaining : .zero }
    }

    /// From any thread: cancels the statement that is running.
    @discardableResult
    package func cancel() -> Bool {
        canceller.cancel()
    }

    /// From any thread: takes the connection away at once, even from a server that hangs. The next use opens another.
    package func cut() {
        canceller.cut()
    }

    /// From any thread: the same, if one statement is unanswered for longer than this; whether that was so.
    package func cut(ifBusyFor patience: Duration) -> Bool {
        guard canceller.cut(ifBusyFor: patience) else { return false }
        wasCut.store(true, ordering: .sequentiallyConsistent)
        return true
    }

    /// From any thread: the server that the connection leads to, where another one was found to be the primary since it was
    /// opened. It may be one as well: several poolers lead to one primary.
    func former(of found: SessionWatch.FoundPrimary) -> (server: ServerAddress, target: PostgresTarget)? {
        // What another URL of the process leads to says nothing of the servers of this one.
        guard isForPrimary, target.only(found.server) != nil, let server = canceller.former(of: found),
            let target = target.only(server)
        else { return nil }
        return (server, target)
    }

    /// From any thread: whether one statement is unanswered for longer than this.
    package func isBusy(longerThan time: Duration) -> Bool { canceller.isBusy(longerThan: time) }

    func isWatched(by watch: SessionWatch) {
        self.watch.withLock { $0 = watch }
    }

    /// Closes the connection; the next use opens another. Waits for its user.
    package func close() {
        lock.hold { connection = nil }
    }

    private func connected() throws -> PostgresConnection {
        let now = epoch.current
        if let connection, openedIn == now, !connection.wasClosedWhileIdle() { return connection }
        connection = nil
        guard backOff.remaining == .zero else {
            // The same text each time, so that a failure that repeats is known as one.
            throw PostgresError(.connection, "the database is unavailable; the next attempt to connect is due soon")
        }
        do {
            var refused: String?
            let began = ContinuousClock.now
            let connection = try PostgresConnection.open(
                target, canceller: canceller,
                onRefusal: { refusal in
                    refused = "\(refusal)"
                    if refused != lastRefusal { logger.error("database refused", ["error": .text(refused)]) }
                    lastRefusal = refused
                },
                prepare: { connection in
                    // First, whether it is the right server.
                    try prepare(connection)
                    guard wasCut.load(ordering: .sequentiallyConsistent) else { return }
                    try HangingCommits.check(on: connection)
                    wasCut.store(false, ordering: .sequentiallyConsistent)
                })
            if refused == nil { lastRefusal = nil }
            if backOff.failures > 0 { logger.notice("database connection restored") }
            backOff.reset()
            self.connection = connection
            openedIn = now
            if isForPrimary, let server = canceller.connectedServer {
                watch.withLock { $0 }?.found(primary: server, at: began)
            }
            return connection
        } catch {
            if backOff.failures == 0 {
                logger.warning("database connection failed", ["error": .string("\(error)")])
            }
            backOff.fail()
            throw error
        }
    }

    private func inspect(_ connection: PostgresConnection) {
        if connection.isAlive, connection.isInTransaction {
            do {
                try connection.query("ROLLBACK")
            } catch {
                connection.isBroken = true
            }
        }
        if !connection.isAlive {
            self.connection = nil
        }
    }
}
