import AppStoreAPI
import Base

/// What to look for in Apple's history next, and when. Pure.
///
/// Apple's list of failures is short and shows what it could not deliver. It does not show what was answered 200 and is
/// lost: by a database that was restored or failed over, by another server that answered in our place. So everything is
/// looked through once a day, at each start and after each outage of ours; in the sandbox, where little happens,
/// always. After the database went back it is looked through at once, up to this moment, and once more when what Apple
/// sent just then has settled.
struct HistoryScanPlan: Sendable, Equatable {
    enum Reason: String, Sendable {
        /// Nothing was ever looked through.
        case first
        /// We were away for so long that nothing is sure.
        case long
        /// The database went back to an earlier state.
        case returned
        /// At a start, or after an outage of ours.
        case recovery
        /// The time has come.
        case routine
    }

    let from: Int64
    let until: Int64
    let onlyFailures: Bool
    let reason: Reason

    /// How far the history was looked through, in ms; nil: never.
    struct Past: Sendable, Equatable {
        /// For failures at least.
        var covered: Int64?
        /// For everything.
        var whole: Int64?
    }

    struct Now: Sendable, Equatable {
        let time: Int64
        let environment: StoreEnvironment
        let interval: Int64
        /// Whether this worker looks for the first time.
        let isStart: Bool
        /// The end of our last outage, in ms.
        let outageEnd: Int64?
        /// What a database that went back still needs here.
        var need: Need?
    }

    /// What a database that went back needs: what was answered 200 and is lost, Apple does not send again.
    enum Need: Sendable, Equatable {
        /// A scan up to this moment.
        case atOnce
        /// One more of the same time, from this instant on, in ms.
        case from(Int64)

        /// Nil where everything was looked through since.
        ///
        /// - Parameter returned: when it was noticed that the database went back, which ended all former scans.
        init?(after returned: Int64, past: Past, isTried: Bool) {
            guard (past.whole ?? .min) < returned else { return nil }
            self = isTried ? .from(returned + HistoryScanPlan.settling) : .atOnce
        }
    }

    /// What Apple sends just now is left to Apple.
    static let settling: Int64 = 120_000
    /// How far each look goes back behind the one before: what Apple wrote down late is not missed.
    static let overlap: Int64 = 6 * 3_600_000
    static let wholeInterval: Int64 = 24 * 3_600_000
    /// Apple's last attempt comes 157 hours after the first.
    static let longAbsence: Int64 = 158 * 3_600_000

    /// When to look again after a look that came to its end.
    static func next(after past: Past, interval: Int64) -> Int64 {
        past.covered.map { $0 + settling + interval } ?? 0
    }

    init?(past: Past, now: Now) {
        let until = now.need == .atOnce ? now.time : now.time - HistoryScanPlan.settling
        let oldest = HistoryScan.oldest(in: now.environment, now: now.time)
        guard let covered = past.covered, let whole = past.whole else {
            self.init(oldest, until, onlyFailures: false, now.need == .atOnce ? .returned : .first)
            return
        }
        if now.need == .atOnce {
            let from = now.time - whole > HistoryScanPlan.longAbsence ? oldest : whole - HistoryScanPlan.overlap
            self.init(max(oldest, from), until, onlyFailures: false, .returned)
            return
        }
        let wasDeaf = now.outageEnd.map { $0 > covered } ?? false
        let isLate = now.time - covered > 3 * now.interval + HistoryScanPlan.settling
        if now.time - whole > HistoryScanPlan.longAbsence {
            self.init(oldest, until, onlyFailures: false, .long)
        } else if now.isStart || wasDeaf || isLate || now.need != nil {
            self.init(max(oldest, whole - HistoryScanPlan.overlap), until, onlyFailures: false, .recovery)
        } else if now.environment == .sandbox || now.time - whole >= HistoryScanPlan.wholeInterval {
            self.init(max(oldest, whole - HistoryScanPlan.overlap), until, onlyFailures: false, .routine)
        } else {
            self.init(max(oldest, covered - HistoryScanPlan.overlap), until, onlyFailures: true, .routine)
        }
    }

    /// Nil if there is nothing in between, as after a clock was set back.
    private init?(_ from: Int64, _ until: Int64, onlyFailures: Bool, _ reason: Reason) {
        guard from < until else { return nil }
        self.from = from
        self.until = until
        self.onlyFailures = onlyFailures
        self.reason = reason
    }
}
