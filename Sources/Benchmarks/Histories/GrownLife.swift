import StoreSimulator

/// Customer `number` of a database that has grown: a subscription that was renewed, and perhaps switched off and on, with
/// ten facts in the mean, and a period that runs for days to come.
struct GrownLife {
    private static let seed: UInt64 = 7
    private static let day = StoreProduct.day
    private(set) var life: SubscriberLife

    init(_ number: Int, now: Int64) {
        life = SubscriberLife(seed: GrownLife.seed, number: UInt64(number))
        let begin = now - Int64(31 + number % 20) * GrownLife.day
        life.start(at: begin)
        guard number % 3 == 0 else {
            life.renew(at: life.expires)
            life.autoRenewOff(at: now - 3_600_000)
            return
        }
        life.autoRenewOff(at: begin + GrownLife.day)
        life.autoRenewOn(at: begin + 2 * GrownLife.day)
        life.renew(at: life.expires)
    }

    /// The id under which apps ask for the customer.
    static func appUserID(_ number: Int) -> String {
        SubscriberLife(seed: seed, number: UInt64(number)).account.token ?? ""
    }

    /// What is said next: switched over, a second before it is posted.
    mutating func next(now: Int64) -> StoreNotification {
        life.renewal?.isOn == true ? life.autoRenewOff(at: now - 1000) : life.autoRenewOn(at: now - 1000)
    }
}
