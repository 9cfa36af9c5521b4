import Base
import Testing

@testable import Duties

/// What is looked for next, and why.
@Suite struct HistoryScanPlanTests {
    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour
    private static let now = 20_000 * day
    /// Apple's own news of the last two minutes is left alone.
    private static let until = now - 120_000

    struct Case: Sendable {
        let name: String
        var environment = StoreEnvironment.production
        /// Hours since failures at least, and everything, were looked through.
        var covered: Int64?
        var whole: Int64?
        var isStart = false
        /// What a database that went back needs.
        var need: HistoryScanPlan.Need?
        /// Hours since our last outage ended.
        var outage: Int64?
        /// Hours that the look goes back; nil: as far as Apple's history.
        var back: Int64?
        var onlyFailures = false
        let reason: HistoryScanPlan.Reason
    }

    private static let cases = [
        Case(name: "a new app", reason: .first),
        Case(name: "a new app of the sandbox", environment: .sandbox, reason: .first),
        Case(name: "an hour later", covered: 1, whole: 5, back: 7, onlyFailures: true, reason: .routine),
        Case(name: "a day later", covered: 1, whole: 24, back: 30, reason: .routine),
        Case(
            name: "an hour later in the sandbox, which sends once", environment: .sandbox, covered: 1, whole: 1,
            back: 7, reason: .routine),
        Case(name: "at a start", covered: 1, whole: 5, isStart: true, back: 11, reason: .recovery),
        Case(name: "after an outage", covered: 2, whole: 5, outage: 1, back: 11, reason: .recovery),
        Case(
            name: "after an outage that was looked at", covered: 1, whole: 5, outage: 2, back: 7, onlyFailures: true,
            reason: .routine),
        Case(name: "a look was left out", covered: 4, whole: 5, back: 11, reason: .recovery),
        Case(name: "away for a week", covered: 7 * 24, whole: 7 * 24, reason: .long),
        Case(name: "away for a week, but for failures", covered: 1, whole: 7 * 24, reason: .long),
        Case(name: "a database of last year", covered: 400 * 24, whole: 400 * 24, reason: .long),
        Case(name: "never to the end", covered: 1, reason: .first),
        Case(name: "a database that went back", covered: 1, whole: 5, need: .atOnce, back: 11, reason: .returned),
        Case(
            name: "the same at a start", covered: 1, whole: 5, isStart: true, need: .atOnce, back: 11, reason: .returned
        ),
        Case(name: "back by a month", covered: 700, whole: 700, need: .atOnce, reason: .returned),
        Case(name: "back to before the first look", need: .atOnce, reason: .returned),
        Case(name: "once more", covered: 1, whole: 5, need: .from(now), back: 11, reason: .recovery),
    ]

    @Test(arguments: cases) func `a look goes back as far as it must`(_ look: Case) throws {
        let plan = try #require(
            HistoryScanPlan(
                past: HistoryScanPlan.Past(
                    covered: look.covered.map { Self.now - $0 * Self.hour },
                    whole: look.whole.map { Self.now - $0 * Self.hour }),
                now: HistoryScanPlan.Now(
                    time: Self.now, environment: look.environment, interval: Self.hour, isStart: look.isStart,
                    outageEnd: look.outage.map { Self.now - $0 * Self.hour }, need: look.need)))
        let reach = look.environment == .production ? 180 * Self.day : 30 * Self.day
        #expect(plan.until == (look.need == .atOnce ? Self.now : Self.until), "\(look.name)")
        #expect(
            plan.from == look.back.map { Self.now - $0 * Self.hour } ?? Self.now - reach + 300_000, "\(look.name)")
        #expect(plan.onlyFailures == look.onlyFailures, "\(look.name)")
        #expect(plan.reason == look.reason, "\(look.name)")
    }

    @Test func `nothing is looked for where a clock was set back`() {
        let future = HistoryScanPlan.Past(covered: Self.now + 7 * Self.hour, whole: Self.now + 7 * Self.hour)
        let now = HistoryScanPlan.Now(
            time: Self.now, environment: .production, interval: Self.hour, isStart: false, outageEnd: nil)
        #expect(HistoryScanPlan(past: future, now: now) == nil)
    }

    @Test func `the next look comes an interval after the last one`() {
        #expect(HistoryScanPlan.next(after: HistoryScanPlan.Past(), interval: Self.hour) == 0)
        #expect(
            HistoryScanPlan.next(after: HistoryScanPlan.Past(covered: Self.until), interval: Self.hour) == Self.now
                + Self.hour)
    }

    @Test func `after a return there is a scan at once, and one more when things have settled`() {
        let returned = Self.now
        var look = HistoryScanState()
        func need() -> HistoryScanPlan.Need? {
            HistoryScanPlan.Need(after: returned, past: look.past, isTried: look.tried != nil)
        }
        look.past = HistoryScanPlan.Past(covered: returned - Self.hour, whole: returned - Self.hour)
        for (later, wanted) in [
            (Int64(3000), HistoryScanPlan.Need.atOnce), (120_000, .from(returned + 120_000)),
        ] {
            #expect(need() == wanted)
            let now = HistoryScanPlan.Now(
                time: returned + later, environment: .production, interval: Self.hour, isStart: false, outageEnd: nil,
                need: need())
            look.current = HistoryScanPlan(past: look.past, now: now).map {
                HistoryScanState.Current($0, at: AppScope(app: "demo", environment: .production))
            }
            look.finish(at: returned + later)
        }
        #expect(need() == nil && look.past.whole == returned)
    }
}
