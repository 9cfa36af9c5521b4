import Base
import Daemon
import Database
import Postgres

/// One look at everything that is kept for a time: makes the days ahead, drops those behind, cleans a little, and
/// tells.
///
/// The leader does it; the others only tell. Two at once would do no harm: each step stands alone.
package struct RetentionRun {
    private let times: RetentionTimes
    private let clock: any WallClock
    private let logger: Logger
    private let report: RetentionReport
    private var keys = KeyCleaner()
    private var events = EventCleaner()
    private var forwarded = NotificationDeliveryCleaner()
    private var customers = EmptyCustomerCleaner()
    private var finishedWork = FinishedWorkCleaner()
    private var senders = SenderCleaner()
    private var endpoints = RemovedEndpointCleaner()
    private var console = ConsoleCleaner()

    /// Days that are there before they begin: a week without a worker, and nothing is late.
    static let daysAhead: Int64 = 7
    /// Half a megabyte each.
    private static let stepLimit = 64

    package init(times: RetentionTimes, clock: any WallClock, logger: Logger, metrics: Metrics) {
        self.times = times
        self.clock = clock
        self.logger = logger
        report = RetentionReport(logger: logger, metrics: metrics)
    }

    /// What fails in one table keeps nothing from the others.
    ///
    /// - Parameter isDraining: whether the process ends; what is cancelled then ends the run.
    /// - Returns: whether there is more to do soon.
    /// - Throws: the last failure, at the end.
    package mutating func take(
        _ leadership: Leadership, on connection: PostgresConnection, isDraining: @escaping () -> Bool = { false }
    ) throws -> Bool {
        let (serverNow, isLeader) = try leadership.check(on: connection)
        // A clock of this host that is ahead must not drop what is young.
        let now = min(clock.now(), serverNow)
        var parts = Parts(isDraining: isDraining)
        var first: [DayPartitions: Day] = [:]
        for table in DayPartitions.allCases {
            try parts.attempt(on: connection) {
                first[table] = try take(table, now, isLeader: isLeader, on: connection)
            }
        }
        if isLeader {
            try clean(before: first[.notifications], now, &parts, on: connection)
            try cleanSmallTables(
                attemptsSince: first[.attempts], now, latest: max(clock.now(), serverNow), &parts, on: connection)
        }
        if let failure = parts.failure { throw failure }
        return parts.hasMore
    }

    /// The parts of a run, the last failure of one, and whether one has more to do than a run may.
    private struct Parts {
        private(set) var hasMore = false
        private(set) var failure: (any Error)?
        let isDraining: () -> Bool

        init(isDraining: @escaping () -> Bool) {
            self.isDraining = isDraining
        }

        /// Does one part. Unless the connection is lost or the process ends, its failure is only noted, so that it keeps
        /// nothing from the others.
        mutating func attempt(on connection: PostgresConnection, _ part: () throws -> Void) throws {
            do {
                try part()
            } catch {
                guard connection.isAlive, !isDraining() else { throw error }
                failure = error
            }
        }

        /// Repeats a step while it gives true, as often as one run may; a failure ends it for this run.
        mutating func steps(on connection: PostgresConnection, _ step: () throws -> Bool) throws {
            for _ in 0..<RetentionRun.stepLimit {
                var goesOn = false
                try attempt(on: connection) { goesOn = try step() }
                guard goesOn else { return }
            }
            hasMore = true
        }
    }

    /// The first day of which something is there, or is to be kept.
    private func take(
        _ table: DayPartitions, _ now: Int64, isLeader: Bool, on connection: PostgresConnection
    ) throws -> Day {
        if isLeader {
            let before = try table.partitions(on: connection)
            try makeAhead(table, before, now, on: connection)
            try dropBehind(table, before, now, on: connection)
        }
        let (partitions, strays) = (try table.partitions(on: connection), try table.strays(on: connection))
        report.tell(table, partitions, strays: strays, now: now, complains: isLeader)
        let first = times.firstDay(of: table, now: now)
        return (partitions.prefix(1).map(\.day) + strays.keys).reduce(first, min)
    }

    /// Cleaning goes through the tables again at once instead of once a day.
    package mutating func hurry() {
        keys.hurry()
        events.hurry()
        forwarded.hurry()
        customers.hurry()
        finishedWork.hurry()
        senders.hurry()
        endpoints.hurry()
        console.hurry()
    }

    private func makeAhead(
        _ table: DayPartitions, _ partitions: [DayPartitions.Partition], _ now: Int64, on connection: PostgresConnection
    ) throws {
        let (first, today) = (times.firstDay(of: table, now: now), Day(of: now))
        let last = today.adding(RetentionRun.daysAhead)
        // Rows outside came from a host whose clock is wrong, and stay where they are.
        let strays = try table.strays(on: connection).keys.filter { first...last ~= $0 }
        let wanted = Set((0...RetentionRun.daysAhead).map(today.adding) + strays).subtracting(partitions.map(\.day))
        // Future days first, which disturbs no writer.
        for day in wanted.sorted().reversed() {
            // Who is in the way may be so for hours: once is enough for now.
            FailPoint.retentionBeforeMake.pass()
            guard let outcome = try table.make(day, on: connection) else { return }
            FailPoint.retentionAfterMake.pass()
            guard outcome == .made else { continue }
            logger.info("day partition created", ["table": .string(table.rawValue), "day": .string(day.text)])
        }
    }

    private func dropBehind(
        _ table: DayPartitions, _ partitions: [DayPartitions.Partition], _ now: Int64, on connection: PostgresConnection
    ) throws {
        let first = times.firstDay(of: table, now: now)
        var kept: [String: [Day]] = [:]
        for partition in partitions where partition.day < first {
            FailPoint.retentionBeforeDrop.pass()
            let outcome = try table.drop(partition.day, on: connection)
            FailPoint.retentionAfterDrop.pass()
            switch outcome {
            case .dropped: report.dropped(table, partition)
            case .absent: break
            case .pending, .held: kept[outcome?.rawValue ?? "", default: []].append(partition.day)
            case nil: kept["in_use", default: []].append(partition.day)
            }
            if outcome == nil { break }
        }
        report.kept(table, kept)
    }

    /// - Parameter first: nil where that is not known; then nothing goes that belongs to a notification.
    private mutating func clean(
        before first: Day?, _ now: Int64, _ parts: inout Parts, on connection: PostgresConnection
    ) throws {
        let (times, report) = (times, report)
        if let first {
            try parts.steps(on: connection) {
                guard let gone = try keys.step(before: first, on: connection) else { return false }
                report.cleaned(["notification_key": gone])
                return true
            }
            try parts.steps(on: connection) {
                guard let gone = try forwarded.step(before: first, on: connection) else { return false }
                report.cleaned(["delivery": gone])
                return true
            }
        }
        try parts.steps(on: connection) {
            guard let step = try events.step(before: times.eventLimit(now), on: connection) else { return false }
            report.cleaned(["event": step.events, "delivery": step.deliveries])
            if let kept = step.kept { report.kept(events: kept) }
            return true
        }
        if let age = times.emptyCustomers {
            try parts.steps(on: connection) {
                guard let gone = try customers.step(before: now - age.milliseconds, on: connection) else {
                    return false
                }
                report.cleaned(["customer": gone])
                return true
            }
        }
    }

    /// A step of each in a round, once a day: these tables have few rows.
    ///
    /// - Parameters:
    ///   - first: the first day of which attempts are there; nil where that is not known.
    ///   - latest: ms; the later of this host's clock and the server's: a sender that is noted too early goes too early.
    private mutating func cleanSmallTables(
        attemptsSince first: Day?, _ now: Int64, latest: Int64, _ parts: inout Parts,
        on connection: PostgresConnection
    ) throws {
        let (times, report) = (times, report)
        for table in FinishedWorkCleaner.Table.allCases {
            try parts.attempt(on: connection) {
                let limit = times.finishedWorkLimit(now)
                guard let gone = try finishedWork.step(table, before: limit, on: connection) else { return }
                report.cleaned([table.rawValue: gone])
            }
        }
        for (table, limit) in times.consoleLimits(now) {
            try parts.attempt(on: connection) {
                guard let gone = try console.step(table, before: limit, on: connection) else { return }
                report.cleaned([table.rawValue: gone])
            }
        }
        try parts.attempt(on: connection) {
            if let gone = try senders.step(before: first.map(times.senderLimit), now: latest, on: connection) {
                report.cleaned(["sender": gone])
            }
        }
        try parts.attempt(on: connection) {
            if let removed = try endpoints.step(before: times.endpointLimit(now), on: connection) {
                report.cleaned(["endpoint": removed])
            }
        }
    }
}
