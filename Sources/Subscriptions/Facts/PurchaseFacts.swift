/// Everything that was ever said about one original transaction id, by Apple, by people and by apps.
///
/// A set: putting a fact in again changes nothing, and the order in which facts come changes nothing. It is as large as what
/// was said, not as what was signed: of the same content the first and the last signature are kept, and of notifications
/// that differ in nothing but their time the last.
package struct PurchaseFacts: Sendable, Equatable {
    package private(set) var transactions = SignedVersions<TransactionFact>()
    package private(set) var renewals = SignedVersions<RenewalFact>()
    package private(set) var notifications = NotificationFacts()
    package private(set) var assignments: Set<OwnerAssignment> = []
    package private(set) var contexts: Set<TransactionContext> = []
    package private(set) var posts: Set<PurchasePost> = []

    package init() {}

    /// The transactions are those of one original transaction id; telling them apart is the caller's.
    /// Returns whether the fact was new.
    @discardableResult
    package mutating func insert(_ fact: TransactionFact) -> Bool {
        transactions.insert(fact) != .nothing
    }

    @discardableResult
    package mutating func insert(_ fact: RenewalFact) -> Bool {
        renewals.insert(fact) != .nothing
    }

    mutating func insert(_ signed: FactReader.Signatures<TransactionFact>) {
        transactions.insert(signed.first, last: signed.last, again: signed.again)
    }

    mutating func insert(_ signed: FactReader.Signatures<RenewalFact>) {
        renewals.insert(signed.first, last: signed.last, again: signed.again)
    }

    @discardableResult
    package mutating func insert(_ fact: NotificationFact) -> Bool {
        notifications.insert(fact)
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
    /// Leaves out in which rows of the log they are.
    package mutating func forgetRows() {
        transactions.update { $0.id = .none }
        renewals.update { $0.id = .none }
    }

    /// Gives the facts for which a row stands their signed bytes, where the bytes decide and were left out.
    ///
    /// - Parameter tie: the bytes, by when a fact was signed (ms).
    package mutating func supply(_ row: FactID, _ tie: (Int64) -> [UInt8]) {
        transactions.update { if $0.tie.isEmpty, $0.id == row { $0.tie = tie($0.signedDate) } }
        renewals.update { if $0.tie.isEmpty, $0.id == row { $0.tie = tie($0.signedDate) } }
    }

    /// What was signed until then, in ms, and all that is unsigned.
    func signed(until instant: Int64) -> PurchaseFacts {
        var facts = self
        let limit = instant.later(by: Period.signingSlack)
        facts.transactions = transactions.signed(until: limit)
        facts.renewals = renewals.signed(until: limit)
        facts.notifications = NotificationFacts()
        for fact in notifications where fact.signedDate <= limit { facts.notifications.insert(fact) }
        return facts
    }

    /// What a fact on its way into the log adds to it.
    package enum Addition: Sendable, Equatable {
        case news
        /// Nothing but a later or an earlier signature of what this row says: nothing else was said between them.
        case signature(of: FactID)
        case nothing
    }

    package func addition(of fact: TransactionFact) -> Addition {
        transactions.addition(of: fact) { $0.transactionID == fact.transactionID }
    }

    package func addition(of fact: RenewalFact) -> Addition { renewals.addition(of: fact) { _ in true } }

    /// Facts that were signed in the same millisecond and say something else: there the signed bytes decide.
    package func rivals(of fact: TransactionFact) -> [TransactionFact] {
        transactions.rivals(of: fact) { $0.transactionID == fact.transactionID }
    }

    package func rivals(of fact: RenewalFact) -> [RenewalFact] { renewals.rivals(of: fact) { _ in true } }

    /// Whether the last word on this transaction is the same, but for when it was signed.
    package func says(_ fact: TransactionFact) -> Bool {
        transactions.says(fact) { $0.transactionID == fact.transactionID }
    }

    /// Whether the last word on the renewal is the same, but for when it was signed.
    package func says(_ fact: RenewalFact) -> Bool { renewals.says(fact) { _ in true } }

    /// Whether the last status that Apple told is this.
    package func says(status: Int) -> Bool {
        notifications.filter { $0.status != nil }.inOrderOfSigning().last?.status == status
    }

    /// Whether Apple's last answer about the subscription is the same, but for when it was signed.
    package func says(status: Int, _ transaction: TransactionFact, _ renewal: RenewalFact?) -> Bool {
        says(status: status) && says(transaction) && renewal.map { says($0) } ?? true
    }
}

extension TransactionFact.Content: SignedContent {}
extension RenewalFact.Content: SignedContent {}

extension TransactionFact: VersionedFact {
    package static func line(_ fact: TransactionFact) -> String { fact.transactionID }

    package func hashContent(into hasher: inout Hasher) {
        hasher.combine(self.transactionID)
        hasher.combine(self.expiresDate)
        hasher.combine(self.revocationDate)
    }
}

extension RenewalFact: VersionedFact {
    package static func line(_ fact: RenewalFact) -> Bool { true }

    package func hashContent(into hasher: inout Hasher) {
        hasher.combine(self.renewalDate)
        hasher.combine(self.autoRenewStatus)
        hasher.combine(self.gracePeriodExpiresDate)
        hasher.combine(self.autoRenewProductID)
    }
}

extension NotificationFact: SignedFact {}
