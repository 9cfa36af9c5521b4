import Base
import Postgres
import Subscriptions

/// A question of Apple's about a refund, and how it was answered.
package struct RefundRequest: Sendable, RowDecodable {
    package enum State: String, Sendable, CaseIterable, ColumnDecodable {
        /// No answer was given.
        case open
        /// There is an answer, to be sent.
        case ready
        /// Perhaps it was sent.
        case sending
        case sent
        /// Apple did not take the answer.
        case failed
    }

    package let key: RefundRequestSummary.Key
    package let productID: String
    package let reasons: [String]
    package let repeats: Int64
    /// Milliseconds since 1970, as all times here.
    package let asked: Int64
    package let deadline: Int64
    package let decided: Int64?
    package let decision: String?
    package let state: State
    package let answer: RefundAnswer?
    package let answeredBy: String?
    package let answered: Int64?
    package let attempts: Int64
    package let failure: String?

    /// Whether an answer can still matter and was not given.
    package func isOpen(at now: Int64) -> Bool { decided == nil && now < deadline && state != .sent }

    /// Why no answer is taken any more, as a part of a sentence.
    ///
    /// - Parameter now: ms since 1970.
    package func objection(at now: Int64) -> String? {
        if let decision { return "Apple decided (\(decision))" }
        if decided != nil { return "Apple decided" }
        if now >= deadline { return "the 12 hours are over" }
        return state == .sent || state == .sending ? "an answer was sent, or is on its way" : nil
    }

    package static let columns = """
        app, environment, original_transaction_id, transaction_id, product_id, reasons, repeats, asked_ms, deadline_ms,
        decided_ms, decision, state, answer, answered_by, answered_ms, attempts, failure
        """

    package init(_ row: PostgresRow) throws {
        let purchase = try PurchaseKey(row)
        key = RefundRequestSummary.Key(purchase: purchase, transactionID: try row.text("transaction_id"))
        productID = try row.text("product_id")
        reasons = try row.texts("reasons").compactMap { $0 }
        repeats = try row.int("repeats")
        asked = try row.int("asked_ms")
        deadline = try row.int("deadline_ms")
        decided = try row.optionalInt("decided_ms")
        decision = try row.optionalText("decision")
        state = try row.value("state")
        answer = try row.optionalText("answer").flatMap(RefundAnswer.init)
        answeredBy = try row.optionalText("answered_by")
        answered = try row.optionalInt("answered_ms")
        attempts = try row.int("attempts")
        failure = try row.optionalText("failure")
    }
}
