import Base
import Daemon

/// Logs each failure once, with its reason, and again each half minute while it lasts.
struct FailureLog {
    private let logger: Logger
    private var told: [String: (at: ContinuousClock.Instant, count: Int64)] = [:]

    private static let interval = Duration.seconds(30)
    private static let remembered = 100

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Parameters:
    ///   - message: what failed.
    ///   - lanes: how many lanes it concerns, and how many notifications.
    mutating func note(_ message: String, _ error: any Error, lanes: Int? = nil, notifications: Int? = nil) {
        let (reason, now) = ("\(error)", ContinuousClock.now)
        let name = "\(message)\n\(reason)"
        let entry = told[name]
        let count = (entry?.count ?? 0) + 1
        if let entry, now - entry.at < FailureLog.interval {
            told[name] = (entry.at, count)
            return
        }
        if told.count > FailureLog.remembered { told = told.filter { now - $0.value.at < FailureLog.interval } }
        told[name] = (now, 0)
        logger.error(
            message,
            [
                "error": .string(reason), "count": .int(count), "lanes": lanes.map { .int(Int64($0)) },
                "notifications": notifications.map { .int(Int64($0)) },
            ])
    }
}
