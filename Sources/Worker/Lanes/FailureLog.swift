import Base
import Daemon

/// Logs each failure once, with its reason, and again each half minute while it lasts.
struct FailureLog {
    private let logger: Logger
    private var logged: [String: (at: ContinuousClock.Instant, count: Int64)] = [:]

    private static let interval = Duration.seconds(30)
    private static let remembered = 100

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Parameters:
    ///   - event: the event of the log line.
    ///   - lanes: how many lanes it concerns, and how many notifications.
    mutating func error(
        _ event: StaticString, _ failure: any Error, lanes: Int? = nil, notifications: Int? = nil
    ) {
        let (reason, now) = ("\(failure)", ContinuousClock.now)
        let name = "\(event)\n\(reason)"
        let entry = logged[name]
        let count = (entry?.count ?? 0) + 1
        if let entry, now - entry.at < FailureLog.interval {
            logged[name] = (entry.at, count)
            return
        }
        if logged.count > FailureLog.remembered { logged = logged.filter { now - $0.value.at < FailureLog.interval } }
        logged[name] = (now, 0)
        logger.error(
            event,
            [
                "error": .string(reason), "count": .int(count), "lanes": lanes.map { .int(Int64($0)) },
                "notifications": notifications.map { .int(Int64($0)) },
            ])
    }
}
