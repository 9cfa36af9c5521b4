import Base
import Postgres
import Queue
import Telemetry

/// One look at everything that is kept for a time: makes the days ahead, drops those behind, cleans a little, and tells.
///
/// Who owns the first lane does it; the others only tell. Two at once would do no harm: each step stands alone.
package struct RetentionRound {
    private let worker: [UInt8]
    private let times: RetentionTimes
    private let clock: any WallClock
    private let logger: Logger
    private let report: RetentionReport
    private var keys = KeyCleaner()
    private var events = EventCleaner()

    /// Days that are there before they begin: a week without a worker, and nothing is late.
    static let daysAhead: Int64 = 7
    /// Half a megabyte each.
    private static let stepLimit = 64

    /// - Parameter worker: as the owner of lanes is named.
    package init(
        worker: [UInt8], times: RetentionTimes, clock: any WallClock, logger: Logger, metrics: Metrics
    ) {
        self.worker = worker
        self.times = times
        self.clock = clock
        self.logger = logger
        report = RetentionReport(logger: logger, metrics: metrics)
    }

    private static let isOwner = """
        SELECT count(*) > 0 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp()
        """

    /// - Returns: whether there is more to do soon.
    package mutating func take(on connection: PostgresConnection) throws -> Bool {
        let now = clock.now()
        let isOwner = try connection.query(
            RetentionRound.isOwner, [.int2(Lane.first.number), .uuid(worker)]
        ).one().bool(0)
        var firstKept = Day(of: now)
        for table in DayTable.allCases {
            let before = try table.partitions(on: connection)
            if isOwner {
                try makeAhead(table, before, now, on: connection)
                try dropBehind(table, before, now, on: connection)
            }
            let (partitions, strays) = (try table.partitions(on: connection), try table.strays(on: connection))
            report.tell(table, partitions, strays: strays, now: now, complains: isOwner)
            if table == .notifications {
                firstKept =
                    ([times.firstDay(of: table, now: now)] + partitions.prefix(1).map(\.day) + strays.keys).min()
                    ?? firstKept
            }
        }
        return isOwner ? try clean(before: firstKept, now, on: connection) : false
    }

    /// Cleaning goes through the tables again at once instead of once a day.
    package mutating func hurry() {
        keys.hurry()
        events.hurry()
    }

    private func makeAhead(
        _ table: DayTable, _ partitions: [DayTable.Partition], _ now: Int64, on connection: PostgresConnection
    ) throws {
        let (first, today) = (times.firstDay(of: table, now: now), Day(of: now))
        let last = today.adding(RetentionRound.daysAhead)
        // What lies outside came from somebody whose clock is wrong, and stays where it is.
        let strays = try table.strays(on: connection).keys.filter { first...last ~= $0 }
        let wanted = Set((0...RetentionRound.daysAhead).map(today.adding) + strays).subtracting(partitions.map(\.day))
        // Those to come first, which nobody notices.
        for day in wanted.sorted().reversed() {
            guard try table.make(day, on: connection) == .made else { continue }
            logger.info("a day was made", ["table": .string(table.rawValue), "day": .string(day.text)])
        }
    }

    private func dropBehind(
        _ table: DayTable, _ partitions: [DayTable.Partition], _ now: Int64, on connection: PostgresConnection
    ) throws {
        let first = times.firstDay(of: table, now: now)
        var kept: [String: [Day]] = [:]
        for partition in partitions where partition.day < first {
            let outcome = try table.drop(partition.day, on: connection)
            switch outcome {
            case .dropped: report.dropped(table, partition)
            case .absent: break
            case .pending, .held: kept[outcome?.rawValue ?? "", default: []].append(partition.day)
            // Who is in the way may be so for hours: once is enough for now.
            case nil: kept["in_use", default: []].append(partition.day)
            }
            if outcome == nil { break }
        }
        report.kept(table, kept)
    }

    private mutating func clean(before first: Day, _ now: Int64, on connection: PostgresConnection) throws -> Bool {
        let limit = now - max(times.events, RetentionTimes.history).milliseconds
        var hasMore = false
        for step in 1...RetentionRound.stepLimit {
            let cleaned = try keys.step(before: first, on: connection)
            let emptied = try events.step(before: limit, on: connection)
            report.cleaned(keys: cleaned ?? 0, emptied)
            if cleaned == nil, emptied == nil { break }
            hasMore = step == RetentionRound.stepLimit
        }
        return hasMore
    }
}
