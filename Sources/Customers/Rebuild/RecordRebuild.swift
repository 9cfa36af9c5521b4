import Base
import Database
import Postgres
import Subscriptions

/// All records again from the log: purchases from their facts, customers from what joined them. Makes no events.
///
/// Goes lane by lane, some purchases at a time; each page is one transaction that holds the lane as its owner would, so
/// that workers go on between pages and never beside one. It needs no worker, and little memory. A dry run reads one
/// moment for each page, holds nothing and writes nothing.
package struct RecordRebuild: Sendable {
    private let patience: Int64
    private let foldSettings: FoldSettings
    private let isDry: Bool
    private let pageSize: Int

    /// - Parameters:
    ///   - patience: how long the news of a renewal is waited for; for timers.
    ///   - foldSettings: what the configuration adds to facts.
    ///   - isDry: only compare.
    package init(patience: Duration, foldSettings: FoldSettings, isDry: Bool, pageSize: Int = 200) {
        self.patience = patience.milliseconds
        self.foldSettings = foldSettings
        self.isDry = isDry
        self.pageSize = pageSize
    }

    /// What records depend on beside the log: how grace is assumed, and how this version folds.
    private var settings: String { "\(Version.current), fold \(foldSettings.stamp)" }

    package struct Progress: Sendable {
        /// 0 to 1.
        package let fraction: Double
        package let totals: RebuildTotals
        /// Whether it goes on where one that did not end came to.
        package let isResumed: Bool
    }

    private static let logStage = Lane.count
    private static let customerStage = Lane.count + 1
    private static let stages = Lane.count + 2

    /// - Parameter found: gets each difference once its page is committed.
    package func run(
        on connection: PostgresConnection, progress: (Progress) -> Void, found: (Difference) -> Void
    ) throws -> RebuildTotals {
        let now = try connection.serverTime()
        let confirmationRule = try ExpiryConfirmationRule.read(patience: patience, now: now, on: connection)
        let purchases = PurchaseRebuild(confirmationRule: confirmationRule, foldSettings: foldSettings)
        let earlier = isDry ? nil : try RebuildJob.unfinished(now: now, settings: settings, on: connection)
        var job =
            try earlier
            ?? (isDry
                ? RebuildJob(id: 0, stage: 0, cursor: [], totals: RebuildTotals())
                : RebuildJob.start(now: now, settings: settings, on: connection))
        while job.stage < RecordRebuild.stages {
            progress(
                Progress(
                    fraction: Double(job.stage) / Double(RecordRebuild.stages), totals: job.totals,
                    isResumed: earlier != nil))
            let differences = try page(&job, purchases, on: connection)
            differences.forEach(found)
        }
        if !isDry { try job.save(finished: try connection.serverTime(), on: connection) }
        return job.totals
    }

    /// One page, and where the next one begins, in one transaction.
    private func page(
        _ job: inout RebuildJob, _ purchases: PurchaseRebuild, on connection: PostgresConnection
    ) throws -> [Difference] {
        let lane = job.stage < Lane.count ? Lane(number: Int16(job.stage)) : nil
        var next = job
        let differences = try transaction(holding: lane, on: connection) { now in
            let differences: [Difference]
            if let lane {
                differences = try page(of: lane, &next, purchases, now, on: connection)
            } else {
                differences = try customerPage(&next, on: connection)
            }
            next.totals.differences += Int64(differences.count)
            if !isDry { try next.save(on: connection) }
            return differences
        }
        job = next
        return differences
    }

    private func page(
        of lane: Lane, _ job: inout RebuildJob, _ purchases: PurchaseRebuild, _ now: Int64,
        on connection: PostgresConnection
    ) throws -> [Difference] {
        let keys = try purchases.keys(
            of: lane, after: PurchaseKey(cursor: job.cursor), atMost: pageSize, on: connection)
        let page = try purchases.check(keys, writes: !isDry, now: now, on: connection)
        job.totals.purchases += Int64(page.purchases)
        job.advance(to: keys.count < pageSize ? nil : keys.last?.cursor)
        return page.differences
    }

    private func customerPage(_ job: inout RebuildJob, on connection: PostgresConnection) throws -> [Difference] {
        let customers = CustomerRebuild()
        let cursor = job.cursor.first
        let page: CustomerRebuild.Page
        if job.stage == RecordRebuild.logStage {
            page = try customers.checkLog(
                after: cursor.flatMap { Int64($0) } ?? 0, atMost: pageSize, writes: !isDry, on: connection)
        } else {
            page = try customers.check(
                after: cursor ?? "", atMost: pageSize, writes: !isDry, on: connection)
        }
        job.totals.customers += Int64(page.customers)
        job.advance(to: page.next.map { [$0] })
        return page.differences
    }

    private func transaction<Result>(
        holding lane: Lane?, on connection: PostgresConnection, _ body: (Int64) throws -> Result
    ) throws -> Result {
        let snapshot = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return try connection.transaction(opening: isDry ? [snapshot] : []) { _ in
            if isDry { return try body(try connection.serverTime()) }
            return try body(try Fence.hold([lane].compactMap { $0 }, on: connection))
        }
    }
}

extension RebuildJob {
    /// To a place in the same stage, or to the next stage.
    fileprivate mutating func advance(to cursor: [String]?) {
        if cursor == nil { stage += 1 }
        self.cursor = cursor ?? []
    }
}

extension PurchaseKey {
    fileprivate var cursor: [String] { [originalTransactionID, app, environment.rawValue] }

    fileprivate init?(cursor: [String]) {
        guard cursor.count == 3, let environment = StoreEnvironment(rawValue: cursor[2]) else { return nil }
        self.init(app: cursor[1], environment: environment, originalTransactionID: cursor[0])
    }
}
