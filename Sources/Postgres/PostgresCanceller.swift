import CLibpq

/// Ends, from any thread, the statement that a connection is busy with: for shutting down.
///
/// `@unchecked Sendable`: the handle is touched only with the lock held.
package final class PostgresCanceller: @unchecked Sendable {
    private let lock = ThreadLock()
    private var handle: OpaquePointer?

    package init() {}

    deinit {
        PQfreeCancel(handle)
    }

    /// Asks the server to cancel; the statement then fails with SQLSTATE 57014. Does nothing where none is running.
    ///
    /// - Returns: whether the request was sent. Blocks while it connects.
    @discardableResult
    package func cancel() -> Bool {
        lock.hold {
            guard let handle else { return false }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { reason in
                PQcancel(handle, reason.baseAddress, Int32(reason.count)) == 1
            }
        }
    }

    /// From now on for this connection; nil for none.
    func follow(_ connection: OpaquePointer?) {
        let next = connection.flatMap { PQgetCancel($0) }
        lock.hold {
            PQfreeCancel(handle)
            handle = next
        }
    }
}
