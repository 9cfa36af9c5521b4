import Base
import Synchronization
import Telemetry

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
        _ table: DayTable, _ partitions: [DayTable.Partition], strays: [Day: Int64], now: Int64, complains: Bool
    ) {
        let days = partitions.map(\.day)
        let ahead = days.filter { $0 > Day(of: now) }.count
        let rows = strays.values.reduce(0, +)
        gauge("days", "Days that have a partition, those to come included.", table, Double(days.count))
        gauge(
            "days_ahead", "Days to come that have a partition; at 0 the default one takes what arrives.", table,
            Double(ahead))
        let bytes = partitions.reduce(0) { $0 + $1.bytes }
        gauge("bytes", "Bytes on disk of all days, with indexes.", table, Double(bytes))
        gauge("stray_rows", "Rows in the default partition, where none should be.", table, Double(rows))
        if let oldest = days.first {
            gauge("oldest_day_seconds", "When the oldest day begins that is kept.", table, Double(oldest.start / 1000))
        }
        guard complains else { return }
        if !days.contains(Day(of: now).adding(1)) {
            complain("\(table) tomorrow") {
                logger.error("there is no partition for tomorrow", ["table": .string(table.rawValue)])
            }
        }
        if let first = strays.keys.min(), let last = strays.keys.max() {
            complain("\(table) strays") {
                logger.error(
                    "the default partition is not empty",
                    [
                        "table": .string(table.rawValue), "rows": .int(rows), "first_day": .string(first.text),
                        "last_day": .string(last.text),
                    ])
            }
        }
    }

    func dropped(_ table: DayTable, _ partition: DayTable.Partition) {
        logger.info(
            "a day was dropped",
            [
                "table": .string(table.rawValue), "day": .string(partition.day.text), "bytes": .int(partition.bytes),
            ])
        metrics.count(
            "entitled_retention_days_dropped_total", "Days that were dropped.", ["table": table.rawValue])
    }

    /// Days that should have gone, by what keeps them.
    func kept(_ table: DayTable, _ kept: [String: [Day]]) {
        for reason in ["pending", "held", "in_use"] {
            let days = kept[reason] ?? []
            keep(table.rawValue, reason, days.count)
            guard let first = days.first else { continue }
            complain("\(table) \(reason)") {
                logger.warning(
                    "days are kept longer than they should be",
                    [
                        "table": .string(table.rawValue), "reason": .string(reason), "days": .int(Int64(days.count)),
                        "first_day": .string(first.text),
                    ])
            }
        }
    }

    // MARK: - Rows

    func cleaned(keys: Int, _ events: EventCleaner.Step?) {
        for (table, rows) in [
            ("notification_key", keys), ("event", events?.events ?? 0), ("delivery", events?.deliveries ?? 0),
        ] where rows > 0 {
            metrics.count(
                "entitled_retention_rows_cleaned_total", "Rows that were deleted, or emptied in the case of events.",
                ["table": table], by: Double(rows))
        }
        guard let kept = events?.kept else { return }
        keep("event", "unfinished", Int(kept))
        guard kept > 0 else { return }
        complain("event unfinished") {
            logger.warning(
                "events are kept longer than they should be: their deliveries are pending, held or dead of late",
                ["events": .int(kept)])
        }
    }

    // MARK: - How it is said

    private func gauge(_ name: String, _ help: String, _ table: DayTable, _ value: Double) {
        metrics.gauge("entitled_retention_\(name)", help, ["table": table.rawValue], value)
    }

    private func keep(_ table: String, _ reason: String, _ count: Int) {
        metrics.gauge(
            "entitled_retention_kept", "Days, or events, that stay longer than they should, by the reason.",
            ["table": table, "reason": reason], Double(count))
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
