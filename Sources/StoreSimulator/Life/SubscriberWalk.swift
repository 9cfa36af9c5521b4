/// What happens to a subscriber by chance: most renew, some leave, some do not pay, a few get their money back.
struct SubscriberWalk {
    private var life: SubscriberLife
    private var random: SeededRandom
    private let end: Int64
    private static let day = StoreProduct.day

    /// The notifications of subscriber `number` from `begin` to `end`, both in milliseconds.
    static func notifications(
        app: StoreApp, seed: UInt64, number: UInt64, product: StoreProduct? = nil, from begin: Int64, until end: Int64
    ) -> [StoreNotification] {
        var random = SeededRandom(seed: seed ^ 0x5742_4C4B, stream: number)
        let drawn = random.pick([StoreProduct.proMonthly: 60, .basicMonthly: 25, .proYearly: 15])
        let life = SubscriberLife(
            app: app, seed: seed, number: number, product: product ?? drawn, withToken: random.chance(80),
            isFamilyMember: random.chance(4))
        var walk = SubscriberWalk(life: life, random: random, end: end)
        walk.run(from: begin)
        return walk.life.notifications.filter { $0.signedDate <= end }
    }

    private mutating func run(from begin: Int64) {
        let offer = random.pick([StoreOffer?.none: 50, .trial: 30, .intro: 10, .promotional: 4, .code: 6])
        life.start(offer: life.account.isFamilyMember ? nil : offer, at: begin)
        if random.chance(10) {
            life.buyOnce(random.chance(70) ? .coins : .lifetime, at: begin &+ SubscriberWalk.day)
        }
        while life.expires <= end && life.expires > life.latest.purchased {
            let isOver = life.account.isFamilyMember ? familyPeriod() : period()
            if isOver { return }
        }
    }

    private mutating func familyPeriod() -> Bool {
        if random.chance(10) {
            life.revokeFamily(at: within())
            return true
        }
        life.renew(at: life.expires)
        return false
    }

    /// A moment of the running period.
    private mutating func within() -> Int64 {
        let start = life.latest.purchased
        return random.instant(from: start &+ (life.expires &- start) / 4, to: life.expires &- 3_600_000)
    }

    /// One period and what ends it; true when the customer is gone for good.
    private mutating func period() -> Bool {
        switch random.pick(["nothing": 68, "leave": 10, "doubt": 5, "plan": 6, "money": 6, "seller": 5]) {
        case "leave": return leave()
        case "doubt":
            let moment = within()
            life.autoRenewOff(at: moment)
            life.autoRenewOn(at: random.instant(from: moment, to: life.expires))
        case "plan": changePlan()
        case "money": if askForMoney() { return true }
        case "seller": actAsSeller()
        default: break
        }
        return random.chance(12) ? failToPay() : renew()
    }

    private mutating func renew() -> Bool {
        life.renew(at: life.expires)
        return false
    }

    private mutating func leave() -> Bool {
        life.autoRenewOff(at: within())
        let over = life.expires
        life.expire(.voluntary, at: over)
        guard random.chance(35) else { return true }
        let back = random.instant(from: over &+ SubscriberWalk.day, to: over &+ 90 &* SubscriberWalk.day)
        life.resubscribe(offer: random.chance(30) ? .winBack : nil, at: back)
        return false
    }

    private mutating func changePlan() {
        let moment = within()
        switch life.latest.productID {
        case StoreProduct.basicMonthly.id: life.upgrade(to: .proMonthly, at: moment)
        case StoreProduct.proMonthly.id where random.chance(50): life.upgrade(to: .proYearly, at: moment)
        case StoreProduct.proYearly.id: life.downgrade(to: .proMonthly, at: moment)
        default:
            life.downgrade(to: .basicMonthly, at: moment)
            if random.chance(30) { life.keepPlan(.proMonthly, at: moment &+ 60_000) }
        }
    }

    /// True when the money went back for good.
    private mutating func askForMoney() -> Bool {
        let moment = within()
        life.requestConsumption(at: moment)
        let decided = moment &+ 12 &* 3_600_000
        guard random.chance(60) else {
            life.declineRefund(at: decided)
            return false
        }
        life.refund(at: decided)
        guard random.chance(15) else { return true }
        life.reverseRefund(at: decided &+ SubscriberWalk.day)
        return false
    }

    private mutating func actAsSeller() {
        let moment = within()
        switch random.pick(["extend": 2, "price": 2, "offer": 1]) {
        case "extend": life.extend(days: 3, at: moment)
        case "price":
            let price = life.product.price / 1000 * 1200
            life.askPriceConsent(price, at: moment)
            life.acceptPrice(price, at: moment &+ 3_600_000)
        default: life.redeem(.promotional, at: moment)
        }
    }

    /// True when it was never paid.
    private mutating func failToPay() -> Bool {
        let over = life.expires
        var moment = over
        if random.chance(60) {
            let graceEnds = over &+ 16 &* SubscriberWalk.day
            life.failBilling(graceUntil: graceEnds, at: over)
            if random.chance(60) {
                life.recover(at: random.instant(from: over, to: graceEnds))
                return false
            }
            life.endGrace(at: graceEnds)
            moment = graceEnds
        } else {
            life.failBilling(at: over)
        }
        let givenUp = over &+ 60 &* SubscriberWalk.day
        if random.chance(50) {
            life.recover(at: random.instant(from: moment, to: givenUp))
            return false
        }
        life.expire(.billingRetry, at: givenUp)
        return true
    }
}
