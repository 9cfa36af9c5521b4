import Base
import Daemon
import Database
import Postgres

/// Does the changes that operators ask for, at once: they wait for no job and for no other duty.
///
/// Every worker does them, and a change is held by the one that does it; so there is no leader to wait for.
package struct ChangeDuty: Duty {
    package static let name = "changes"
    package static let failure: StaticString = "change run failed"
    package static let firstAfter = ChangeDuty.rest
    package static let retryAfter = Duration.seconds(1)

    private let work: ChangeWork
    private let logger: Logger
    private var emptied: ContinuousClock.Instant?
    /// When the workers' intake was looked after, and whether there was one.
    private var intake: (at: ContinuousClock.Instant, isThere: Bool)?

    private static let rest = Duration.milliseconds(200)
    /// The schema is older than changes; it may be migrated while the worker runs.
    private static let rarely = Duration.seconds(30)
    /// Between two looks at the workers' intake while there is none, and while there is one.
    private static let intakeIntervals = (missing: Duration.seconds(5), there: Duration.seconds(60))
    /// Between two looks for secrets that nothing waits for any more.
    private static let emptyingInterval = Duration.seconds(60)

    package init(work: ChangeWork, logger: Logger) {
        self.work = work
        self.logger = logger
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        let isEmptying = emptied.map { .now - $0 >= ChangeDuty.emptyingInterval } ?? true
        if isEmptying { emptied = .now }
        let isPublishing =
            intake.map {
                .now - $0.at >= ($0.isThere ? ChangeDuty.intakeIntervals.there : ChangeDuty.intakeIntervals.missing)
            } ?? true
        if isPublishing { intake = (.now, false) }
        return try run.session.withConnection { connection in
            do {
                if isEmptying { try ChangeTable.emptySealed(on: connection) }
                if isPublishing { intake = (.now, try work.publishIntake(on: connection)) }
                while !run.isDraining(), let ended = try work.next(on: connection, isDraining: run.isDraining) {
                    tell(ended)
                }
                return .after(ChangeDuty.rest)
            } catch let error as PostgresError where error.sqlstate == "42703" {
                return .after(ChangeDuty.rarely)
            } catch  where TransientError.isPassing(error) {
                return .after(ChangeDuty.rest)
            }
        }
    }

    private func tell(_ ended: ChangeWork.Ended) { ended.tell(logger) }
}

extension ChangeWork.Ended {
    func tell(_ logger: Logger) {
        logger.info(
            "change finished",
            [
                "job": .int(job), "kind": .string(kind.rawValue), "user": .string(user),
                "outcome": .string(ending.outcome.rawValue),
            ])
    }
}
