import Base
import Subscriptions
import Testing

/// When the end of a subscription that should have renewed is confirmed.
struct ExpiryConfirmationTests {
    /// A day of access from `epoch` on, which should renew.
    private func ending(_ environment: StoreEnvironment = .production) throws -> AccessEnd {
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
            (
                "long, from before the end to after its confirmation", [epoch..<end + 20 * day],
                end + 20 * day + 73 * hour
            ),
            ("begun within the patience", [end + hour..<end + 3 * hour], end + 3 * hour + 73 * hour),
            ("begun when the end was confirmed", [normal + 1..<normal + day], normal),
            // Apple's repetition falls into the second one, and comes again later.
            (
                "two, the second while the first is waited for",
                [epoch..<end + hour, end + 50 * hour..<end + 51 * hour],
                end + 51 * hour + 73 * hour
            ),
            ("two, the second after that", [epoch..<end + hour, end + 80 * hour..<end + 81 * hour], end + 74 * hour),
        ] as [(String, [Range<Int64>], Int64)])
    func `an outage puts the confirmation off until Apple has repeated itself`(
        outage: String, outages: [Range<Int64>], confirmed: Int64
    ) throws {
        #expect(try ending().confirmed(ExpiryConfirmation(patience: day, outages: outages)) == confirmed, "\(outage)")
    }

    @Test(arguments: StoreEnvironment.allCases)
    func `outages without end put the confirmation off only while Apple could still repeat itself`(
        environment: StoreEnvironment
    ) throws {
        let nightly = (0..<300).map { night -> Range<Int64> in
            let begins = Self.end + Int64(night) * day
            return begins..<begins + hour
        }
        let ending = try ending(environment)
        let (confirmed, last) = (
            ending.confirmed(ExpiryConfirmation(patience: day, outages: nightly)), Self.normal + 158 * hour
        )
        #expect(confirmed <= last + day + 73 * hour)
        #expect(confirmed > (environment == .production ? last : Self.normal))
        let late = ending.confirmed(ExpiryConfirmation(patience: day).knowing(late: nightly))
        #expect(late == confirmed)
    }

    @Test func `the sandbox repeats nothing, so the patience begins again`() throws {
        let confirmation = ExpiryConfirmation(patience: hour, outages: [epoch..<Self.end + 2 * hour])
        #expect(try ending(.sandbox).confirmed(confirmation) == Self.end + 3 * hour)
    }

    /// Each with what was signed after the start, and what an outage makes of it.
    @Test func `what was foretold may be taken back in an outage, Apple's word may not`() throws {
        let outage = epoch + 2 * hour..<Self.end + 5 * hour
        let lives: [(String, (inout Life) -> Void, isDelayed: Bool)] = [
            ("switched off before", { _ = $0.autoRenewOff(at: epoch + hour) }, true),
            ("switched off after it", { _ = $0.autoRenewOff(at: epoch + 30 * hour) }, false),
            ("could not be charged before", { _ = $0.billingFailure(at: epoch + hour) }, true),
            ("expired", { _ = $0.expire(at: Self.end) }, false),
            ("refunded", { _ = $0.refund(at: epoch + hour, revoked: epoch + hour) }, false),
        ]
        for (name, live, isDelayed) in lives {
            var life = Life()
            _ = life.start(lasts: day)
            live(&life)
            for environment in StoreEnvironment.allCases {
                let key = PurchaseKey(app: "demo", environment: environment, originalTransactionID: life.original)
                let ending = try #require(Purchase(folding: life.facts, key: key)?.ending)
                let confirmed = ending.confirmed(ExpiryConfirmation(patience: day, outages: [outage]))
                let isDelayed = isDelayed && environment == .production
                #expect(confirmed == (isDelayed ? outage.upperBound + 73 * hour : ending.instant), "\(name)")
                #expect(ending.confirmed(ExpiryConfirmation(patience: day)) == ending.instant, "\(name)")
            }
        }
    }

    @Test func `only production repeats, and only what is late was sent before`() {
        let half = 30 * 60 * second
        #expect(ExpiryConfirmation.lateness(signed: epoch, arrived: epoch + half, in: .production) == nil)
        #expect(
            ExpiryConfirmation.lateness(signed: epoch, arrived: epoch + half + 1, in: .production) == epoch..<epoch
                + half + 1)
        #expect(ExpiryConfirmation.lateness(signed: epoch, arrived: epoch + day, in: .sandbox) == nil)
        #expect(ExpiryConfirmation.lateness(signed: .max, arrived: 0, in: .production) == nil)
        #expect(ExpiryConfirmation.lateness(signed: .min, arrived: .max, in: .production) != nil)
    }

    @Test func `instants at the edge of what can be said do not trap`() throws {
        for outage in [Int64.min..<Int64.max, .max - 1..<Int64.max, Int64.min..<Int64.min + 1] {
            #expect(try ending().confirmed(ExpiryConfirmation(patience: .max, outages: [outage])) == .max)
        }
    }

    private static let outage = epoch..<end + 10 * day
    private static let enough = end + 6 * hour

    /// Outages, until when Apple's history was looked through, and when the end is confirmed then.
    @Test(
        arguments: [
            ("nobody looks", [], nil, normal),
            ("not far enough", [], enough - 1, normal),
            ("far enough", [], enough, enough),
            ("much further", [], end + 30 * day, enough),
            ("an outage, and not far enough", [outage], enough - 1, end + 10 * day + 73 * hour),
            ("an outage that was made good", [outage], enough, enough),
        ] as [(String, [Range<Int64>], Int64?, Int64)])
    func `what Apple's history does not hold did not happen`(
        name: String, outages: [Range<Int64>], covered: Int64?, confirmed: Int64
    ) throws {
        let confirmation = ExpiryConfirmation(patience: day, outages: outages, covered: covered)
        #expect(try ending().confirmed(confirmation) == confirmed, "\(name)")
        #expect(try ending().confirmed(confirmation.knowing(late: [])) == confirmed, "\(name)")
        let late = confirmation.knowing(late: [epoch..<Self.end + hour])
        #expect(try ending().confirmed(late) >= confirmed, "\(name)")
        #expect((try ending().confirmed(late) == Self.enough) == (confirmed == Self.enough), "\(name)")
    }

    @Test func `less patience than the margin needs no more of history`() throws {
        let confirmation = ExpiryConfirmation(patience: hour, outages: [Self.outage], covered: Self.end + hour)
        #expect(try ending().confirmed(confirmation) == Self.end + hour)
    }

    /// Now, and when the purchase is looked at next, where history is looked at and was not far enough.
    @Test(
        arguments: [
            ("long before", epoch, end), ("at the end", end, end + hour),
            ("a little later", end + hour - 1, end + hour), ("an hour later", end + hour, end + 2 * hour),
            ("just before it is confirmed anyway", normal - 1, normal), ("then", normal, nil),
        ] as [(String, Int64, Int64?)])
    func `a silent end is looked at each hour while history may tell of it`(
        name: String, now: Int64, next: Int64?
    ) throws {
        var life = Life()
        _ = life.start(lasts: day)
        let purchase = try #require(life.purchase())
        #expect(
            purchase.nextWake(after: now, confirmation: ExpiryConfirmation(patience: day, covered: .min)) == next,
            "\(name)")
        let alone = purchase.nextWake(after: now, confirmation: ExpiryConfirmation(patience: day))
        #expect(alone == (now < Self.normal ? Self.normal : nil), "\(name)")
    }

    @Test func `instants at the edge of what can be said do not trap the next look`() throws {
        for (now, covered) in [(Int64.min, Int64.min), (.max, .max), (.min, .max), (.max, .min)] {
            let confirmation = ExpiryConfirmation(patience: .max, outages: [.min..<Int64.max], covered: covered)
            _ = try ending().nextLook(after: now, confirmation)
        }
    }

    @Test func `a purchase in billing retry wakes when Apple gives up`() throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(at: life.expires)
        let purchase = try #require(life.purchase())
        #expect(purchase.nextWake(after: life.expires, confirmation: ExpiryConfirmation()) == life.expires + 60 * day)
        #expect(purchase.nextWake(after: life.expires + 60 * day, confirmation: ExpiryConfirmation()) == nil)
    }
}
