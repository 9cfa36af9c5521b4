import Base
import Postgres
import Subscriptions

/// A question of Apple's about a refund, and how it was answered.
package struct RefundRequest: Sendable {
    package enum State: String, Sendable, CaseIterable {
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

    static let columns = """
        app, environment, original_transaction_id, transaction_id, product_id, reasons, repeats, asked_ms, deadline_ms,
        decided_ms, decision, state, answer, answered_by, answered_ms, attempts, failure
        """

    init(_ row: PostgresRow) throws {
        guard let environment = StoreEnvironment(code: Int16(clamping: try row.int(1))),
            let state = State(rawValue: try row.text(11))
        else { throw PostgresError(.decoding, "a refund request of an unknown environment or state") }
        let purchase = PurchaseKey(
            app: try row.text(0), environment: environment, originalTransactionID: try row.text(2))
        key = RefundRequestSummary.Key(purchase: purchase, transactionID: try row.text(3))
        productID = try row.text(4)
        reasons = try row.texts(5).compactMap { $0 }
        repeats = try row.int(6)
        asked = try row.int(7)
        deadline = try row.int(8)
        decided = try row.optionalInt(9)
        decision = try row.optionalText(10)
        self.state = state
        answer = try row.optionalText(12).flatMap(RefundAnswer.init)
        answeredBy = try row.optionalText(13)
        answered = try row.optionalInt(14)
        attempts = try row.int(15)
        failure = try row.optionalText(16)
    }
}
