/// Apple's question about how a purchase was used, before it decides on a refund (CONSUMPTION_REQUEST).
package struct ConsumptionRequest: Sendable, Equatable {
    /// Apple takes answers for this long, in ms
    /// (https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information).
    package static let answerTime: Int64 = 12 * .hour

    package let transactionID: String
    /// When it was first asked, in ms.
    package let first: Int64
    /// How many further notifications asked the same.
    package let repeats: Int
    /// The customers' reasons as Apple names them, each once, by their first signing.
    package let reasons: [String]
    /// When Apple's decision that closed it was signed, in ms.
    package let closed: Int64?

    /// Until when Apple takes an answer, in ms.
    package var deadline: Int64 { first.later(by: ConsumptionRequest.answerTime) }

    /// Whether an answer can still matter.
    package func isOpen(at now: Int64) -> Bool { closed == nil && now < deadline }
}

extension ConsumptionRequest {
    /// What is asked after a decision, or when the time to answer is over, is another request: not every decision is told.
    ///
    /// - Parameters:
    ///   - notifications: about the transaction, each once, oldest first.
    ///   - decisions: on it, oldest first.
    static func requests(
        _ transactionID: String, _ notifications: [NotificationFact], _ decisions: [RefundDecision]
    ) -> [ConsumptionRequest] {
        var requests: [ConsumptionRequest] = []
        for fact in notifications where fact.type == "CONSUMPTION_REQUEST" {
            let open = requests.last.flatMap { last in
                fact.signedDate <= last.closed ?? .max && fact.signedDate < last.deadline ? last : nil
            }
            if open != nil { requests.removeLast() }
            let first = open?.first ?? fact.signedDate
            var reasons = open?.reasons ?? []
            if let reason = fact.consumptionRequestReason, !reasons.contains(reason) { reasons.append(reason) }
            requests.append(
                ConsumptionRequest(
                    transactionID: transactionID, first: first, repeats: open.map { $0.repeats + 1 } ?? 0,
                    reasons: reasons, closed: decisions.first { $0.signed > first }?.signed))
        }
        return requests
    }
}
