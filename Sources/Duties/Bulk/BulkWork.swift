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
    package static let kinds = ChangeKind.bulk.map { kind in JobKind(kind.rawValue) { BulkWork() } }

    private static let pause = Duration.milliseconds(100)
    /// Deliveries of one endpoint, or notifications, that may be due when a step begins.
    private static let mostDue = 256

    package init() {}

    package func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
        let step = try lease.step(on: connection) { job, now in
            try advance(&job, now, on: connection)
        }
        let isWaiting = step.result == .waiting
        if !isWaiting { FailPoint.bulkAfterCommit.pass() }
        return JobStep(step.job, pause: isWaiting ? BulkWork.pause : .zero, isWaiting: isWaiting)
    }

    private enum Advance {
        case done
        /// For consumers, or for workers.
        case waiting
    }

    private func advance(
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
        if change.kind == .bulkReprocess { return try reprocess(change, selection, &job, on: connection) }
        return try deliver(change, selection, &job, now, on: connection)
    }

    // MARK: - Whether it may go on

    private func refusal(of change: Change, on connection: PostgresConnection) throws -> String? {
        if change.kind.targetClass == .customer {
            // With a pseudonym in it, it means a customer who is no more.
            let isRedacted = try ChangeTable.isRedacted(change, on: connection)
            let fate = try isRedacted ? .deleted : DeletionTable.fate(ofTargetOf: change, on: connection)
            if fate == .swept { try ChangeRedaction.forget(change, on: connection) }
            if fate != .present { return ChangeWork.deleted }
        }
        return try ChangeWork.objection(to: change, on: connection)
    }

    /// Why it is not what was shown, before its first step.
    private func isChanged(_ change: Change, _ job: Job, on connection: PostgresConnection) throws -> String? {
        guard job.cursor.isEmpty else { return nil }
        return try ChangeWork.isChanged(change, job.parameters, on: connection) ? ChangeVersions.changed : nil
    }

    // MARK: - Steps

    private func deliver(
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
        let page = try bulk.page(after: Array(job.cursor.dropFirst()), on: connection)
        if isResend {
            // What a paused endpoint has in line is not sent before the pause ends, however long the job waits for it.
            let paused = Set(try EndpointTable.list(on: connection).filter { $0.pausedUntil > now }.map(\.id))
            for endpoint in Set(page.rows.filter { $0.skip == nil }.map(\.endpoint)).subtracting(paused) {
                let due = try DeliveryReplay.due(endpoint, now: now, atMost: BulkWork.mostDue, on: connection)
                if due >= BulkWork.mostDue { return .waiting }
            }
        }
        let done = try bulk.apply(page.rows, job: job.id, now: now, on: connection)
        return try record(done, page.rows.count, page, change, &job, on: connection)
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
    private func end(
        _ change: Change, _ ending: ChangeEnding, _ job: inout Job, on connection: PostgresConnection
    ) throws -> Advance {
        try ChangeTable.end(change, ending, on: connection)
        (job.state, job.error, job.fraction) = (ending.state, ending.message, 1)
        FailPoint.bulkBeforeCommit.pass()
        return .done
    }
}
