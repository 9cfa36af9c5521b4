import Queue
import Records
import Subscriptions

/// Everything about one purchase in this transaction.
struct PurchaseWork {
    let key: PurchaseKey
    var facts: PurchaseFacts
    /// Its record.
    let member: AccountStore.Member?
    /// As it was before this transaction.
    let former: Purchase?
    var purchase: Purchase?
    /// Whether nothing is waiting that could say that access goes on; found out where it matters.
    var isQuiet = true
    var belief: EndBelief
    /// The notification that came last.
    var lastNews: NewsOrigin?
    /// The transaction that an app posted last.
    var lastPost: NewsOrigin?
    var drafts: [Draft] = []
    var newFacts: [FactStore.New] = []
    var owner: String?
    /// What its facts say of owners, where that is new.
    var claims: PurchaseClaims?
    /// The id under which events named the owner, where that is another one of the same customer.
    var told: String?
    /// The first notification that Apple sent of it in this transaction.
    var firstSent: NewsOrigin?
    /// When its first event is told at the latest, in ms; nil: at once.
    var tell: Int64?

    /// Whether access ended, by what is known or by what was.
    func isOver(_ now: Int64) -> Bool {
        [former, purchase].contains { $0?.ending.map { $0.believed(belief) <= now } ?? false }
    }

    /// What is to be told, and whether only the record is to know.
    struct Draft {
        let event: EventDraft
        let isForTheRecord: Bool
    }
}
