import CLibpq
import Glibc

/// Ends, from any thread, what a connection is busy with: for shutting down.
///
/// `@unchecked Sendable`: the handle and the socket are touched only with the lock held.
package final class PostgresCanceller: @unchecked Sendable {
    private let lock = ThreadLock()
    private var handle: OpaquePointer?
    private var socket: Int32 = -1
    /// Since when a statement is under way.
    private var busySince: ContinuousClock.Instant?

    package init() {}

    deinit {
        PQfreeCancel(handle)
    }

    /// Asks the server to cancel; the statement then fails with SQLSTATE 57014. Does nothing where none is running.
    ///
    /// - Returns: whether the request was sent. Blocks until the server took it, which one that hangs never does: see
    ///   `cut`.
    @discardableResult
    package func cancel() -> Bool {
        lock.hold {
            guard let handle else { return false }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { reason in
                PQcancel(handle, reason.baseAddress, Int32(reason.count)) == 1
            }
        }
    }

    /// Takes the connection away at once, without asking the server: its user gets an error of kind
    /// `connection`. Never blocks, unless `cancel` does at that moment.
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

    /// A statement is under way while the body runs.
    func watching<Result>(_ body: () throws(PostgresError) -> Result) throws(PostgresError) -> Result {
        lock.hold { busySince = ContinuousClock.now }
        defer { lock.hold { busySince = nil } }
        return try body()
    }

    /// From now on for this connection; nil for none.
    func follow(_ connection: OpaquePointer?) {
        let next = connection.flatMap { PQgetCancel($0) }
        lock.hold {
            PQfreeCancel(handle)
            handle = next
            socket = connection.map { PQsocket($0) } ?? -1
        }
    }
}
