import Base
import Crypto

/// When a certificate is asked about again. All times are milliseconds.
struct RevocationSchedule: Sendable {
    /// How far a responder's clock may be off.
    static let leeway: Int64 = 300_000
    /// An answer counts so long at most, whatever it says.
    static let longestTrust: Int64 = 7 * 86_400_000
    /// Between two answers at least.
    static let shortestRefresh: Int64 = 60_000
    static let firstRetry: Int64 = 30_000

    /// Between two attempts at most, while there is no answer.
    let longestRetry: Int64

    /// From when an answer that came at `now` counts no more.
    func end(of answer: OCSPAnswer, receivedAt now: Int64) -> Int64 {
        min(answer.nextUpdate &+ RevocationSchedule.leeway, now &+ RevocationSchedule.longestTrust)
    }

    /// After half of what is left of the answer's time, a tenth earlier or later, so that a failure leaves time for more
    /// attempts, and installations do not ask in step.
    ///
    /// - Parameter chance: 0...1.
    func refresh(_ answer: OCSPAnswer, receivedAt now: Int64, chance: Double) -> Int64 {
        let left = max(0, min(answer.nextUpdate, now &+ RevocationSchedule.longestTrust) &- now)
        let pause = Double(left) / 2 * (0.9 + 0.2 * chance)
        return now &+ max(RevocationSchedule.shortestRefresh, Int64(pause))
    }

    /// Twice as long after each failure in a row; up to a fifth longer by chance.
    func retry(failures: Int, now: Int64, chance: Double) -> Int64 {
        let doubled = RevocationSchedule.firstRetry << Int64(min(max(failures - 1, 0), 12))
        let pause = Double(min(doubled, longestRetry)) * (1 + 0.2 * chance)
        return now &+ Int64(pause)
    }
}
