import Base
import FoundationEssentials
import Subscriptions
import Testing

/// Transactions that apps post beside what Apple sends.
struct PostedTests {
    private static let seeds: Range<UInt64> =
        0..<(ProcessInfo.processInfo.environment["PROPERTY_CASES"].flatMap { UInt64($0) } ?? 1000)

    enum Order: CaseIterable {
        case before, after, both
    }

    /// The ids of all that is told, with each transaction posted beside its notification, or not.
    private static func told(_ tellings: [Telling], _ key: PurchaseKey, _ order: Order?) -> [String: String] {
        var story = Story(key)
        var now = epoch
        for telling in tellings {
            now = max(now + second, telling.signed)
            if let transaction = telling.transaction, order == .before || order == .both {
                _ = story.post(transaction, now: now)
            }
            _ = story.hear(telling, now: now)
            if let transaction = telling.transaction, order == .after || order == .both {
                _ = story.post(transaction, now: now)
            }
        }
        return Dictionary(story.told.map { ($0.id, "\($0.draft.name) of \($0.draft.period.id)") }) { first, _ in first }
    }

    @Test(arguments: Order.allCases)
    func `a post tells what its notification tells, under the same id, and nothing else`(order: Order) {
        let property = Property { scenario in
            let life = scenario.life
            // Renewal info that was signed within a second of another period is taken to speak of that.
            let signed = life.tellings.map(\.signed)
            guard zip(signed, signed.dropFirst()).allSatisfy({ $1 - $0 > 2 * second }) else { return nil }
            let alone = Self.told(life.tellings, life.key, nil)
            let beside = Self.told(life.tellings, life.key, order)
            let (more, less) = (Set(beside.keys).subtracting(alone.keys), Set(alone.keys).subtracting(beside.keys))
            guard more.isEmpty, less.isEmpty else {
                return "more: \(more.map { beside[$0] ?? "" }) less: \(less.map { alone[$0] ?? "" })"
            }
            return nil
        }
        if let failure = property.failure(in: Self.seeds) { Issue.record(Comment(rawValue: failure)) }
    }

    @Test func `only what was bought and heard of in any order is told once, posted or not`() {
        let property = Property { scenario in
            let life = scenario.life
            func money(_ order: Order?) -> Set<String> {
                let names = ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"]
                return Set(
                    Self.told(scenario.heard, life.key, order).values.filter { event in
                        names.contains { event.hasPrefix($0) }
                    }.map { String($0.split(separator: " ").last ?? "") })
            }
            return Order.allCases.allSatisfy { money($0) == money(nil) } ? nil : "another set of purchases"
        }
        if let failure = property.failure(in: Self.seeds) { Issue.record(Comment(rawValue: failure)) }
    }

    // MARK: - What the app said

    private func story(_ contexts: [TransactionContext]) throws -> (PurchaseFacts, Life) {
        var life = Life()
        _ = life.start()
        _ = life.renew(at: life.expires - hour)
        var facts = life.facts
        contexts.forEach { facts.insert($0) }
        return (facts, life)
    }

    @Test func `a renewal has the offering in which the first period was seen, and what was said first counts`() throws
    {
        let (facts, life) = try story([
            TransactionContext(transactionID: "1000", offering: "later", at: 2),
            TransactionContext(transactionID: "1000", offering: "spring", at: 1),
        ])
        let purchase = try #require(Purchase(folding: facts, key: life.key))
        #expect(purchase.periods.map(\.presentedOffering) == ["spring", "spring"])
        let other = try #require(life.purchase())
        #expect(other.periods.map(\.presentedOffering) == [nil, nil])
    }

    @Test func `the app's price stands in only where Apple signed none`() throws {
        let said = TransactionContext(transactionID: "1000", price: 4990, currency: "EUR", at: 1)
        let (facts, life) = try story([said])
        #expect(Purchase(folding: facts, key: life.key)?.periods.first?.transaction.price == 9990)
        for (isFamily, price) in [(false, Int64(4990)), (true, nil)] as [(Bool, Int64?)] {
            var facts = PurchaseFacts()
            var fact = try #require(life.tellings.first?.transaction)
            (fact.price, fact.currency) = (nil, nil)
            if isFamily { fact.ownership = "FAMILY_SHARED" }
            facts.insert(fact)
            facts.insert(said)
            let period = try #require(Purchase(folding: facts, key: life.key)?.latest)
            #expect(period.transaction.price == price)
            #expect(period.transaction.currency == price.map { _ in "EUR" })
            #expect(period.type == .normal)
        }
    }
}
