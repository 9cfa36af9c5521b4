/// Notifications about one purchase.
///
/// What says something of one transaction, of grace, or of a price is kept each; of the others, which differ in nothing but
/// their time, the last of each kind: Apple's word that access ended, or goes on, is asked for by its latest date alone.
package struct NotificationFacts: Sendable, Equatable {
    private var kept: Set<NotificationFact> = []
    private var last: [Kind: NotificationFact] = [:]

    private struct Kind: Hashable {
        let type: String
        let subtype: String?
        let status: Int?
    }

    package init() {}

    /// Returns whether it says something new, be it that it was said later.
    @discardableResult
    package mutating func insert(_ fact: NotificationFact) -> Bool {
        guard fact.isAlike else { return kept.insert(fact).inserted }
        let kind = Kind(type: fact.type, subtype: fact.subtype, status: fact.status)
        if let last = last[kind], !last.isTold(before: fact) { return false }
        last[kind] = fact
        return true
    }

    package mutating func formUnion(_ other: NotificationFacts) {
        for fact in other { insert(fact) }
    }
}

extension NotificationFacts: Sequence {
    package func makeIterator() -> AnyIterator<NotificationFact> {
        var (kept, last) = (kept.makeIterator(), last.values.makeIterator())
        return AnyIterator { kept.next() ?? last.next() }
    }

    package var underestimatedCount: Int { kept.count + last.count }
    package var count: Int { kept.count + last.count }
    package var first: NotificationFact? { kept.first ?? last.values.first }
    package var isEmpty: Bool { kept.isEmpty && last.isEmpty }
}

extension NotificationFact {
    /// Whether it says nothing that one of the same type, subtype and status which came later does not say.
    fileprivate var isAlike: Bool {
        transactionID == nil && consumptionRequestReason == nil && !tellsGrace && type != "PRICE_INCREASE"
            && !NotificationFact.typesAboutTransactions.contains(type)
    }

    fileprivate func isTold(before other: NotificationFact) -> Bool {
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        return uuid == other.uuid ? tie.lexicographicallyPrecedes(other.tie) : uuid < other.uuid
    }
}
