import CLibpq

/// What the server says beside its answers, as far as it decides something.
///
/// `pg_cancel_backend` ends a commit's wait for a synchronous standby: Postgres then reports success, with a warning (manual, 27.2.8,
/// "Synchronous Replication"; `SyncRepWaitForLSN` in its source).
final class PostgresNotices {
    private var isUnconfirmed = false

    /// Whether a commit was reported since the last call that waited for a standby in vain.
    func takeUnconfirmed() -> Bool {
        defer { isUnconfirmed = false }
        return isUnconfirmed
    }

    /// - Parameter receiver: of libpq: the pointer that came with the function.
    static func receive(_ notice: OpaquePointer?, by receiver: UnsafeMutableRawPointer?) {
        guard let notice, let receiver else { return }
        // Its function and not its text, which comes in the server's language.
        let function = PQresultErrorField(notice, Int32(UInt8(ascii: "R"))).map { String(cString: $0) }
        guard function == "SyncRepWaitForLSN" else { return }
        Unmanaged<PostgresNotices>.fromOpaque(receiver).takeUnretainedValue().isUnconfirmed = true
    }
}
