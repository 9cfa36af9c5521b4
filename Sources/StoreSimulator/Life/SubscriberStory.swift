/// One subscriber's year as a story to look at: a trial, renewals, a cancellation taken back, a bill that is not paid at
/// once, an upgrade, a refund, a farewell and a return.
///
/// It runs fast, as Apple's sandbox does, but with true dates: played live, periods begin and end while one looks on.
package enum SubscriberStory {
    /// Milliseconds that a day of the story lasts.
    package static let day: Int64 = 100
    /// Milliseconds from the first notification to the end of the year.
    package static let year: Int64 = 365 * day

    /// The story of subscriber `number`, whose year is over at `end` (milliseconds). The last subscription is a real
    /// year long, so that there is something to look at afterwards.
    static func notifications(app: StoreApp, seed: UInt64, number: UInt64, until end: Int64) -> [StoreNotification] {
        let begin = end &- year
        func at(_ number: Int64) -> Int64 { begin &+ number &* day }
        let month = 30 * day
        var life = SubscriberLife(app: app, seed: seed, number: number)
        life.start(offer: .trial, lasts: 7 * day, at: at(0))
        life.renew(lasts: month, at: at(7))
        life.renew(lasts: month, at: at(37))
        life.autoRenewOff(at: at(47))
        life.autoRenewOn(at: at(57))
        life.renew(lasts: month, at: at(67))
        life.failBilling(graceUntil: at(113), at: at(97))
        life.recover(lasts: month, at: at(107))
        life.renew(lasts: month, at: at(127))
        life.renew(lasts: month, at: at(157))
        life.buyOnce(at: at(165))
        life.renew(lasts: month, at: at(187))
        life.upgrade(to: .proYearly, lasts: year, at: at(200))
        life.requestConsumption(at: at(212))
        life.refund(at: at(220))
        life.resubscribe(.proMonthly, offer: .winBack, lasts: month, at: at(240))
        life.renew(lasts: month, at: at(270))
        life.renew(lasts: month, at: at(300))
        life.autoRenewOff(at: at(310))
        life.expire(.voluntary, at: at(330))
        life.resubscribe(.proYearly, at: at(350))
        return life.notifications
    }
}
