import Base
import StoreSimulator

/// A subscription about which much was said: it is renewed by the day, and switched off and on in between. Each of its
/// notifications carries three facts of its own: a transaction, a renewal info, and what the notification itself says.
struct LongHistory {
    static let factsOfNotification = 3
    /// However long the history is.
    private static let mostTransactions = 300
    private static let day = StoreProduct.day
    private static let hour: Int64 = 3_600_000

    private(set) var life: SubscriberLife

    /// - Parameters:
    ///   - number: no two lives of a seed have ids in common.
    ///   - facts: about so many; six at least.
    ///   - now: it ends an hour before, with a period that is running, in ms.
    init(seed: UInt64 = 8, number: UInt64, facts: Int, now: Int64) {
        let notifications = max(2, facts / LongHistory.factsOfNotification)
        let periods = min(LongHistory.mostTransactions, max(1, notifications / 10))
        life = SubscriberLife(seed: seed, number: number)
        let begin = now - Int64(periods) * LongHistory.day
        // In pairs: what is off does not renew.
        let switchings = (notifications - periods) / 2
        for period in 0..<periods {
            let at = begin + Int64(period) * LongHistory.day
            let isLast = period == periods - 1
            let lasts = isLast ? 30 * LongHistory.day : LongHistory.day
            if period == 0 { life.start(lasts: lasts, at: at) } else { life.renew(lasts: lasts, at: at) }
            let pairs = switchings * (period + 1) / periods - switchings * period / periods
            let step = (LongHistory.day - 2 * LongHistory.hour) / Int64(2 * pairs + 1)
            for pair in 0..<pairs {
                life.autoRenewOff(at: at + Int64(2 * pair + 1) * step)
                life.autoRenewOn(at: at + Int64(2 * pair + 2) * step)
            }
        }
    }

    var notifications: [StoreNotification] { life.notifications }

    /// The `originalTransactionId`.
    var purchase: String { life.latest.originalID }

    /// What is said next.
    mutating func toggle(at: Int64) -> StoreNotification {
        life.renewal?.isOn == true ? life.autoRenewOff(at: at) : life.autoRenewOn(at: at)
    }
}
