import Database
import Postgres
import Synchronization

/// Puts refused changes into the audit, of each operator some in a minute, so that requests in a loop do not fill it.
final class RefusalNotes: Sendable {
    private static let mostPerMinute = 30
    /// By operator: the minute, and how many were noted in it.
    private let counts = Mutex<[String: (minute: Int64, count: Int)]>([:])

    /// - Parameter now: ms since 1970.
    func note(
        _ kind: ChangeKind, _ target: String, by origin: ChangeOrigin, _ error: DeskError, now: Int64,
        on connection: PostgresConnection
    ) throws {
        let minute = now / 60_000
        let isNoted = counts.withLock { counts in
            let known = counts[origin.user].flatMap { $0.minute == minute ? $0.count : nil } ?? 0
            counts[origin.user] = (minute, known + 1)
            return known < RefusalNotes.mostPerMinute
        }
        guard isNoted else { return }
        try AuditTable.refused(
            kind, try noted(target, kind, on: connection), reason: nil, by: origin, message: error.message,
            on: connection)
    }

    /// Of customers the id by which they are known. An id that names none may be that of one who was deleted, and would stay, and so would that of a purchase.
    private func noted(
        _ target: String, _ kind: ChangeKind, on connection: PostgresConnection
    ) throws -> String {
        guard kind.targetClass != .purchase else { return "" }
        guard kind.targetClass == .customer else { return String(target.unicodeScalars.prefix(255)) }
        guard target.utf8.count <= 1024, !target.utf8.contains(0) else { return "" }
        return try CustomerQuery.resolve(target, on: connection).appUserID ?? ""
    }
}
