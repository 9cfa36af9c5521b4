import FoundationEssentials
import Subscriptions
import Testing

/// What consumers are told of money adds up to the same in every order of hearing.
struct MoneyOrderTests {
    /// Of each life.
    private static let orders: UInt64 = 5
    /// As many lives are tried; `PROPERTY_CASES` in the environment tries more.
    private static let lives: UInt64 =
        ProcessInfo.processInfo.environment["PROPERTY_CASES"].flatMap { UInt64($0) } ?? 500
    /// Of this many parts, which run side by side.
    private static let parts: UInt64 = 4

    /// What was told of each period, in milliunits.
    private static func balances(_ life: Life, _ order: [Telling]) -> [String: Int64] {
        let drafts = Hearing(life.key, order).drafts
        return Dictionary(drafts.map { ($0.period.id, $0.payment.milliunits) }, uniquingKeysWith: +)
    }

    private static let property = Property(of: { Scenario.ofMoney($0, orders: orders) }) { scenario in
        let life = scenario.life
        let (told, straight) = (balances(life, scenario.heard), balances(life, life.tellings))
        guard told == straight else { return "told \(told), and in the order of signing \(straight)" }
        let periods = life.purchase()?.periods ?? []
        for period in periods {
            let paid = period.charge?.milliunits ?? 0
            let kept = paid - (period.refund?.milliunits ?? 0)
            let isAlone = periods.count == 1
            guard told[period.id] == kept || (told[period.id] == paid && !isAlone) else {
                return "of \(paid) for \(period.id), \(kept) stayed, and \(told[period.id] ?? 0) was told"
            }
        }
        return nil
    }

    @Test(arguments: 0..<parts)
    func `sums of money are the same in every order`(part: UInt64) {
        let count = Self.lives * Self.orders / Self.parts
        if let failure = Self.property.failure(in: part * count..<(part + 1) * count) {
            Issue.record(Comment(rawValue: failure))
        }
    }

    @Test func `chance comes up with refunds of every kind`() {
        var seen: Set<String> = []
        for seed in 0..<500 as Range<UInt64> {
            let scenario = Scenario.ofMoney(seed, orders: Self.orders)
            let names = Hearing(scenario.life.key, scenario.heard).drafts.filter { $0.payment.milliunits != 0 }.names
            seen.formUnion(names)
            if Set(names).count < names.count { seen.insert("again") }
            if scenario.heard.contains(where: \.isPosted) { seen.insert("posted") }
            if scenario.heard.map(\.signed) != scenario.heard.map(\.signed).sorted() { seen.insert("shuffled") }
        }
        #expect(
            seen.isSuperset(of: [
                "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "CANCELLATION(CUSTOMER_SUPPORT)",
                "REFUND_REVERSED", "again", "posted", "shuffled",
            ]))
    }
}
