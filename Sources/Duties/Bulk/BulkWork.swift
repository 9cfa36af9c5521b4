import Base
import Customers
import Daemon
import Database
import Postgres

/// Does a change of many rows that an operator asked for, some hundreds in each step.
///
/// What a step does and where it ends commit together, so that no end of a process loses or doubles anything (`JobLease`). The
/// operator's role is looked up at each step, as for other changes. What happens now goes first: never more than some hundreds
/// are due at once by it.
package struct BulkWork: JobRunner {
    /// All but the replays, and the grants, which need the configuration.
    package static let kinds = ChangeKind.bulk.filter { !$0.isReplay && $0 != .bulkGrant }.map { kind in
        JobKind(kind.rawValue) { BulkWork() }
    }

    /// The same with the grants.
    package static func kinds(granting settings: BulkGrantSettings) -> [JobKind] {
        kinds + [JobKind(ChangeKind.bulkGrant.rawValue) { BulkWork(granting: settings) }]
    }

    private static let pause = Duration.milliseconds(100)
    /// Of a job that waited so many times one after the other: what it waits for is paused, or slow.
    private static let longPause = Duration.seconds(1)
    private static let shortWaits = 10
    /// Deliveries of one endpoint, or notifications, that may be due when a step begins.
    private static let mostDue = 256
    /// Steps that may take too long, one after the other: the database may be busy.
    private static let timeoutPatience: Int64 = 20

    /// Endpoints that kept the last step waiting: they are asked for before anything is read.
    private var busy: [String] = []
    private var waits = 0
    /// Whether failures may be counted in the job's row; a former driver may have counted some.
    private var hasFailures = true
    /// So many customers are granted to one by one, because a page of them failed.
    var alone = 0

    /// Nil: nothing is granted.
    let grants: BulkGrantSettings?

    package init(granting grants: BulkGrantSettings? = nil) { self.grants = grants }

    package mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
        let step: (result: Advance, job: Job)
        do {
            step = try lease.step(on: connection) { job, now in
                let result = try advance(&job, now, on: connection)
                if hasFailures, result == .done { try ChangeTable.forgetFailures(of: job.id, on: connection) }
                return result
            }
            if step.result == .done { (hasFailures, alone) = (false, max(0, alone - 1)) }
        } catch  where BulkWork.isOfTheJob(error) && connection.isAlive {
            return try afterFailure(error, lease, on: connection)
        }
        guard step.result == .waiting else {
            (busy, waits) = ([], 0)
            FailPoint.bulkAfterCommit.pass()
            return JobStep(step.job)
        }
        waits = min(waits + 1, BulkWork.shortWaits)
        return JobStep(
            step.job, pause: waits < BulkWork.shortWaits ? BulkWork.pause : BulkWork.longPause, isWaiting: true)
    }

    // MARK: - Failures

    /// Whether a failure may be the same at the next try. What meets another transaction passes by itself.
    private static func isOfTheJob(_ error: any Error) -> Bool {
        !(error is JobLease.Lost) && (!TransientError.isPassing(error) || error.isTimeout)
    }

    /// Counts the failure; ends the job after some of them without a step between them.
    private mutating func afterFailure(
        _ error: any Error, _ lease: JobLease, on connection: PostgresConnection
    ) throws -> JobStep {
        hasFailures = true
        let patience = error.isTimeout ? BulkWork.timeoutPatience : ChangeWork.patience
        let step = try lease.step(on: connection) { job, _ in
            guard let change = try ChangeTable.take(job.id, on: connection) else { return }
            let failures = try ChangeTable.countFailure(of: change, on: connection)
            guard failures >= patience else {
                if change.kind == .bulkGrant { try isolate(change, error, &job, on: connection) }
                return
            }
            // The error may still name a customer who was deleted meanwhile.
            guard try !ChangeTable.isRedacted(change, on: connection) else {
                _ = try end(change, .refused(ChangeWork.deleted), &job, on: connection)
                return
            }
            let message = "The job failed \(failures) times\(BulkWork.told(error, change.kind)) and is given up"
            _ = try end(change, .failed("\(message) after \(job.counts.matched) rows."), &job, on: connection)
        }
        return JobStep(step.job, pause: BulkWork.longPause, isWaiting: true)
    }

    /// What is told of a failure; nothing where it may name a customer, whom no deletion looks for there.
    private static func told(_ error: any Error, _ kind: ChangeKind) -> String {
        let isPlain = (error as? PostgresError).map { !$0.isOfData } ?? false
        return kind == .bulkGrant && !isPlain ? "" : " (\(error))"
    }

    enum Advance {
        case done
        /// For consumers, or for workers.
        case waiting
    }

    private mutating func advance(
        _ job: inout Job, _ now: Int64, on connection: PostgresConnection
    ) throws -> Advance {
        // The step's transaction holds the row.
        guard let change = try ChangeTable.take(job.id, on: connection), change.kind.isBulk else {
            job.state = .failed
            job.error = "the job is no change of an operator"
            return .done
        }
        if let refusal = try refusal(of: change, on: connection) {
            return try end(change, .refused(refusal), &job, on: connection)
        }
        // The console's clock may be ahead of the database's.
        guard let selection = BulkSelection(json: job.parameters)?.bounded(by: job.created) else {
            return try end(change, .refused("The parameters of the change cannot be read."), &job, on: connection)
        }
        if let changed = try isChanged(change, job, on: connection) {
            return try end(change, .refused(changed), &job, on: connection)
        }
        // With a cursor it was compared with what was shown: that is right before its first rows, however long it waits.
        let isFirst = job.cursor.isEmpty
        if isFirst { job.cursor = [BulkDone().skippedJSON.text] }
        let advance: Advance =
            switch change.kind {
            case .bulkReprocess: try reprocess(change, selection, &job, on: connection)
            case .bulkGrant: try grant(change, selection, &job, now, on: connection)
            default: try deliver(change, selection, &job, now, on: connection)
            }
        if isFirst, case .waiting = advance { job.cursor = [] }
        return advance
    }

    // MARK: - Whether it may go on

    private func refusal(of change: Change, on connection: PostgresConnection) throws -> String? {
        // With a pseudonym in it, it means a customer who is no more.
        let isRedacted = try ChangeTable.isRedacted(change, on: connection)
        // A grant goes on without the customer.
        if isRedacted, change.kind.targetClass != .customer, change.kind != .bulkGrant { return ChangeWork.deleted }
        if change.kind.targetClass == .customer {
            let fate = try isRedacted ? .deleted : DeletionTable.fate(ofTargetOf: change, on: connection)
            if fate == .swept { try ChangeRedaction.forget(change, on: connection) }
            if fate != .present { return ChangeWork.deleted }
        }
        return try ChangeWork.objection(to: change, on: connection)
    }

    /// Why it is not what was shown, before its first step, or is about what a customer did not have when it was asked for.
    private func isChanged(_ change: Change, _ job: Job, on connection: PostgresConnection) throws -> String? {
        if change.kind.targetClass == .customer {
            let holdings = try ChangeVersions.holdings(of: change.target, on: connection)
            guard job.parameters[ChangeVersions.holdings]?.stringValue == holdings else {
                return ChangeVersions.otherHoldings
            }
        }
        guard job.cursor.isEmpty else { return nil }
        return try ChangeWork.isChanged(change, job.parameters, on: connection) ? ChangeVersions.changed : nil
    }

    // MARK: - Steps

    private mutating func deliver(
        _ change: Change, _ selection: BulkSelection, _ job: inout Job, _ now: Int64,
        on connection: PostgresConnection
    ) throws -> Advance {
        let isResend = change.kind == .bulkResend || change.kind == .customerResend
        guard
            let bulk = DeliveryBulk(
                isResend ? .resend : .giveUp, selection,
                ofCustomer: change.kind.targetClass == .customer ? change.target : nil)
        else {
            return try end(change, .refused("The change names no deliveries."), &job, on: connection)
        }
        busy = try busy.filter { try isBusy($0, now, on: connection) }
        guard busy.isEmpty else { return .waiting }
        let page = try bulk.page(after: Array(job.cursor.dropFirst()), on: connection)
        if isResend {
            let endpoints = Set(page.rows.filter { $0.skip == nil }.map(\.endpoint)).sorted()
            busy = try endpoints.filter { try isBusy($0, now, on: connection) }
            guard busy.isEmpty else { return .waiting }
        }
        let done = try bulk.apply(page.rows, job: job.id, now: now, on: connection)
        return try record(done, page.rows.count, page, change, &job, on: connection)
    }

    /// What a paused endpoint has in line is not sent before the pause ends, however long the job waits for it.
    func isBusy(_ endpoint: String, _ now: Int64, on connection: PostgresConnection) throws -> Bool {
        let isPaused = try EndpointTable.list(id: endpoint, on: connection).contains { $0.pausedUntil > now }
        return try !isPaused
            && DeliveryReplay.due(endpoint, now: now, atMost: BulkWork.mostDue, on: connection) >= BulkWork.mostDue
    }

    private func reprocess(
        _ change: Change, _ selection: BulkSelection, _ job: inout Job, on connection: PostgresConnection
    ) throws -> Advance {
        guard let bulk = NotificationBulk(selection) else {
            return try end(change, .refused("The change names no notifications."), &job, on: connection)
        }
        guard try NotificationBulk.waiting(atMost: BulkWork.mostDue, on: connection) < BulkWork.mostDue else {
            return .waiting
        }
        let page = try bulk.page(after: Array(job.cursor.dropFirst()), on: connection)
        let done = try bulk.apply(page.rows, on: connection)
        return try record(done, page.rows.count, page, change, &job, on: connection)
    }

    private func record<Row>(
        _ done: BulkDone, _ matched: Int, _ page: BulkPage<Row>, _ change: Change, _ job: inout Job,
        on connection: PostgresConnection
    ) throws -> Advance {
        var sum = BulkDone()
        sum.skipped = BulkDone.skipped(job.cursor.first ?? "")
        sum += done
        job.counts += JobCounts(
            matched: Int64(matched), queued: done.queued, skipped: done.skipped.values.reduce(0, +))
        job.cursor = [sum.skippedJSON.text] + page.end
        job.fraction = page.fraction
        if page.isLast {
            let outcome = JSON.object([
                "matched": .int(job.counts.matched), "queued": .int(job.counts.queued), "skipped": sum.skippedJSON,
            ])
            return try end(change, .done(outcome), &job, on: connection)
        }
        FailPoint.bulkBeforeCommit.pass()
        return .done
    }

    /// Ends the job, with its entry in the audit.
    func end(
        _ change: Change, _ ending: ChangeEnding, _ job: inout Job, on connection: PostgresConnection
    ) throws -> Advance {
        var ending = ending
        if change.kind == .bulkGrant {
            // The rest has the salt of the grants, and a hash of an id.
            job.cursor = Array(job.cursor.prefix(1))
            if try DeletionTable.isAnySince(change, on: connection) {
                try ChangeRedaction.forgetHash(of: change, on: connection)
            }
            ending = ending.afterGrants(job.counts.queued)
        }
        try ChangeTable.end(change, ending, on: connection)
        (job.state, job.error, job.fraction) = (ending.state, ending.message, 1)
        FailPoint.bulkBeforeCommit.pass()
        return .done
    }
}
