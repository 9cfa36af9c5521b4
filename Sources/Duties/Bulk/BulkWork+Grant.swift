import Base
import Crypto
import Customers
import Daemon
import Database
import Postgres
import Subscriptions

/// What grants to many customers need of the configuration.
package struct BulkGrantSettings: Sendable {
    /// Those that can be granted.
    let entitlements: Set<String>
    let foldSettings: FoldSettings

    package init(entitlements: Set<String>, foldSettings: FoldSettings) {
        (self.entitlements, self.foldSettings) = (entitlements, foldSettings)
    }
}

extension BulkWork {
    /// Grants to the customers of a page. The cursor is: what was left out, the salt of the grants, the end of the page.
    func grant(
        _ change: Change, _ selection: BulkSelection, _ job: inout Job, _ now: Int64,
        on connection: PostgresConnection
    ) throws -> Advance {
        func over(_ ending: ChangeEnding) throws -> Advance { try end(change, ending, &job, on: connection) }
        guard let bulk = CustomerBulk(selection) else { return try over(.refused("The change names no customers.")) }
        guard let grants, let entitlement = job.parameters["entitlement"]?.stringValue,
            grants.entitlements.contains(entitlement)
        else { return try over(.refused("The entitlement is not in the configuration of the worker.")) }
        guard let term = ChangeWork.term(job.parameters) else {
            return try over(.refused("The grant has neither a duration nor an end."))
        }
        if let objection = term.objection(now: now) {
            return try over(.failed("The grant \(objection); \(job.counts.queued) customers got it before."))
        }
        if job.cursor.count < 2 {
            guard try bulk.count(on: connection) <= CustomerBulk.most else {
                return try over(.refused(BulkWork.tooMany))
            }
            job.cursor = [BulkDone().skippedJSON.text, String(BulkWork.salt())]
        }
        guard let salt = Int64(job.cursor[1]) else { return try over(.failed("The cursor of the job cannot be read.")) }
        let page = try bulk.page(after: Array(job.cursor.dropFirst(2)), salt: salt, on: connection)
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: change.user, reason: change.reason), foldSettings: grants.foldSettings)
        let done = try actions.grant(
            entitlement, toEach: page.rows, term, salt: salt,
            isMeant: { id in
                let fate = try DeletionTable.fate(of: id, since: change, on: connection)
                // What was redacted before the job was there is not redacted once more.
                if fate == .swept { try ChangeRedaction.forgetHash(of: change, on: connection) }
                return fate == .present
            }, on: connection)
        return try record(done, page, change, &job, entitlement, on: connection)
    }

    /// Why nothing is granted.
    package static let tooMany =
        "The selection has more than \(CustomerBulk.most) customers; a narrower time selects fewer."

    private static func salt() -> Int64 {
        SecureRandom.bytes(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    private func record(
        _ done: BulkDone, _ page: BulkPage<String>, _ change: Change, _ job: inout Job, _ entitlement: String,
        on connection: PostgresConnection
    ) throws -> Advance {
        var sum = BulkDone()
        sum.skipped = BulkDone.skipped(job.cursor[0])
        sum += done
        job.counts += JobCounts(
            matched: Int64(page.rows.count), queued: done.queued, skipped: done.skipped.values.reduce(0, +))
        guard page.isLast else {
            job.cursor = [sum.skippedJSON.text, job.cursor[1]] + page.end
            job.fraction = page.fraction
            FailPoint.bulkBeforeCommit.pass()
            return .done
        }
        job.cursor = [sum.skippedJSON.text]
        let outcome = JSON.object([
            "entitlement": .string(entitlement), "matched": .int(job.counts.matched),
            "queued": .int(job.counts.queued), "skipped": sum.skippedJSON,
        ])
        return try end(change, .done(outcome), &job, on: connection)
    }
}
