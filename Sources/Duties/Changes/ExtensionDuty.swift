import AppStoreAPI
import Base
import Daemon
import Database
import Glibc
import Postgres
import Subscriptions

/// Asks Apple to extend the renewal dates that operators want extended.
///
/// Apple does it once more when it is asked once more, and nothing takes it back. So a worker notes that it is about to ask, and
/// asks; where nothing was noted of what came of it, none asks again, and the operator is told that it is not known.
package struct ExtensionDuty: Duty {
    package static let name = "extensions"
    package static let failure: StaticString = "renewal extension run failed"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(5)

    /// What Apple answers.
    package struct Answer: Sendable {
        let isDone: Bool
        /// When the subscription renews now; ms since 1970.
        let expires: Int64?

        package init(isDone: Bool, expires: Int64?) { (self.isDone, self.expires) = (isDone, expires) }
    }

    /// Asks Apple for one extension.
    package typealias Ask = @Sendable (PurchaseKey, RenewalExtension) -> Result<Answer, ServerAPIError>

    private let askers: [String: Ask]
    private let logger: Logger
    private let failures = RepeatedFailure()

    private static let rest = Duration.milliseconds(500)
    /// The schema is older than changes; it may be migrated while the worker runs.
    private static let rarely = Duration.seconds(30)
    /// ms that one call takes at most, with what is written around it.
    private static let callTime: Int64 = 90_000
    /// After so long a worker that stood still does not ask any more: another one may have said that it is not known.
    private static let callBegin = Duration.seconds(30)
    /// How long what Apple answered is tried to be written.
    private static let writingPatience = Duration.seconds(20)

    /// How long Apple is asked at most.
    package static let patience = Duration.seconds(30)

    /// - Parameter askers: by app; those without a key have none.
    package init(askers: [String: Ask], logger: Logger) {
        (self.askers, self.logger) = (askers, logger)
    }

    package func run(_ run: DutyRun) throws -> Next {
        do {
            while !run.isDraining(), try next(run) {}
            return .after(ExtensionDuty.rest)
        } catch let error as PostgresError where error.sqlstate == "42703" {
            return .after(ExtensionDuty.rarely)
        }
    }

    private enum Step {
        /// It failed, and is tried again later.
        case later
        case over(ChangeWork.Ended)
        case ask(Change, PurchaseKey, RenewalExtension, Ask)
    }

    /// Does the next one; false: none is due.
    private func next(_ run: DutyRun) throws -> Bool {
        let began = ContinuousClock.now
        guard let step = try run.session.withConnection({ try prepare(on: $0, run) }) else { return false }
        switch step {
        case .later: break
        case .over(let ended): ended.tell(logger)
        case .ask(let change, let purchase, let wanted, let ask):
            guard ContinuousClock.now - began < ExtensionDuty.callBegin else { return true }
            // No row is held while Apple is asked.
            let ending = ExtensionDuty.ending(ask(purchase, wanted), wanted)
            try write(change, ending, run.session)?.tell(logger)
        }
        return true
    }

    /// Writes what Apple answered, also where the database is away for a moment: it cannot be asked for again.
    private func write(_ change: Change, _ ending: ChangeEnding, _ session: PostgresSession) throws -> ChangeWork.Ended?
    {
        let end = ContinuousClock.now + ExtensionDuty.writingPatience
        while true {
            do {
                return try session.withConnection { connection in
                    try connection.transaction {
                        _ = try connection.query("SELECT \(Durability.setting)")
                        return try self.end(change, ending, on: connection)
                    }
                }
            } catch {
                guard ContinuousClock.now < end else { throw error }
                usleep(200_000)
            }
        }
    }

    /// What fails before Apple is asked is counted, and ends the change: it must not keep the others waiting for ever.
    private func prepare(on connection: PostgresConnection, _ run: DutyRun) throws -> Step? {
        var taken: Change?
        do {
            return try begin(&taken, on: connection)
        } catch {
            // One whose statements take too long each time must not be the first for ever, either.
            guard let change = taken, !run.isDraining(), connection.isAlive,
                !TransientError.isPassing(error) || error.isTimeout
            else { throw error }
            failures.warning(ExtensionDuty.failure, error, count: 1, logger)
            let ended = try connection.transaction { () throws -> ChangeWork.Ended? in
                guard let change = try ChangeTable.take(change.id, on: connection) else { return nil }
                let count = try ChangeTable.countFailure(of: change, on: connection)
                guard count >= ChangeWork.patience else { return nil }
                let ending =
                    try ChangeTable.isMarked(change, on: connection)
                    ? ExtensionDuty.unknown
                    : .failed("The change failed \(count) times (\(error)) before Apple was asked, and is given up.")
                return try end(change, ending, on: connection)
            }
            return ended.map(Step.over) ?? .later
        }
    }

    private func begin(_ taken: inout Change?, on connection: PostgresConnection) throws -> Step? {
        try connection.transaction {
            guard let change = try ChangeTable.take(isOfApple: true, on: connection) else { return nil }
            taken = change
            func over(_ ending: ChangeEnding) throws -> Step? { try end(change, ending, on: connection).map(Step.over) }
            guard try !ChangeTable.isMarked(change, on: connection) else { return try over(ExtensionDuty.unknown) }
            // A database that went back to an earlier state may have lost the mark.
            guard try connection.serverTime() - change.asked < ExtensionDuty.life else {
                return try over(ExtensionDuty.late)
            }
            if let objection = try ChangeWork.objection(to: change, on: connection) {
                return try over(.refused(objection))
            }
            guard let parameters = try? JSON(parsing: Array(change.parameters.utf8)),
                let purchase = ChangeWork.purchase(change.target, parameters),
                let wanted = ExtensionDuty.wanted(parameters)
            else { return try over(.refused("The change names no purchase, or no days and reason.")) }
            guard try !ChangeTable.isRedacted(change, on: connection) else {
                return try over(.refused(ChangeWork.deleted))
            }
            guard try !ChangeWork.isChanged(change, parameters, on: connection) else {
                return try over(.refused(ChangeVersions.changed))
            }
            guard let ask = askers[purchase.app] else {
                return try over(
                    .refused("The app has no key for Apple's Server API (server_api in the configuration)."))
            }
            guard try PurchaseTable.owners([purchase], on: connection).contains(where: { $0 != nil }) else {
                return try over(.refused("There is no such purchase."))
            }
            try ChangeTable.mark(change, for: ExtensionDuty.callTime, on: connection)
            return .ask(change, purchase, wanted, ask)
        }
    }

    /// Nil: it was ended otherwise.
    private func end(
        _ taken: Change, _ ending: ChangeEnding, on connection: PostgresConnection
    ) throws -> ChangeWork.Ended? {
        guard let change = try ChangeTable.take(taken.id, on: connection) else { return nil }
        var ending = ending
        if case .done(let outcome) = ending, try ChangeTable.isRedacted(change, on: connection) {
            // The customer was deleted meanwhile: Apple's entry of the request would name the purchase.
            ending = .done(.object((outcome.members ?? []).filter { $0.name != ChangeVersions.requestID }))
        }
        try ChangeTable.end(change, ending, on: connection)
        return ChangeWork.Ended(job: change.id, kind: change.kind, user: change.user, ending: ending)
    }

    // MARK: - What is wanted, and what came of it

    private static func wanted(_ parameters: JSON) -> RenewalExtension? {
        guard let days = parameters["days"]?.intValue, (1...RenewalExtension.longest).contains(days),
            let word = parameters["apple_reason"]?.stringValue,
            let reason = RenewalExtension.Reason.allCases.first(where: { $0.word == word }),
            let id = parameters[ChangeVersions.requestID]?.stringValue, (1...128).contains(id.utf8.count)
        else { return nil }
        return RenewalExtension(days: days, reason: reason, requestIdentifier: id)
    }

    /// ms after which a change is not begun any more.
    private static let life: Int64 = 3_600_000

    private static let late = ChangeEnding.failed(
        "No worker did it within an hour of the request, unless the database was restored since: look whether the purchase is"
            + " extended, and ask again.")

    private static let unknown = ChangeEnding.failed(
        "It is not known whether Apple extended it: a worker ended while it asked, and none asks again, because that could"
            + " extend it twice. Within minutes the purchase tells, since Apple reports an extension.")

    private static func ending(
        _ result: Result<Answer, ServerAPIError>, _ wanted: RenewalExtension
    ) -> ChangeEnding {
        switch result {
        case .success(let answer) where answer.isDone:
            return .done(
                .object([
                    "days": .int(wanted.days), "expires_at": .date(answer.expires),
                    "request_id": .string(wanted.requestIdentifier),
                ]))
        case .success: return .refused("Apple did not extend it and gave no reason.")
        case .failure(let error):
            switch error {
            // A server that failed may have done it before.
            case .refused(let rejection)
            where rejection.rawCode != nil && rejection.status < 500 || rejection.status == 429:
                return .refused("Apple did not extend it. \(error).")
            case .unauthorized, .invalid: return .refused("Apple did not extend it. \(error).")
            case .refused, .unreachable, .untrusted, .malformed, .tooLarge, .outOfTime, .limited, .cancelled:
                return .failed(
                    "It is not known whether Apple extended it (\(error)), and no worker asks again, because that could"
                        + " extend it twice. Within minutes the purchase tells, since Apple reports an extension.")
            }
        }
    }
}
