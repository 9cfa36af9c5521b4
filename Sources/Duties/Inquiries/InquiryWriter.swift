import Base
import Database
import Ingest
import Postgres
import Subscriptions

/// Puts what Apple signed in an answer into the log, where it is applied like all that Apple signs.
struct InquiryWriter {
    private var appender: HistoryAppender

    /// Notifications that one transaction writes at most.
    static let mostWritten = 500

    init(clock: any WallClock) {
        appender = HistoryAppender(clock: clock)
    }

    /// What is new of an answer, in parts for a transaction each, one at least: Apple signs anew whatever it is asked.
    static func parts(
        of answer: InquiryLook.Answer, on connection: PostgresConnection
    ) throws -> [[NewNotification]] {
        guard let environment = answer.environment else { return [[]] }
        var found = AccountLookup.Found(environment: environment)
        (found.transactions, found.states) = (answer.transactions, answer.states)
        let news = try found.news(on: connection)
        let entries = news.transactions.compactMap(\.entry) + news.states.map(\.entry)
        guard !entries.isEmpty else { return [[]] }
        return stride(from: 0, to: entries.count, by: mostWritten).map { start in
            Array(entries[start..<min(start + mostWritten, entries.count)])
        }
    }

    /// Whether a purchase that was asked about is still there, at the beginning of a transaction that writes of it: an erasure waits
    /// until its end, or has been. An order is of purchases that need not be there.
    static func isThere(_ inquiry: Inquiry, on connection: PostgresConnection) throws -> Bool {
        guard case .purchase(let key) = inquiry else { return true }
        _ = try Fence.hold([key.lane], on: connection)
        return try isKnown(key, on: connection)
    }

    static func isKnown(_ key: PurchaseKey, on connection: PostgresConnection) throws -> Bool {
        try PurchaseTable.owners([key], on: connection).contains { $0 != nil }
    }

    /// In a transaction; how many of them were not there.
    mutating func write(
        _ part: [NewNotification], on connection: PostgresConnection
    ) throws -> InquiryProgress.News {
        let new = try appender.insert(part, on: connection)
        let transactions = Int64(new.count { $0.type == AdmittedPayload.transactionType })
        return InquiryProgress.News(transactions: transactions, states: Int64(new.count) - transactions)
    }

    /// Nothing of what was written may be there.
    mutating func forget() { appender.forget() }
}
