import AppStoreAPI
import Base
import Database

/// What of Apple's history is wanted, beside the time.
package struct HistoryFilter: Sendable, Equatable {
    package let place: AppScope
    /// Types of notifications; empty: all.
    package var types: [String]
    /// Any transaction id of the customer it is about; nil: everybody.
    package var transactionID: String?
    /// Only what Apple has not delivered.
    package var onlyFailures: Bool

    package init(
        _ place: AppScope, types: [String] = [], transactionID: String? = nil, onlyFailures: Bool = false
    ) {
        self.place = place
        self.types = types
        self.transactionID = transactionID
        self.onlyFailures = onlyFailures
    }

    /// Apple takes one type, or one customer, but not both: several types are several questions, and a customer's
    /// notifications are chosen from here.
    var parts: Int { transactionID == nil ? max(1, types.count) : 1 }

    func query(_ part: Int, from start: Int64, to end: Int64) -> NotificationHistoryQuery {
        NotificationHistoryQuery(from: start, to: end, subject: subject(part), onlyFailures: onlyFailures)
    }

    private func subject(_ part: Int) -> NotificationHistoryQuery.Subject {
        if let transactionID { return .customer(of: transactionID) }
        return types.indices.contains(part) ? .type(types[part], subtype: nil) : .all
    }

    /// Whether it was asked for.
    func wants(_ notification: NewNotification) -> Bool {
        types.isEmpty || types.contains(notification.type)
    }
}
