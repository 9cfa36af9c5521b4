import Subscriptions

/// Hears notifications one after the other, as a worker does: folds before and after, and tells each event id once.
struct Story {
    let key: PurchaseKey
    let deriver: EventDeriver
    let foldSettings: FoldSettings
    private(set) var facts = PurchaseFacts()
    private(set) var purchase: Purchase?
    private(set) var told: [(id: String, draft: EventDraft)] = []
    /// With those that were told before.
    private(set) var drafted: [(id: String, draft: EventDraft)] = []

    init(_ key: PurchaseKey, patience: Int64 = day, foldSettings: FoldSettings = FoldSettings()) {
        self.key = key
        self.foldSettings = foldSettings
        deriver = EventDeriver(confirmation: ExpiryConfirmation(patience: patience))
    }

    /// What is newly told. `now` is the instant of signing if it is not given.
    mutating func hear(_ telling: Telling, now: Int64? = nil) -> [EventDraft] {
        if telling.isPosted, let transaction = telling.transaction {
            return post(transaction, now: now ?? telling.signed)
        }
        telling.add(to: &facts)
        let before = purchase
        purchase = Purchase(folding: facts, key: key, foldSettings: foldSettings)
        return look(before, .notification(telling.notification), now ?? telling.signed)
    }

    /// What is newly told when an app posts the transaction of a notification: that alone, as signed there. Ends are told
    /// by time, whatever is posted.
    mutating func post(_ transaction: TransactionFact, now: Int64) -> [EventDraft] {
        facts.insert(transaction)
        let before = purchase
        purchase = Purchase(folding: facts, key: key, foldSettings: foldSettings)
        let cause = Cause.observation(id: "posted-\(transaction.transactionID)-\(transaction.signedDate)")
        return purchase.map { tell(deriver.changes(before: before, after: $0, cause: cause, now: now)) } ?? []
    }

    /// Nothing but time passes; only what was due by the timers is looked at.
    mutating func wait(until now: Int64) -> [EventDraft] {
        look(purchase, .time, now)
    }

    private mutating func look(_ before: Purchase?, _ cause: Cause, _ now: Int64) -> [EventDraft] {
        guard let purchase else { return [] }
        return tell(deriver.events(before: before, after: purchase, cause: cause, now: now))
    }

    private func isTold(_ type: EventType, _ cause: String) -> Bool {
        told.contains { $0.draft.type == type && $0.draft.cause == cause }
    }

    private mutating func tell(_ drafts: [EventDraft]) -> [EventDraft] {
        var new: [EventDraft] = []
        for draft in drafts {
            let id = draft.id
            drafted.append((id, draft))
            guard !told.contains(where: { $0.id == id }), !draft.isRepetition(told: isTold) else { continue }
            told.append((id, draft))
            new.append(draft)
        }
        return new
    }
}

extension Story {
    /// What consumers were told of money in all, in milliunits of the purchase's currency.
    var balance: Int64 { told.reduce(0) { $0 + $1.draft.payment.milliunits } }
}

extension EventDraft.Payment {
    var milliunits: Int64 {
        switch self {
        case .none: 0
        case .received(let charge): charge?.milliunits ?? 0
        case .returned(let charge): -(charge?.milliunits ?? 0)
        }
    }
}

extension EventDraft {
    /// As in `CANCELLATION(UNSUBSCRIBE)`.
    var name: String { reason.map { "\(type.rawValue)(\($0.rawValue))" } ?? type.rawValue }
}

extension [EventDraft] {
    var names: [String] { map(\.name) }
}

extension Story {
    /// A life that has begun, the story that heard of it, and what was told.
    static func begin(
        lasts: Int64 = 30 * day, offer: Life.Offer? = nil, isFamily: Bool = false
    ) -> (Life, Story, [EventDraft]) {
        var life = Life(isFamily: isFamily)
        var story = Story(life.key)
        let drafts = story.hear(life.start(lasts: lasts, offer: offer))
        return (life, story, drafts)
    }
}
