import Base
import Database
import StoreSimulator
import Subscriptions

/// What chance makes of one Apple account: purchases, tokens, and customers who post and restore at fixed times.
struct AccountStory: Sendable {
    enum Step: Sendable {
        /// What Apple sends.
        case notification(StoreNotification)
        /// What an app posts.
        case post(PurchaseKey, PurchasePost)
    }

    let seed: UInt64
    let users: [String]
    /// In the order of their times.
    var steps: [Step] = []
    private(set) var keys: [PurchaseKey] = []

    private static let behaviors: [RestoreBehavior] = [
        .transfer, .transfer, .transferIfNoActiveSubscriptions, .keep, .share,
    ]

    init(seed: UInt64, now: Int64) {
        self.seed = seed
        var random = SeededRandom(seed: seed, stream: 4099)
        let users = (0..<2).map { _ in random.uuid() }
        self.users = users
        let behavior = Self.behaviors.randomElement(using: &random) ?? .transfer
        let began = now - Int64.random(in: 60...300, using: &random) * StoreProduct.day
        var timed: [(at: Int64, step: Step)] = []
        for number in 0..<UInt64.random(in: 1...5, using: &random) {
            var life = SubscriberLife(
                app: Installation.app, seed: seed &+ 90_000, number: number,
                product: [.proMonthly, .proYearly, .basicMonthly].randomElement(using: &random) ?? .proMonthly,
                isFamilyMember: random.chance(8))
            life.account.appTransactionID = "70470\(seed)"
            life.account.currency = "USD"
            life.account.token = Self.token(users, &random)
            let start = began + Int64.random(in: 0...40, using: &random) * StoreProduct.day
            let purchase = Self.live(&life, from: start, until: now, users, &random)
            timed += life.notifications.map { ($0.signedDate, .notification($0)) }
            let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: purchase.originalID)
            keys.append(key)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let sources: [PurchasePost.Source] = [.purchase, .purchase, .restore, .restore, .queue]
                let at = purchase.purchased + Int64.random(in: 1...90 * StoreProduct.day, using: &random)
                guard let user = users.randomElement(using: &random), at < now else { continue }
                let post = PurchasePost(
                    by: random.chance(70) ? user : "person-\(seed)-\(user.prefix(4))",
                    sources.randomElement(using: &random) ?? .purchase, transactionID: purchase.id,
                    purchased: purchase.purchased, behavior: behavior, at: at)
                timed.append((at, .post(key, post)))
            }
        }
        steps = timed.sorted { $0.at < $1.at }.map(\.step)
    }

    /// None, that of one user, or that of another.
    private static func token(_ users: [String], _ random: inout SeededRandom) -> String? {
        random.chance(45) ? nil : random.chance(75) ? users[0] : users[1]
    }

    /// The life of a purchase. Returns its first transaction.
    private static func live(
        _ life: inout SubscriberLife, from start: Int64, until now: Int64, _ users: [String],
        _ random: inout SeededRandom
    ) -> StoreTransaction {
        let day = StoreProduct.day
        if random.chance(25) {
            _ = life.buyOnce(random.chance(50) ? .coins : .lifetime, at: start)
            if random.chance(30) { _ = life.refund(.oneTime(0), at: start + 3 * day) }
            if random.chance(10) { _ = life.reverseRefund(.oneTime(0), at: start + 5 * day) }
            return life.transaction(.oneTime(0))
        }
        _ = life.start(offer: random.chance(25) ? .trial : nil, at: start)
        for _ in 0..<Int.random(in: 0...3, using: &random) where life.expires + day < now {
            let end = life.expires
            if random.chance(25) { life.account.token = token(users, &random) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                _ = life.autoRenewOff(at: end - 2 * day)
                _ = life.expire(at: end + 1000)
                if end + 10 * day < now, random.chance(60) {
                    _ = life.resubscribe(at: end + 9 * day)
                } else {
                    return life.transaction(.period(0))
                }
            case 1:
                _ = life.refund(at: end - day)
                if random.chance(50) {
                    _ = life.reverseRefund(at: end - day / 2)
                } else {
                    return life.transaction(.period(0))
                }
            default: _ = life.renew(at: end)
            }
        }
        if life.expires < now { _ = life.expire(at: life.expires + 1000) }
        return life.transaction(.period(0))
    }

    /// One of the orders in which it may be heard of: as it was, in reverse, posts before everything and after it, and by chance
    /// with repetitions.
    func order(_ number: Int) -> [Step] {
        let (posts, others) = (steps.filter(\.isPost), steps.filter { !$0.isPost })
        var random = SeededRandom(seed: seed, stream: UInt64(number))
        switch number {
        case 0: return steps
        case 1: return steps.reversed()
        case 2: return posts + others
        case 3: return others.shuffled(using: &random) + posts
        default: return (steps + steps.shuffled(using: &random).prefix(steps.count / 3)).shuffled(using: &random)
        }
    }
}

extension AccountStory.Step {
    var isPost: Bool {
        if case .post = self { true } else { false }
    }
}
