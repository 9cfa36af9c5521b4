import CLibpq
import Glibc

/// Ends, from any thread, what a connection is busy with: for shutting down.
///
/// `@unchecked Sendable`: the handle and the socket are touched only with the lock held.
package final class PostgresCanceller: @unchecked Sendable {
    /// libpq's key to one connection, which outlives the connection while it is used.
    ///
    /// `@unchecked Sendable`: the key never changes, and PQcancel is safe from any thread (libpq, "Canceling Queries in
    /// Progress").
    private final class Key: @unchecked Sendable {
        let handle: OpaquePointer

        init?(_ connection: OpaquePointer) {
            guard let handle = PQgetCancel(connection) else { return nil }
            self.handle = handle
        }

        deinit {
            PQfreeCancel(handle)
        }
    }

    private let lock = ThreadLock()
    private var key: Key?
    private var socket: Int32 = -1
    /// Since when a statement is under way.
    private var busySince: ContinuousClock.Instant?
    /// Where the connection leads to, and since when.
    private var server: ServerAddress?
    private var openedAt = ContinuousClock.now

    package init() {}

    /// Asks the server to cancel; the statement then fails with SQLSTATE 57014. Does nothing where none is running.
    ///
    /// - Returns: whether the request was sent. Blocks until the server took it, which one that hangs never does: see
    ///   `cut`.
    @discardableResult
    package func cancel() -> Bool {
        // Not with the lock held: `cut` must be possible meanwhile.
        guard let key = lock.hold({ key }) else { return false }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { reason in
            PQcancel(key.handle, reason.baseAddress, Int32(reason.count)) == 1
        }
    }

    /// Takes the connection away at once, without asking the server: its user gets an error of kind
    /// `connection`. Never blocks.
    package func cut() {
        lock.hold {
            // Shut down rather than closed: the connection's owner still holds the descriptor.
            if socket >= 0 { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// The same, if one statement is under way for longer than this; whether that was so.
    package func cut(ifBusyFor patience: Duration) -> Bool {
        lock.hold {
            guard socket >= 0, let since = busySince, ContinuousClock.now - since > patience else { return false }
            busySince = nil
            shutdown(socket, Int32(SHUT_RDWR))
            return true
        }
    }

    /// Where the connection leads to, if it was opened to another server before this one was found to be the primary.
    func former(of found: SessionWatch.FoundPrimary) -> ServerAddress? {
        lock.hold { server.flatMap { $0 != found.server && openedAt < found.moment ? $0 : nil } }
    }

    /// Whether one statement is under way for longer than this.
    func isBusy(longerThan time: Duration) -> Bool {
        lock.hold { busySince.map { ContinuousClock.now - $0 > time } ?? false }
    }

    /// A statement is under way while the body runs.
    func watching<Result>(_ body: () throws(PostgresError) -> Result) throws(PostgresError) -> Result {
        lock.hold { busySince = ContinuousClock.now }
        defer { lock.hold { busySince = nil } }
        return try body()
    }

    /// Where the connection leads to; nil: there is none.
    var connectedServer: ServerAddress? { lock.hold { server } }

    /// From now on for this connection; nil for none.
    func follow(_ connection: OpaquePointer?) {
        let next = connection.flatMap { Key($0) }
        lock.hold {
            key = next
            socket = connection.map { PQsocket($0) } ?? -1
            server = connection.flatMap { ServerAddress(of: $0) }
            openedAt = .now
        }
    }
}
