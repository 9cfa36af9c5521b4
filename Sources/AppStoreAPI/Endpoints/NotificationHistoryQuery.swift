import Base

/// What of the notification history is wanted
/// (https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryrequest).
package struct NotificationHistoryQuery: Sendable, Equatable {
    package enum Subject: Sendable, Equatable {
        case all
        /// Of any of the customer's transactions: a transaction id, original or not.
        case customer(of: String)
        /// A type, and perhaps one of its subtypes.
        case type(String, subtype: String?)
    }

    /// How far back Apple keeps it, in milliseconds.
    package static func reach(in environment: StoreEnvironment) -> Int64 {
        (environment == .production ? 180 : 30) * 86_400_000
    }

    /// Milliseconds since 1970, both included; the start at most `reach` ago.
    package var start: Int64
    package var end: Int64
    package var subject: Subject
    /// Only what was not delivered yet; what Apple still tries again is among it.
    package var onlyFailures: Bool

    package init(from start: Int64, to end: Int64, subject: Subject = .all, onlyFailures: Bool = false) {
        self.start = start
        self.end = end
        self.subject = subject
        self.onlyFailures = onlyFailures
    }

    var json: JSON {
        var (transaction, type, subtype): (String?, String?, String?)
        switch subject {
        case .all: break
        case .customer(let id): transaction = id
        case .type(let name, let part): (type, subtype) = (name, part)
        }
        return .object([
            "startDate": .int(start), "endDate": .int(end), "transactionId": transaction.map { .string($0) },
            "notificationType": type.map { .string($0) }, "notificationSubtype": subtype.map { .string($0) },
            "onlyFailures": onlyFailures ? .bool(true) : nil,
        ])
    }
}
