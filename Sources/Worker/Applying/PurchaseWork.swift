import Database
import Subscriptions

/// Everything about one purchase in this turn.
struct PurchaseWork {
    let key: PurchaseKey
    var known: KnownFacts
    /// Its record; read in the transaction.
    var member: AccountTable.Member?
    /// As it was before this turn.
    let former: Purchase?
    var purchase: Purchase?
    /// Whether nothing is waiting that could say that access goes on; found out where it matters.
    var isQuiet = true
    var confirmation: ExpiryConfirmation
    var drafts: [Draft] = []
    /// The last notification that brought something of it in this turn, by 16 bytes.
    var cause: [UInt8]?
    var newFacts: [FactTable.New] = []
    /// Whether some of them were signed in the same millisecond as others that say something else: what is kept is written
    /// anew then, with the bytes that decide.
    var isContested = false
    var owner: String?
    /// What its facts say of owners, where that is new.
    var claims: PurchaseClaims?
    /// The id under which events named the owner, where that is another one of the same customer.
    var told: String?
    /// The first notification that Apple sent of it in this turn.
    var firstSent: NotificationOrigin?
    /// When its first event is told at the latest, in ms; nil: at once.
    var tell: Int64?

    var facts: PurchaseFacts { known.facts }

    /// Whether access ended, by what is known or by what was.
    func isOver(_ now: Int64) -> Bool {
        [former, purchase].contains { $0?.ending.map { $0.confirmed(confirmation) <= now } ?? false }
    }

    /// What is to be folded anew, and kept: purchases that have many facts since this turn, and contested ones.
    var whole: KnownFacts? {
        guard !newFacts.isEmpty, known.isWhole else { return nil }
        return known.isFolded ? (isContested ? known : nil) : known.rows >= PurchaseFoldTable.leastRows ? known : nil
    }

    /// What is to be told, and whether only the record is to know.
    struct Draft {
        let event: EventDraft
        let isForTheRecord: Bool
        /// The notification that it follows from, by 16 bytes; nil: time alone.
        let cause: [UInt8]?
    }
}

extension PurchaseWork {
    /// One fact that a notification brought: it becomes a row, or another signature of a row, or nothing.
    mutating func add(_ row: FactRow, of pending: PendingNotification) {
        let addition: PurchaseFacts.Addition
        switch row.read() {
        case .transaction(let fact):
            addition = known.facts.addition(of: fact)
            isContested = isContested || !known.facts.rivals(of: fact).isEmpty
        case .renewal(let fact):
            addition = known.facts.addition(of: fact)
            isContested = isContested || !known.facts.rivals(of: fact).isEmpty
        default: addition = .news
        }
        let origin = NotificationOrigin(seq: pending.seq, source: pending.source)
        switch addition {
        case .signature(let kept) where row.again.isEmpty:
            newFacts.append(FactTable.New(key: key, seq: pending.seq, fact: row, source: pending.source, kept: kept))
            known.note(row, origin, in: key.environment, as: kept)
        case .nothing: break
        case .news, .signature:
            known.rows += 1
            newFacts.append(FactTable.New(key: key, seq: pending.seq, fact: row, source: pending.source))
            known.note(row, origin, in: key.environment)
        }
    }
}
