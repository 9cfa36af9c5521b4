import FoundationEssentials
import Subscriptions
import Testing

/// What holds for every life and every order in which it is heard of.
struct PropertyTests {
    /// As many lives are tried for each property; `PROPERTY_CASES` in the environment tries more.
    private static let seeds: Range<UInt64> =
        0..<(ProcessInfo.processInfo.environment["PROPERTY_CASES"].flatMap { UInt64($0) } ?? 1000)

    private func expect(_ fault: @escaping @Sendable (Scenario) -> String?) {
        if let failure = Property(fault: fault).failure(in: Self.seeds) { Issue.record(Comment(rawValue: failure)) }
    }

    @Test func `any order with repetitions folds to the same purchase and history`() {
        expect { scenario in
            let (life, heard) = (scenario.life, scenario.heard)
            var facts = PurchaseFacts()
            for telling in heard { telling.add(to: &facts) }
            guard Purchase(folding: facts, key: life.key) == life.purchase() else { return "another purchase" }
            return PurchaseHistory(of: facts) == PurchaseHistory(of: life.facts) ? nil : "another history"
        }
    }

    @Test func `folding step by step, or in batches, is folding in one go`() {
        expect { scenario in
            let life = scenario.life
            let (straight, grace) = (life.purchase(), life.purchase(defaultGrace: 3 * day))
            var chance = Chance(seed: scenario.seed)
            var (steps, batches, batch) = (PurchaseFacts(), PurchaseFacts(), PurchaseFacts())
            var (step, lenient, lump): (Purchase?, Purchase?, Purchase?)
            for telling in scenario.heard {
                telling.add(to: &steps)
                telling.add(to: &batch)
                step = Purchase(folding: steps, key: life.key)
                lenient = Purchase(
                    folding: steps, key: life.key, foldSettings: FoldSettings(defaultGrace: .milliseconds(3 * day)))
                guard Int.random(in: 0..<3, using: &chance) == 0 else { continue }
                batches.formUnion(batch)
                batch = PurchaseFacts()
                lump = Purchase(folding: batches, key: life.key)
            }
            batches.formUnion(batch)
            lump = Purchase(folding: batches, key: life.key)
            if step != straight || lenient != grace { return "step by step" }
            return lump == straight ? nil : "in batches"
        }
    }

    @Test func `what is kept and read again between any steps is what all facts come to`() {
        expect { scenario in
            let life = scenario.life
            func kept(_ facts: PurchaseFacts) -> PurchaseFacts? { facts.bytes.flatMap(PurchaseFacts.init(bytes:)) }
            var chance = Chance(seed: scenario.seed)
            var facts = PurchaseFacts()
            for telling in scenario.heard {
                telling.add(to: &facts)
                guard Int.random(in: 0..<2, using: &chance) == 0 else { continue }
                guard let again = kept(facts) else { return "unreadable" }
                facts = again
            }
            guard let whole = kept(life.facts), let found = kept(facts) else { return "unreadable" }
            let grace = FoldSettings(defaultGrace: .milliseconds(3 * day))
            for settings in [FoldSettings(), grace] {
                guard
                    Purchase(folding: found, key: life.key, foldSettings: settings)
                        == Purchase(folding: whole, key: life.key, foldSettings: settings)
                else { return "another purchase" }
            }
            guard PurchaseHistory(of: found) == PurchaseHistory(of: life.facts) else { return "another history" }
            guard PurchaseClaims(of: found) == PurchaseClaims(of: life.facts) else { return "other claims" }
            let (folded, straight) = (Purchase(folding: found, key: life.key), life.purchase())
            guard folded?.periods.map(\.accessUntil) == straight?.periods.map(\.accessUntil),
                folded?.autoRenew == straight?.autoRenew, folded?.billingFailure == straight?.billingFailure,
                folded?.ending?.name == straight?.ending?.name, folded?.accessUntil == straight?.accessUntil,
                folded?.versions == straight?.versions
            else { return "other members" }
            return found.bytes == whole.bytes ? nil : "other bytes"
        }
    }

    @Test func `hearing a notification again makes no event`() {
        expect { scenario in
            var hearing = Hearing(scenario.life.key, scenario.heard)
            let again = scenario.life.tellings.flatMap { hearing.story.hear($0, now: hearing.now) }
            return again.isEmpty ? nil : "heard again: \(again.names)"
        }
    }

    @Test func `an id is of one cause in every order`() {
        expect { scenario in
            let life = scenario.life
            let orders = [scenario.heard, life.tellings, life.tellings.reversed()]
            var known: [String: EventDraft] = [:]
            for order in orders {
                let hearing = Hearing(life.key, order)
                var here: [String: EventDraft] = [:]
                for (id, draft) in hearing.story.drafted {
                    let (other, twin) = (known[id] ?? draft, here[id] ?? draft)
                    (known[id], here[id]) = (draft, draft)
                    let isSame = other.type == draft.type && other.cause == draft.cause
                    // What a notification names is about the latest period that is known when it is heard.
                    let isNamed = draft.cause.contains("uuid")
                    guard isSame, isNamed || other.period.id == draft.period.id, twin.period.id == draft.period.id
                    else { return "\(draft.name) of \(draft.cause) and \(other.name) of \(other.cause)" }
                }
            }
            return nil
        }
    }

    @Test func `money is told once for each transaction`() {
        expect { scenario in
            let hearing = Hearing(scenario.life.key, scenario.heard)
            let drafts = hearing.drafts
            let money = drafts.filter { [.renewal, .initialPurchase, .nonRenewingPurchase].contains($0.type) }
            let paid = money.map(\.period.id).sorted()
            guard paid == scenario.life.transactions.map(\.transactionID).sorted() else { return "told: \(paid)" }
            guard drafts.count(where: { $0.type == .initialPurchase }) <= 1 else { return "two initial purchases" }
            for id in Set(paid) {
                let balance = drafts.filter { $0.period.id == id }.reduce(0) { $0 + $1.payment.sign }
                guard (0...1).contains(balance) else { return "\(id) was paid \(balance) times" }
            }
            return nil
        }
    }

    @Test func `an active subscriber is not left with an expiration as the last word`() {
        expect { scenario in
            let hearing = Hearing(scenario.life.key, scenario.heard)
            guard hearing.story.purchase?.hasAccess(at: hearing.now) == true else { return nil }
            let last = hearing.drafts.last { $0.type == .expiration || $0.givesAccess }
            return last?.type == .expiration ? "left with \(hearing.drafts.names)" : nil
        }
    }

    @Test func `access never depends on what a notification is called`() {
        expect { scenario in
            let life = scenario.life
            var nameless = PurchaseFacts()
            for var telling in life.tellings {
                telling.notification.type = "SOMETHING_NEW"
                telling.notification.subtype = nil
                telling.add(to: &nameless)
            }
            for grace in [0, 3 * day] {
                let named = life.purchase(defaultGrace: grace)
                let other = Purchase(
                    folding: nameless, key: life.key, foldSettings: FoldSettings(defaultGrace: .milliseconds(grace)))
                guard named?.accessUntil == other?.accessUntil, named?.periods == other?.periods else {
                    return "access until \(named?.accessUntil ?? -1) becomes \(other?.accessUntil ?? -1)"
                }
            }
            return nil
        }
    }
}

/// A story told to its end: every notification is heard when it was signed, or late.
struct Hearing {
    var story: Story
    /// When the last was heard.
    var now = epoch

    init(_ key: PurchaseKey, _ order: [Telling]) {
        story = Story(key)
        for telling in order {
            now = max(now + second, telling.signed)
            _ = story.hear(telling, now: now)
        }
    }

    var drafts: [EventDraft] { story.told.map(\.draft) }
}

extension EventDraft {
    /// Whether a receiver would take it for access that begins or goes on.
    fileprivate var givesAccess: Bool {
        switch type {
        case .initialPurchase, .renewal, .nonRenewingPurchase, .uncancellation, .refundReversed,
            .subscriptionExtended, .billingIssue:
            true
        default: false
        }
    }
}

extension EventDraft.Payment {
    fileprivate var sign: Int {
        switch self {
        case .none: 0
        case .received: 1
        case .returned: -1
        }
    }
}
