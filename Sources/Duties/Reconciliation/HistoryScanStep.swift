import AppStoreAPI
import Base
import Daemon
import Database
import Postgres

/// One turn of looking into Apple's history: of each app and environment whose time has come, one page.
struct HistoryScanStep {
    /// An app and environment, and what only this worker remembers of it.
    private struct Scope {
        let place: AppScope
        let reader: HistoryReader
        /// Whether this worker looks for the first time since it is the leader.
        var isStart = true
        /// Between a look that failed and the next, in ms.
        var pause: Int64 = 0
        /// So that apps, and installations, do not all ask at the same moment; in ms.
        var jitter: Int64 = 0
        /// When it was noticed that the database went back, in ms, while its scans are not done.
        var returned: Int64?

        func need(_ look: HistoryScanState) -> HistoryScanPlan.Need? {
            returned.flatMap {
                HistoryScanPlan.Need(after: $0, past: look.past, isTried: look.tried != nil && look.error == nil)
            }
        }
    }

    private var duties: [Scope]
    private let interval: Int64
    private let cancellation: Cancellation
    private let report: ReconcileReport
    private var intake: HistoryAppender

    /// Of one page.
    private static let pageTime = Duration.seconds(15)
    /// After a look that failed for what passes by itself, in ms.
    private static let retry: Int64 = 300_000
    /// The same while what the database has lost is being fetched.
    private static let soonRetry: Int64 = 15_000

    init(_ configuration: ReconciliationDutyConfiguration, _ cancellation: Cancellation, _ report: ReconcileReport) {
        duties = configuration.duties.map { Scope(place: $0.place, reader: $0.reader) }
        interval = configuration.interval.milliseconds
        self.cancellation = cancellation
        self.report = report
        intake = HistoryAppender(clock: configuration.clock)
    }

    /// - Returns: whether there is more to do at once.
    mutating func take(_ leadership: Leadership, on connection: PostgresConnection) throws -> Bool {
        let (now, isLeader) = try leadership.check(on: connection)
        let returned = try PositionTable.pendingReturn(on: connection)
        var hasMore = false
        for place in duties.indices where !cancellation.isCancelled {
            let look = try HistoryScanState.read(duties[place].place, on: connection)
            report.tellAge(of: look, duties[place].place, now: now)
            guard isLeader else {
                duties[place].isStart = true
                continue
            }
            var duty = duties[place]
            defer { duties[place] = duty }
            duty.returned = returned
            do {
                if try take(&duty, look, now, leadership, on: connection) { hasMore = true }
            } catch is Leadership.Lost {
                return false
            }
        }
        return hasMore
    }

    private mutating func take(
        _ duty: inout Scope, _ known: HistoryScanState, _ now: Int64, _ leadership: Leadership,
        on connection: PostgresConnection
    ) throws -> Bool {
        var look = known
        if look.error != nil {
            guard duty.isStart || now >= (look.tried ?? 0) + duty.pause else { return false }
        }
        if look.current == nil {
            guard duty.isStart || isDue(duty, look, now) else { return false }
            guard let plan = try plan(duty, look, now, on: connection) else { return false }
            look.current = HistoryScanState.Current(plan, at: duty.place)
            report.begun(plan, duty.place)
        }
        guard let current = look.current else { return false }
        let read: (page: HistoryReader.Page, next: HistoryScan)
        do throws(ServerAPIError) {
            let options = CallOptions(
                priority: .background, within: HistoryScanStep.pageTime, cancellation: cancellation)
            read = try current.walk.page(of: duty.reader, from: .history, now: now, options)
        } catch {
            if case .cancelled = error { return false }
            look.fail("\(error)", at: now, keeps: error.isRetryable)
            try leadership.transaction(on: connection) { _ in
                try expect(duty.returned, on: connection)
                try look.write(duty.place, on: connection)
            }
            duty.isStart = false
            // An app that was never released is refused in production until it is.
            let retry = duty.returned == nil ? HistoryScanStep.retry : HistoryScanStep.soonRetry
            duty.pause = error.isRetryable ? min(retry, interval) : interval
            report.failed(error, duty.place)
            return false
        }
        return try take(read.page, read.next, look, &duty, leadership, on: connection)
    }

    private func isDue(_ duty: Scope, _ look: HistoryScanState, _ now: Int64) -> Bool {
        switch duty.need(look) {
        case .atOnce: true
        case .from(let instant): now >= instant
        case nil: now >= HistoryScanPlan.next(after: look.past, interval: interval) + duty.jitter
        }
    }

    /// What was known before Apple answered holds no more if it was noticed meanwhile that the database went back.
    private func expect(_ returned: Int64?, on connection: PostgresConnection) throws {
        guard try PositionTable.pendingReturn(on: connection) == returned else { throw Leadership.Lost() }
    }

    private func plan(
        _ duty: Scope, _ look: HistoryScanState, _ now: Int64, on connection: PostgresConnection
    ) throws -> HistoryScanPlan? {
        HistoryScanPlan(
            past: look.past,
            now: HistoryScanPlan.Now(
                time: now, environment: duty.place.environment, interval: interval, isStart: duty.isStart,
                outageEnd: try IngestUptime.outages(now: now, on: connection).last?.upperBound, need: duty.need(look)))
    }

    /// True if there is another page.
    private mutating func take(
        _ page: HistoryReader.Page, _ walk: HistoryScan, _ known: HistoryScanState, _ duty: inout Scope,
        _ leadership: Leadership, on connection: PostgresConnection
    ) throws -> Bool {
        var (look, intake) = (known, intake)
        let place = duty.place
        FailPoint.historyBeforeCommit.pass()
        let new: [NewNotification]
        do {
            new = try leadership.transaction(on: connection) { now in
                try expect(duty.returned, on: connection)
                let new = try intake.insert(page.notifications, on: connection)
                look.current?.add(page, new, walk)
                look.error = nil
                if walk.isDone { look.finish(at: now) }
                try look.write(place, on: connection)
                return new
            }
            self.intake = intake
        } catch {
            self.intake.forget()
            throw error
        }
        FailPoint.historyAfterCommit.pass()
        duty.isStart = false
        var current = known.current
        current?.add(page, new, walk)
        guard let current else { return false }
        report.taken(page, new, current.reason, place)
        guard walk.isDone else { return true }
        duty.jitter = .random(in: 0...interval / 12)
        report.finished(current, place)
        return false
    }
}

extension HistoryScanState.Current {
    mutating func add(_ page: HistoryReader.Page, _ new: [NewNotification], _ next: HistoryScan) {
        walk = next
        found += Int64(page.notifications.count)
        missed += Int64(new.count)
        refused += Int64(page.refused.values.reduce(0, +))
        let signed = new.compactMap(\.signedDate)
        firstMissed = ([firstMissed].compactMap { $0 } + signed).min()
        lastMissed = ([lastMissed].compactMap { $0 } + signed).max()
    }
}
