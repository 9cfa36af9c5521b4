/// An answer to a question about a refund in the words of the command line and of the operator API, with what Apple would refuse.
package struct RefundAnswerForm: Sendable, Equatable {
    /// Apple's `refundPreference` by its word here.
    package static let preferences = [
        "decline": "DECLINE", "grant_full": "GRANT_FULL", "grant_prorated": "GRANT_PRORATED",
    ]
    /// Apple's `deliveryStatus` by its word here.
    package static let deliveries = [
        delivered: "DELIVERED", "quality_issue": "UNDELIVERED_QUALITY_ISSUE", "wrong_item": "UNDELIVERED_WRONG_ITEM",
        "server_outage": "UNDELIVERED_SERVER_OUTAGE", "other": "UNDELIVERED_OTHER",
    ]
    package static let delivered = "delivered"

    /// Nil: none is told.
    package var preference: String?
    /// Nil: it was delivered.
    package var delivery: String?
    package var hadSample: Bool
    /// Per cent of what was used; nil: it is not told, as of what renews.
    package var consumed: Int64?

    package init(preference: String? = nil, delivery: String? = nil, hadSample: Bool = false, consumed: Int64? = nil) {
        (self.preference, self.delivery, self.hadSample, self.consumed) = (preference, delivery, hadSample, consumed)
    }

    /// What Apple would refuse.
    package enum Flaw: Error, Sendable, Equatable {
        case unknownPreference, unknownDelivery
        /// Not from 0 to 100.
        case noPercentage
        /// What was not delivered was not used.
        case usedUndelivered
        /// A part of the money goes back only for what was used in part.
        case proratedWhole
    }

    /// Whether an answer is one that a form gives: Apple refuses others.
    package static func allows(_ answer: RefundAnswer) -> Bool {
        guard answer.consumed.map({ $0 % 1000 == 0 }) ?? true,
            let delivery = deliveries.first(where: { $0.value == answer.delivery })?.key
        else { return false }
        let form = RefundAnswerForm(
            preference: answer.preference.map { wish in preferences.first { $0.value == wish }?.key ?? wish },
            delivery: delivery, hadSample: answer.sampleContentProvided, consumed: answer.consumed.map { $0 / 1000 })
        return (try? form.answer()) == answer
    }

    package func answer() throws(Flaw) -> RefundAnswer {
        let word = delivery ?? RefundAnswerForm.delivered
        guard let delivery = RefundAnswerForm.deliveries[word] else { throw .unknownDelivery }
        let wish = preference.map { RefundAnswerForm.preferences[$0] }
        if case .some(.none) = wish { throw .unknownPreference }
        if let consumed {
            guard (0...100).contains(consumed) else { throw .noPercentage }
            if word != RefundAnswerForm.delivered, consumed != 0 { throw .usedUndelivered }
            if preference == "grant_prorated", !(1...99).contains(consumed) { throw .proratedWhole }
        }
        // Apple counts thousandths of a per cent.
        return RefundAnswer(
            delivery: delivery, sampleContentProvided: hadSample, consumed: consumed.map { $0 * 1000 },
            preference: wish ?? nil)
    }
}
