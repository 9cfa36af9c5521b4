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
    /// Grants to the customers of a page. The cursor is: what was left out, the salt of the grants, how many customers there were at
    /// the beginning, the end of the page.
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
            return try over(.failed("The grant \(objection)."))
        }
        guard try !isAnyTakerBusy(now, on: connection) else { return .waiting }
        guard try begin(bulk, &job, on: connection) else { return try over(.refused(BulkWork.tooMany)) }
        guard let salt = BulkWork.salt(of: job) else {
            return try over(.failed("The cursor of the job cannot be read."))
        }
        let page = try bulk.page(
            after: Array(job.cursor.dropFirst(BulkWork.words)), salt: salt,
            limit: alone > 0 ? 1 : CustomerBulk.limit, on: connection)
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

    /// Words of the cursor before the end of the page.
    private static let words = 3

    private static func salt(of job: Job) -> Int64? { job.cursor.count >= words ? Int64(job.cursor[1]) : nil }

    /// Whether an endpoint that takes the events of grants has so many due that what happens now would wait behind more.
    private func isAnyTakerBusy(_ now: Int64, on connection: PostgresConnection) throws -> Bool {
        let type = EventType.nonRenewingPurchase.rawValue
        // One that fails gets nothing in time anyway, and customers are not to wait for it.
        let failures = try EndpointHealthTable.failures(on: connection)
        return try EndpointTable.list(on: connection).contains { endpoint in
            try endpoint.isEnabled && failures[endpoint.id, default: 0] == 0 && endpoint.format == .revenuecat
                && endpoint.wants(type: type, app: Grant.app, environment: .production)
                && isBusy(endpoint.id, now, on: connection)
        }
    }

    /// Gives a job its salt and the number of its customers, once; false: there are too many.
    private func begin(_ bulk: CustomerBulk, _ job: inout Job, on connection: PostgresConnection) throws -> Bool {
        guard job.cursor.count < 2 else { return true }
        let count = try bulk.count(on: connection)
        guard count <= CustomerBulk.most else { return false }
        job.cursor = [BulkDone().skippedJSON.text, String(BulkWork.salt()), String(count)]
        return true
    }

    /// After a page that failed its customers are granted to one by one, and one who fails alone is left out.
    mutating func isolate(
        _ change: Change, _ error: any Error, _ job: inout Job, on connection: PostgresConnection
    ) throws {
        guard let selection = BulkSelection(json: job.parameters)?.bounded(by: job.created),
            let bulk = CustomerBulk(selection)
        else { return }
        let isPage = alone == 0
        // The order follows from the salt, which went with the page where that was the first one: it is kept from here on.
        let hasBegun = job.cursor.count >= 2
        guard try begin(bulk, &job, on: connection), let salt = BulkWork.salt(of: job) else { return }
        guard !isPage, hasBegun else {
            alone = CustomerBulk.limit
            return
        }
        // Whatever may pass is no fault of the customer's.
        guard error.fault != .passing, error.fault != .away else { return }
        let page = try bulk.page(
            after: Array(job.cursor.dropFirst(BulkWork.words)), salt: salt, limit: 1, on: connection)
        var done = BulkDone()
        done.skip(.failed, page.rows.count)
        alone -= 1
        _ = try record(
            done, page, change, &job, job.parameters["entitlement"]?.stringValue ?? "", on: connection)
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
            job.fraction = min(1, Double(job.counts.matched) / Double(max(1, Int64(job.cursor[2]) ?? 1)))
            job.cursor = [sum.skippedJSON.text] + job.cursor[1..<BulkWork.words] + page.end
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
