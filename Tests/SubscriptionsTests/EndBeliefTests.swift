import Base
import Subscriptions
import Testing

/// When the end of a subscription that should have renewed is believed.
struct EndBeliefTests {
    /// A day of access from `epoch` on, which should renew.
    private func ending(_ environment: StoreEnvironment = .production) throws -> Ending {
        var life = Life()
        _ = life.start(lasts: day)
        let key = PurchaseKey(app: "demo", environment: environment, originalTransactionID: life.original)
        return try #require(Purchase(folding: life.facts, key: key)?.ending)
    }

    private static let end = epoch + day
    private static let normal = end + day

    @Test(
        arguments: [
            ("none", [], normal),
            ("over a day before the end", [epoch - 3 * day..<epoch], normal),
            ("over just within that day", [epoch - 3 * day..<epoch + 1], max(normal, epoch + 1 + 73 * hour)),
            ("around the end", [epoch..<end + 2 * hour], end + 2 * hour + 73 * hour),
            ("long, from before the end to after its belief", [epoch..<end + 20 * day], end + 20 * day + 73 * hour),
            ("begun within the patience", [end + hour..<end + 3 * hour], end + 3 * hour + 73 * hour),
            ("begun when the end was believed", [normal + 1..<normal + day], normal),
            // Apple's repetition falls into the second one, and comes again later.
            (
                "two, the second while the first is waited for",
                [epoch..<end + hour, end + 50 * hour..<end + 51 * hour],
                end + 51 * hour + 73 * hour
            ),
            ("two, the second after that", [epoch..<end + hour, end + 80 * hour..<end + 81 * hour], end + 74 * hour),
        ] as [(String, [Range<Int64>], Int64)])
    func `an outage puts the belief off until Apple has repeated itself`(
        outage: String, outages: [Range<Int64>], believed: Int64
    ) throws {
        #expect(try ending().believed(EndBelief(patience: day, outages: outages)) == believed, "\(outage)")
    }

    @Test func `the sandbox repeats nothing, so the patience begins again`() throws {
        let belief = EndBelief(patience: hour, outages: [epoch..<Self.end + 2 * hour])
        #expect(try ending(.sandbox).believed(belief) == Self.end + 3 * hour)
    }

    @Test func `an end that is certain needs no belief`() throws {
        var life = Life()
        _ = life.start(lasts: day)
        _ = life.autoRenewOff(at: epoch + hour)
        let belief = EndBelief(patience: day, outages: [epoch..<epoch + 30 * day])
        #expect(life.purchase()?.ending?.believed(belief) == Self.end)
    }

    @Test func `instants at the edge of what can be said do not trap`() throws {
        for outage in [Int64.min..<Int64.max, .max - 1..<Int64.max, Int64.min..<Int64.min + 1] {
            #expect(try ending().believed(EndBelief(patience: .max, outages: [outage])) == .max)
        }
    }

    @Test func `a purchase in billing retry wakes when Apple gives up`() throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(at: life.expires)
        let purchase = try #require(life.purchase())
        #expect(purchase.nextWake(after: life.expires, belief: EndBelief()) == life.expires + 60 * day)
        #expect(purchase.nextWake(after: life.expires + 60 * day, belief: EndBelief()) == nil)
    }
}
