import Database

/// Notifications of transactions that failed, as they were prepared: while the lanes are taken apart, each is tried again in
/// several transactions, and checking its signatures costs more than all else.
struct PreparedMemory {
    private var contents: [Int64: DecodedNotification.Content] = [:]

    private static let limit = 1024

    mutating func remember(_ prepared: [DecodedNotification]) {
        for notification in prepared where contents.count < PreparedMemory.limit {
            contents[notification.pending.seq] = notification.content
        }
    }

    mutating func forget(_ pending: [PendingNotification]) {
        guard !contents.isEmpty else { return }
        for notification in pending { contents[notification.seq] = nil }
    }

    mutating func removeAll() { contents.removeAll() }

    /// All of them, in their order; those that are not remembered are prepared.
    func prepare(_ pending: [PendingNotification], by preparer: NotificationDecoder) -> [DecodedNotification] {
        guard !contents.isEmpty else { return preparer.prepare(pending) }
        var new = preparer.prepare(pending.filter { contents[$0.seq] == nil })[...]
        return pending.compactMap { notification in
            contents[notification.seq].map { DecodedNotification(pending: notification, content: $0) }
                ?? new.popFirst()
        }
    }
}
