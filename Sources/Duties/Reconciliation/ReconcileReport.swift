import AppStoreAPI
import Base
import Daemon
import Database

/// Logs what was missed, and that Apple's history cannot be read.
final class ReconcileReport: Sendable {
    private let logger: Logger
    private let metrics: Metrics
    private let started: Int64
    /// What was told of a failure, and when, by the place.
    private let told = Monitor<[AppScope: (text: String, at: ContinuousClock.Instant)]>([:])

    /// The same failure is told so often.
    private static let pause = Duration.seconds(6 * 3600)

    /// - Parameter started: ms since 1970.
    init(started: Int64, logger: Logger, metrics: Metrics) {
        self.started = started
        self.logger = logger
        self.metrics = metrics
    }

    /// How long ago Apple's history was looked through; from our start on where it never was.
    func tellAge(of look: HistoryScanState, _ place: AppScope, now: Int64) {
        let covered = look.past.covered ?? min(started, now)
        metrics.gauge(.reconcileAge, Double(max(0, now - covered)) / 1000, labels(place))
    }

    func begun(_ plan: HistoryScanPlan, _ place: AppScope) {
        guard plan.reason != .routine else { return }
        logger(place).info(
            "Apple history scan started",
            [
                "reason": .string(plan.reason.rawValue), "from": .date(plan.from), "until": .date(plan.until),
            ])
    }

    /// A page is committed.
    func taken(
        _ page: HistoryReader.Page, _ new: [NewNotification], _ reason: HistoryScanPlan.Reason, _ place: AppScope
    ) {
        if reason != .first, !new.isEmpty { metrics.count(.reconcileMissed, labels(place), by: Double(new.count)) }
        for (reason, count) in page.refused {
            metrics.count(.reconcileRefused, labels(place).merging(["reason": reason]) { $1 }, by: Double(count))
        }
        guard !page.refused.isEmpty else { return }
        logger(place).warning(
            "Apple history notifications rejected",
            [
                "refused": .strings(page.refused.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
            ])
    }

    /// A look came to its end.
    func finished(_ look: HistoryScanState.Current, _ place: AppScope) {
        let wasBroken = told.change { $0.removeValue(forKey: place) } != nil
        let oldest = look.walk.until - NotificationOrigin.oldest
        let result: Logger.Fields = [
            "found": .int(look.found), "missed": .int(look.missed), "refused": .int(look.refused),
            "from": .date(look.walk.from), "until": .date(look.walk.until),
            "first_signed": .date(look.firstMissed), "last_signed": .date(look.lastMissed),
            "for_the_record": .bool(look.firstMissed.map { $0 < oldest } ?? false),
        ]
        let logger = self.logger(place)
        if look.reason == .first {
            logger.notice("first Apple history scan completed", result)
        } else if look.missed > 0 {
            logger.warning("missed notifications found", result)
        } else if wasBroken {
            logger.notice("Apple history scan recovered", result)
        } else {
            logger.debug("Apple history scan completed", result)
        }
    }

    func failed(_ error: ServerAPIError, _ place: AppScope) {
        let text = "\(error)"
        let isNews = told.change { told in
            if let last = told[place], last.text == text, ContinuousClock.now - last.at < ReconcileReport.pause {
                return false
            }
            told[place] = (text, .now)
            return true
        }
        guard isNews else { return }
        logger(place).warning(
            "Apple history scan failed",
            ["error": .string(text)])
    }

    private func labels(_ place: AppScope) -> Metrics.Labels {
        ["app": place.app, "environment": place.environment.rawValue]
    }

    private func logger(_ place: AppScope) -> Logger {
        logger.with(["app": .string(place.app), "environment": .string(place.environment.rawValue)])
    }
}
