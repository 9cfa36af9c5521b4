/// One notification at least of every type and subtype Apple documents, and one of an unknown type, in the order
/// in which they happen. It takes lives, so that each is in a state in which Apple would send it.
package struct EveryNotificationType {
    private let app: StoreApp
    private let seed: UInt64
    /// Numbers of lives are taken from here on, `livesUsed` of them.
    private var number: UInt64
    private var clock: Int64

    /// How many numbers of a seed one tour takes.
    package static let livesUsed: UInt64 = 9

    /// The length of a tour in days, at most.
    private static let length: Int64 = 400

    /// All of them, the last signed within the week before `end` (milliseconds): what Apple has a history of, and a status.
    package static func notifications(
        app: StoreApp = StoreApp(), seed: UInt64, firstNumber: UInt64 = 0, until end: Int64
    ) -> [StoreNotification] {
        let first = end &- length &* StoreProduct.day
        let early = notifications(app, seed, firstNumber, from: first)
        // Three days less: the lengths of months differ.
        let shift = max(0, end &- (early.last?.signedDate ?? end) &- 3 &* StoreProduct.day)
        return notifications(app, seed, firstNumber, from: first &+ shift)
    }

    private static func notifications(
        _ app: StoreApp, _ seed: UInt64, _ firstNumber: UInt64, from begin: Int64
    ) -> [StoreNotification] {
        var tour = EveryNotificationType(app: app, seed: seed, number: firstNumber, clock: begin)
        let parts = [
            tour.notices(), tour.payingCustomer(), tour.refundedCustomer(), tour.family(), tour.oneTimeBuyer(),
            tour.endings(),
        ]
        // Stable for equal dates, which `sort` alone is not.
        return parts.joined().enumerated()
            .sorted { ($0.element.signedDate, $0.offset) < ($1.element.signedDate, $1.offset) }.map(\.element)
    }

    private mutating func after(days: Int64) -> Int64 {
        clock &+= days &* StoreProduct.day
        return clock
    }

    private mutating func life(family: Bool = false) -> SubscriberLife {
        defer { number &+= 1 }
        return SubscriberLife(app: app, seed: seed, number: number, isFamilyMember: family)
    }

    private mutating func notices() -> [StoreNotification] {
        var notices = StoreNotices(app: app, seed: seed, number: number)
        return [notices.test(at: clock), notices.extensionSummary(at: clock), notices.fromTheFuture(at: clock)]
            + StoreNotices.tokenSubtypes.map { notices.externalPurchaseToken($0, at: clock) }
            + [notices.rescindConsent(at: clock)]
    }

    /// Trial, choices, offers, a rising price, an extension, and bills that are not paid at once.
    private mutating func payingCustomer() -> [StoreNotification] {
        let beginning = clock
        defer { clock = beginning }
        var life = life()
        life.start(offer: .trial, at: clock)
        life.autoRenewOff(at: after(days: 1))
        life.autoRenewOn(at: after(days: 1))
        clock = life.expires
        life.renew(at: clock)
        life.downgrade(to: .basicMonthly, at: after(days: 2))
        life.keepPlan(.proMonthly, at: after(days: 1))
        life.redeem(.promotional, at: after(days: 1))
        life.redeemDowngrade(to: .basicMonthly, at: after(days: 1))
        life.redeemUpgrade(to: .proMonthly, offer: .intro, at: after(days: 1))
        life.upgrade(to: .proYearly, lasts: 60 &* StoreProduct.day, at: after(days: 1))
        life.downgrade(to: .proMonthly, at: after(days: 1))
        life.askPriceConsent(12990, at: after(days: 1))
        life.acceptPrice(12990, at: after(days: 1))
        life.extend(days: 3, at: after(days: 1))
        life.failExtension(at: after(days: 1))
        for type in ["METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE"] {
            life.changeCommerce(type, at: after(days: 1))
        }
        clock = life.expires
        life.failBilling(graceUntil: clock &+ 16 &* StoreProduct.day, at: clock)
        life.endGrace(at: after(days: 16))
        life.recover(at: after(days: 3))
        clock = life.expires
        life.failBilling(at: clock)
        life.recover(at: after(days: 5))
        return life.notifications
    }

    private mutating func refundedCustomer() -> [StoreNotification] {
        let beginning = clock
        defer { clock = beginning }
        var life = life()
        life.start(offer: .code, at: after(days: 3))
        life.requestConsumption(at: after(days: 2))
        life.declineRefund(at: after(days: 2))
        life.refund(at: after(days: 2))
        life.reverseRefund(at: after(days: 2))
        clock = life.expires
        life.renew(at: clock)
        life.refund(.period(0), at: after(days: 1))
        return life.notifications
    }

    private mutating func family() -> [StoreNotification] {
        var member = life(family: true)
        member.start(at: clock)
        member.revokeFamily(at: clock &+ 10 &* StoreProduct.day)
        return member.notifications
    }

    private mutating func oneTimeBuyer() -> [StoreNotification] {
        var buyer = life()
        for (day, product) in [StoreProduct.coins, .lifetime, .seasonPass].enumerated() {
            buyer.buyOnce(product, at: clock &+ Int64(day) &* StoreProduct.day)
        }
        buyer.refund(.oneTime(0), at: clock &+ 4 &* StoreProduct.day)
        return buyer.notifications
    }

    /// A life for each reason to end; all come back.
    private mutating func endings() -> [StoreNotification] {
        let beginning = clock
        var all: [StoreNotification] = []
        for ending in SubscriberLife.Ending.allCases {
            clock = beginning
            var life = life()
            life.start(at: after(days: 1))
            clock = life.expires
            switch ending {
            case .voluntary: life.autoRenewOff(at: clock &- 5 &* StoreProduct.day)
            case .billingRetry:
                life.failBilling(at: clock)
                clock = after(days: 60)
            case .priceIncrease: life.askPriceConsent(14990, at: clock &- 20 &* StoreProduct.day)
            case .productNotForSale, .other: break
            }
            life.expire(ending, at: clock)
            life.resubscribe(offer: ending == .voluntary ? .winBack : nil, at: after(days: 10))
            all += life.notifications
        }
        return all
    }
}
