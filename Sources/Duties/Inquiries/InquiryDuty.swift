import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Ingest
import Postgres

/// Asks Apple what operators want to know of it: how a purchase stands, and of what an order is.
///
/// Every worker does it, and an inquiry is held by the one that asks, until its lease is over. Each part of an answer is kept with
/// how far the inquiry is, so that a worker that goes on asks for the rest only; what Apple signed goes into the log, which takes
/// nothing twice.
package struct InquiryDuty: Duty {
    package static let name = "inquiries"
    package static let failure: StaticString = "inquiry run failed"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(2)

    package let cancellation: Cancellation?
    private let look: InquiryLook
    /// Who holds an inquiry.
    private let holder = SecureRandom.bytes(16)
    private let logger: Logger
    private let failures = RepeatedFailure()
    private var writer: InquiryWriter
    /// Apps of which Apple answered nothing, and until when no other question about them is asked: each takes the time of them all.
    private var resting: [String: ContinuousClock.Instant] = [:]

    private static let rest = Duration.milliseconds(300)
    /// The schema is older than inquiries; it may be migrated while the worker runs.
    private static let rarely = Duration.seconds(30)
    /// ms that one part takes at most, with what is written around it.
    private static let lease: Int64 = 60_000
    /// ms for which an app rests at most.
    private static let longestRest: Int64 = 10_000

    /// Transactions of one part (`AccountLookup`), beside those of its last page, 20 that are asked for by themselves, and the
    /// state: what is written at once are 500 at most.
    package static let mostTransactions = 460

    /// - Parameters:
    ///   - lookups: by app; those without a key have none.
    ///   - cancellation: ends what waits for Apple; cancelled when this drains.
    package init(
        lookups: [String: AccountLookup], clock: any WallClock = SystemClock(), cancellation: Cancellation,
        logger: Logger
    ) {
        look = InquiryLook(lookups, cancellation)
        self.cancellation = cancellation
        self.logger = logger
        writer = InquiryWriter(clock: clock)
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        do {
            while !run.isDraining(), try next(run) {}
            return .after(InquiryDuty.rest)
        } catch let error as PostgresError where error.sqlstate == "42703" {
            return .after(InquiryDuty.rarely)
        }
    }

    private enum Step {
        /// It failed, and is tried again later.
        case later
        case over(ChangeWork.Ended)
        case ask(Change, Inquiry, InquiryProgress, failures: Int64)
    }

    /// Does a part of the next one; false: none is due.
    private mutating func next(_ run: DutyRun) throws -> Bool {
        guard let step = try run.session.withConnection({ try prepare(on: $0, run) }) else { return false }
        switch step {
        case .later: break
        case .over(let ended): ended.tell(logger)
        case .ask(let change, let inquiry, let progress, let failed):
            let answer = look.ask(inquiry, progress, failures: failed, passingOver: restingApps)
            if let app = answer.app {
                let rest = min(InquiryCourse.delay(after: failed), InquiryDuty.longestRest)
                resting[app] = answer.isOfWholeApp ? ContinuousClock.now + .milliseconds(rest) : nil
            }
            try run.session.withConnection { try keep(answer, inquiry, change, on: $0, run) }?.tell(logger)
        }
        return true
    }

    // MARK: - Before it is asked

    /// What fails before Apple is asked is counted, and ends the inquiry: it must not keep the others waiting for ever.
    private func prepare(on connection: PostgresConnection, _ run: DutyRun) throws -> Step? {
        var taken: Change?
        do {
            return try begin(&taken, on: connection)
        } catch {
            guard let change = taken, connection.isAlive, !run.isDraining() else { throw error }
            return try afterFailure(error, on: connection) {
                try ChangeTable.waiting(change.id, on: connection)
            }.map(Step.over) ?? .later
        }
    }

    private var restingApps: Set<String> { Set(resting.filter { $0.value > .now }.keys) }

    /// ms until one of the apps that an inquiry is still about is asked about again; nil: one is not resting.
    private func rest(of inquiry: Inquiry, _ progress: InquiryProgress) -> Int64? {
        let left = InquiryLook.left(of: inquiry, progress)
        guard !left.isEmpty, restingApps.isSuperset(of: left) else { return nil }
        return left.compactMap { resting[$0] }.min().map { max(1, ($0 - .now).milliseconds) }
    }

    /// - Parameter take: what failed, unless another worker is at it.
    private func afterFailure(
        _ error: any Error, on connection: PostgresConnection, _ take: () throws -> ChangeTable.Held?
    ) throws -> ChangeWork.Ended? {
        failures.warning(InquiryDuty.failure, error, count: 1, logger)
        return try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            guard let change = try take()?.change else { return nil }
            let count = try ChangeTable.countFailure(of: change, on: connection)
            guard count >= InquiryCourse.patience else {
                let delay = InquiryCourse.delay(after: count - 1)
                try ChangeTable.letGo(of: change, for: delay, on: connection)
                return nil
            }
            // The error may still name a customer who was deleted meanwhile.
            guard try !ChangeTable.isRedacted(change, on: connection) else {
                return try forget(change, ChangeWork.deleted, on: connection)
            }
            return try end(change, .failed(InquiryCourse.givenUp(error, count)), on: connection)
        }
    }

    private func begin(_ taken: inout Change?, on connection: PostgresConnection) throws -> Step? {
        try connection.transaction {
            guard let change = try ChangeTable.takeInquiry(on: connection) else { return nil }
            taken = change
            guard try !ChangeTable.isRedacted(change, on: connection) else {
                return .over(try forget(change, ChangeWork.deleted, on: connection))
            }
            if let objection = try InquiryDuty.objection(to: change, on: connection) {
                return .over(try end(change, .refused(objection), on: connection))
            }
            let inquiry: Inquiry
            switch InquiryRequest.read(change, look) {
            case .success(let read): inquiry = read
            case .failure(let refusal):
                return .over(try end(change, .refused(refusal.sentence), on: connection))
            }
            if case .purchase(let key) = inquiry, try !InquiryWriter.isKnown(key, on: connection) {
                return .over(try end(change, .refused("There is no such purchase."), on: connection))
            }
            let held = try ChangeTable.hold(change, by: holder, for: InquiryDuty.lease, on: connection)
            let progress = InquiryProgress(cursor: held.cursor)
            if let rest = rest(of: inquiry, progress) {
                try ChangeTable.letGo(of: change, for: rest, on: connection)
                return .later
            }
            return .ask(change, inquiry, progress, failures: held.failures)
        }
    }

    /// Why Apple is not asked; nil: it is. What the console checked is checked once more: another program may have written the
    /// change as its role.
    private static func objection(to change: Change, on connection: PostgresConnection) throws -> String? {
        if let objection = try ChangeWork.objection(to: change, on: connection) { return objection }
        if let parameters = try? JSON(parsing: Array(change.parameters.utf8)),
            try ChangeWork.isChanged(change, parameters, on: connection)
        {
            return ChangeVersions.changed
        }
        return try ChangeTable.objection(toInquiry: change, on: connection)
    }

    // MARK: - What was answered

    private mutating func keep(
        _ answer: InquiryLook.Answer, _ inquiry: Inquiry, _ change: Change, on connection: PostgresConnection,
        _ run: DutyRun
    ) throws -> ChangeWork.Ended? {
        do {
            return try write(answer, inquiry, change, on: connection)
        } catch {
            writer.forget()
            guard connection.isAlive, !run.isDraining() else { throw error }
            return try afterFailure(error, on: connection) {
                try ChangeTable.held(change.id, by: holder, on: connection)
            }
        }
    }

    /// How far the inquiry is goes with the last part of what is written, and how much of it was new with each.
    private mutating func write(
        _ answer: InquiryLook.Answer, _ inquiry: Inquiry, _ taken: Change, on connection: PostgresConnection
    ) throws -> ChangeWork.Ended? {
        var parts = try InquiryWriter.parts(of: answer, on: connection)[...]
        while let part = parts.popFirst() {
            let (isOver, ended) = try connection.transaction { () throws -> (Bool, ChangeWork.Ended?) in
                _ = try connection.query("SELECT \(Durability.setting)")
                // Before the row of the change, as an erasure does.
                let isThere = try InquiryWriter.isThere(inquiry, on: connection)
                // Another worker may have gone on where this one stood still: nothing is lost then, and nothing done twice.
                guard let held = try ChangeTable.held(taken.id, by: holder, on: connection) else { return (true, nil) }
                let why = try InquiryDuty.objection(toKeeping: answer, held.change, on: connection)
                if let why = isThere ? why : ChangeWork.deleted {
                    return (true, try forget(held.change, why, on: connection))
                }
                var progress = parts.isEmpty ? answer.progress : InquiryProgress(cursor: held.cursor)
                progress.news = InquiryProgress(cursor: held.cursor).news + (try writer.write(part, on: connection))
                let ended = try go(on: held, answer, inquiry, progress, isLast: parts.isEmpty, connection)
                FailPoint.inquiryBeforeCommit.pass()
                return (ended != nil, ended)
            }
            FailPoint.inquiryAfterCommit.pass()
            if isOver { return ended }
        }
        return nil
    }

    private func go(
        on held: ChangeTable.Held, _ answer: InquiryLook.Answer, _ inquiry: Inquiry, _ progress: InquiryProgress,
        isLast: Bool, _ connection: PostgresConnection
    ) throws -> ChangeWork.Ended? {
        guard isLast else {
            try ChangeTable.goOn(
                held.change, at: progress.cursor, .held, failures: held.failures, on: connection)
            return nil
        }
        switch InquiryCourse(answer, inquiry, progress, failures: held.failures) {
        case .over(let ending): return try end(held.change, ending, on: connection)
        case .goOn(let progress, let wait, let failures):
            try ChangeTable.goOn(
                held.change, at: progress.cursor, .free(after: wait), failures: failures, on: connection)
            return nil
        }
    }

    /// Why an answer is kept no more; nil: it is. A deletion finds a question about an order by its outcome alone, so that
    /// nothing is kept of one that was being asked meanwhile.
    private static func objection(
        toKeeping answer: InquiryLook.Answer, _ change: Change, on connection: PostgresConnection
    ) throws -> String? {
        if try ChangeTable.isRedacted(change, on: connection) { return ChangeWork.deleted }
        guard change.kind == .orderLookup, !answer.progress.purchases.isEmpty,
            try DeletionTable.isAnySince(change, on: connection)
        else { return nil }
        return "A customer was deleted since it was asked for, and the order may be theirs; ask again if it is needed."
    }

    /// Ends one about what is deleted: neither it nor the audit keeps what was asked about.
    private func forget(
        _ change: Change, _ why: String, on connection: PostgresConnection
    ) throws -> ChangeWork.Ended {
        let ended = try end(change, .refused(why), on: connection)
        try ChangeRedaction.forget(change, on: connection)
        return ended
    }

    private func end(
        _ change: Change, _ ending: ChangeEnding, on connection: PostgresConnection
    ) throws -> ChangeWork.Ended {
        try ChangeTable.end(change, ending, on: connection)
        return ChangeWork.Ended(job: change.id, kind: change.kind, user: change.user, ending: ending)
    }
}
