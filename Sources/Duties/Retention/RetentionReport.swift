import Base
import Daemon
import Synchronization

/// Says what is kept, what went, and what is wrong.
final class RetentionReport: Sendable {
    private let logger: Logger
    private let metrics: Metrics
    /// When each complaint was logged last.
    private let complaints = Mutex<[String: ContinuousClock.Instant]>([:])

    private static let repetition = Duration.seconds(3600)

    init(logger: Logger, metrics: Metrics) {
        self.logger = logger
        self.metrics = metrics
    }

    // MARK: - Days

    /// - Parameter complains: whether what is wrong is logged; one worker does.
    func tell(
        _ table: DayPartitions, _ partitions: [DayPartitions.Partition], strays: [Day: Int64], now: Int64,
        complains: Bool
    ) {
        let days = partitions.map(\.day)
        let ahead = days.filter { $0 > Day(of: now) }.count
        let rows = strays.values.reduce(0, +)
        let labels = ["table": table.rawValue]
        metrics.gauge(.retentionDays, Double(days.count), labels)
        metrics.gauge(.retentionDaysAhead, Double(ahead), labels)
        metrics.gauge(.retentionBytes, Double(partitions.reduce(0) { $0 + $1.bytes }), labels)
        metrics.gauge(.retentionStrayRows, Double(rows), labels)
        if let oldest = days.first {
            metrics.gauge(.retentionOldestDay, Double(oldest.start / 1000), labels)
        }
        guard complains else { return }
        if !days.contains(Day(of: now).adding(1)) {
            complain("\(table) tomorrow") {
                logger.error("day partition of tomorrow missing", ["table": .string(table.rawValue)])
            }
        }
        if let first = strays.keys.min(), let last = strays.keys.max() {
            complain("\(table) strays") {
                logger.error(
                    "default partition rows found",
                    [
                        "table": .string(table.rawValue), "rows": .int(rows), "first_day": .string(first.text),
                        "last_day": .string(last.text),
                    ])
            }
        }
    }

    func dropped(_ table: DayPartitions, _ partition: DayPartitions.Partition) {
        logger.info(
            "day partition dropped",
            [
                "table": .string(table.rawValue), "day": .string(partition.day.text), "bytes": .int(partition.bytes),
            ])
        metrics.count(.retentionDaysDropped, ["table": table.rawValue])
    }

    /// Days that should have gone, by what keeps them.
    func kept(_ table: DayPartitions, _ kept: [String: [Day]]) {
        for reason in ["pending", "held", "in_use"] {
            let days = kept[reason] ?? []
            keep(table.rawValue, reason, days.count)
            guard let first = days.first else { continue }
            complain("\(table) \(reason)") {
                logger.warning(
                    "day partitions kept too long",
                    [
                        "table": .string(table.rawValue), "reason": .string(reason), "days": .int(Int64(days.count)),
                        "first_day": .string(first.text),
                    ])
            }
        }
    }

    // MARK: - Rows

    /// - Parameter counts: by table.
    func cleaned(_ counts: [String: Int]) {
        for (table, rows) in counts where rows > 0 {
            metrics.count(.retentionRowsCleaned, ["table": table], by: Double(rows))
        }
    }

    /// Old events that something unfinished keeps.
    func kept(events kept: Int64) {
        keep("event", "unfinished", Int(kept))
        guard kept > 0 else { return }
        complain("event unfinished") {
            logger.warning("events kept too long", ["events": .int(kept)])
        }
    }

    // MARK: - How it is said

    private func keep(_ table: String, _ reason: String, _ count: Int) {
        metrics.gauge(.retentionKept, Double(count), ["table": table, "reason": reason])
    }

    /// Once an hour while it lasts.
    private func complain(_ what: String, _ log: () -> Void) {
        let isDue = complaints.withLock { complaints in
            if let last = complaints[what], ContinuousClock.now - last < RetentionReport.repetition { return false }
            complaints[what] = ContinuousClock.now
            return true
        }
        if isDue { log() }
    }
}
