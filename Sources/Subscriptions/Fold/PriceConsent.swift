/// One price increase as far as the customer's consent goes.
package struct PriceConsent: Sendable, Equatable {
    /// When the question was first signed, in ms; nil: the customer was merely told.
    package let asked: Int64?
    /// When the answer was first signed, in ms; nil: there is none.
    package let consented: Int64?

    package init(asked: Int64?, consented: Int64?) {
        self.asked = asked
        self.consented = consented
    }
}

extension PriceConsent {
    /// From `priceIncreaseStatus` (0 asked, 1 consented or told) and PRICE_INCREASE notifications.
    ///
    /// - Parameters:
    ///   - renewals: oldest first.
    ///   - notifications: oldest first.
    static func consents(_ renewals: [RenewalFact], _ notifications: [NotificationFact]) -> [PriceConsent] {
        let words = renewals.map { ($0.signedDate, Word($0)) } + notifications.compactMap(word)
        let ordered = words.enumerated().sorted { left, right in
            (left.element.0, left.offset) < (right.element.0, right.offset)
        }
        var consents: [PriceConsent] = []
        // Whether the last one is what is being spoken of.
        var isCurrent = false
        for (_, (signed, word)) in ordered {
            let current = isCurrent ? consents.last : nil
            switch word {
            case .asked where current == nil || current?.consented != nil:
                consents.append(PriceConsent(asked: signed, consented: nil))
            case .consented where current == nil:
                consents.append(PriceConsent(asked: nil, consented: signed))
            case .consented where current?.consented == nil:
                consents.removeLast()
                consents.append(PriceConsent(asked: current?.asked, consented: signed))
            default: break
            }
            isCurrent = word != .none
        }
        return consents
    }

    private enum Word {
        case asked, consented
        /// No increase is due.
        case none

        init(_ renewal: RenewalFact) {
            switch renewal.priceIncreaseStatus {
            case 0: self = .asked
            case 1: self = .consented
            default: self = .none
            }
        }
    }

    private static func word(_ fact: NotificationFact) -> (Int64, Word)? {
        switch (fact.type, fact.subtype) {
        case ("PRICE_INCREASE", "PENDING"): (fact.signedDate, .asked)
        case ("PRICE_INCREASE", "ACCEPTED"): (fact.signedDate, .consented)
        default: nil
        }
    }
}
