/// Everything that was ever signed about one original transaction id, and what people and apps said of it.
///
/// A set: putting a fact in again changes nothing, and the order in which facts come changes nothing.
package struct PurchaseFacts: Sendable, Equatable {
    package private(set) var transactions: Set<TransactionFact> = []
    package private(set) var renewals: Set<RenewalFact> = []
    package private(set) var notifications: Set<NotificationFact> = []
    package private(set) var assignments: Set<OwnerAssignment> = []
    package private(set) var contexts: Set<TransactionContext> = []
    package private(set) var posts: Set<PurchasePost> = []

    package init() {}

    /// The transactions are those of one original transaction id; telling them apart is the caller's.
    /// Returns whether the fact was new.
    @discardableResult
    package mutating func insert(_ fact: TransactionFact) -> Bool {
        transactions.insert(fact).inserted
    }

    @discardableResult
    package mutating func insert(_ fact: RenewalFact) -> Bool {
        renewals.insert(fact).inserted
    }

    @discardableResult
    package mutating func insert(_ fact: NotificationFact) -> Bool {
        notifications.insert(fact).inserted
    }

    @discardableResult
    package mutating func insert(_ fact: OwnerAssignment) -> Bool {
        assignments.insert(fact).inserted
    }

    @discardableResult
    package mutating func insert(_ fact: TransactionContext) -> Bool {
        contexts.insert(fact).inserted
    }

    @discardableResult
    package mutating func insert(_ fact: PurchasePost) -> Bool {
        posts.insert(fact).inserted
    }

    package mutating func formUnion(_ other: PurchaseFacts) {
        transactions.formUnion(other.transactions)
        renewals.formUnion(other.renewals)
        notifications.formUnion(other.notifications)
        assignments.formUnion(other.assignments)
        contexts.formUnion(other.contexts)
        posts.formUnion(other.posts)
    }
}

extension PurchaseFacts {
    /// Whether the last word on this transaction is the same, but for when it was signed.
    package func says(_ fact: TransactionFact) -> Bool {
        guard var last = transactions.filter({ $0.transactionID == fact.transactionID }).inOrderOfSigning().last
        else { return false }
        (last.signedDate, last.tie) = (fact.signedDate, fact.tie)
        return last == fact
    }

    /// Whether the last word on the renewal is the same, but for when it was signed.
    package func says(_ fact: RenewalFact) -> Bool {
        guard var last = renewals.inOrderOfSigning().last else { return false }
        (last.signedDate, last.tie) = (fact.signedDate, fact.tie)
        return last == fact
    }

    /// Whether the last status that Apple told is this.
    package func says(status: Int) -> Bool {
        notifications.filter { $0.status != nil }.inOrderOfSigning().last?.status == status
    }
}

/// Facts that are put in the order of their signing.
protocol SignedFact {
    var signedDate: Int64 { get }
    var tie: [UInt8] { get }
}

// Facts are put into sets more often than anything else is done with them; these few members tell them apart nearly
// always, and comparing settles the rest.

extension TransactionFact {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(signedDate)
        hasher.combine(transactionID)
    }
}

extension RenewalFact {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(signedDate)
    }
}

extension NotificationFact {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(signedDate)
        hasher.combine(uuid)
    }
}

extension TransactionFact: SignedFact {}
extension RenewalFact: SignedFact {}
extension NotificationFact: SignedFact {}

extension Sequence where Element: SignedFact {
    /// Oldest first; of equal instants the greater bytes are the newer.
    func inOrderOfSigning() -> [Element] {
        sorted { left, right in
            left.signedDate == right.signedDate
                ? left.tie.lexicographicallyPrecedes(right.tie) : left.signedDate < right.signedDate
        }
    }
}
