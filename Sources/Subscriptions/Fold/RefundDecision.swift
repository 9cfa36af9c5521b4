/// What Apple decided about the money of one transaction. A family share that is taken away is no refund.
package struct RefundDecision: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case refunded
        /// A refund that was asked for and not given (REFUND_DECLINED).
        case declined
        /// A refund that was taken back (REFUND_REVERSED).
        case reversed
    }

    package let transactionID: String
    package let kind: Kind
    /// When it was first signed, in ms.
    package let signed: Int64
    /// When the money went back by Apple's account (`revocationDate`), in ms; only of a refund whose transaction says so.
    package private(set) var revoked: Int64?
}

extension RefundDecision {
    /// - Parameters:
    ///   - versions: of the transaction, oldest first.
    ///   - notifications: about it, oldest first.
    static func decisions(
        _ transactionID: String, _ versions: [TransactionFact], _ notifications: [NotificationFact]
    ) -> [RefundDecision] {
        let words = versions.map { ($0.signedDate, Word($0)) } + notifications.compactMap(word)
        let ordered = words.enumerated().sorted { left, right in
            (left.element.0, left.offset) < (right.element.0, right.offset)
        }
        var decisions: [RefundDecision] = []
        var state = State.paid
        for (_, (signed, word)) in ordered {
            if let kind = state.hear(word) {
                decisions.append(
                    RefundDecision(transactionID: transactionID, kind: kind, signed: signed, revoked: word.revocation))
            } else if let place = decisions.lastIndex(where: { $0.kind == .refunded }),
                decisions[place].revoked == nil
            {
                // The transaction can be signed a little after the notification that it came with.
                decisions[place].revoked = word.revocation
            }
        }
        return decisions
    }

    private static func word(_ fact: NotificationFact) -> (Int64, Word)? {
        switch fact.type {
        case "REFUND": (fact.signedDate, .refund)
        case "REFUND_DECLINED": (fact.signedDate, .declined)
        case "REFUND_REVERSED": (fact.signedDate, .reversed)
        default: nil
        }
    }

    /// One thing that was signed about the money.
    private enum Word {
        /// A version of the transaction that has a revocation, at this instant in ms.
        case revoked(Int64)
        /// A version that has none.
        case whole
        /// A notification's type.
        case refund, declined, reversed

        var revocation: Int64? {
            if case .revoked(let date) = self { date } else { nil }
        }

        init(_ version: TransactionFact) {
            let isFamily = version.isFamilyShare || version.revocationType == "FAMILY_REVOKE"
            self = version.revocationDate.flatMap { isFamily ? nil : .revoked($0) } ?? .whole
        }
    }

    private enum State {
        case paid
        /// A version of the transaction said so: a later one without a revocation takes it back.
        case refunded
        /// Only a notification said so: what the versions leave out says nothing.
        case toldRefunded
        case reversed

        /// What the word decides, if it is news.
        mutating func hear(_ word: Word) -> Kind? {
            switch (self, word) {
            case (_, .declined): return .declined
            case (.paid, .revoked), (.reversed, .revoked):
                self = .refunded
                return .refunded
            case (.paid, .refund), (.reversed, .refund):
                self = .toldRefunded
                return .refunded
            case (.toldRefunded, .revoked):
                self = .refunded
                return nil
            case (.refunded, .whole), (.refunded, .reversed), (.toldRefunded, .reversed), (.paid, .reversed):
                self = .reversed
                return .reversed
            default: return nil
            }
        }
    }
}
