import Base
import Database
import Postgres
import Subscriptions

/// Judges accounts again where something elsewhere changed, and gives records of before there were claims theirs, some at a time,
/// beside the work of a worker.
struct AccountUpkeep {
    private let settlement: OwnerSettlement
    private var adoption = Pace(every: .seconds(60))
    /// How many are judged at once: one by one after a failure.
    private var limit = AccountUpkeep.dueLimit

    /// Whether the next one could not be judged alone.
    private var isToBePostponed = false

    /// Records without a transaction among their facts, which nothing can be said of; others behind them come nevertheless.
    private var unadopted = 0

    /// How long accounts are judged at once.
    private static let judgeTime = Duration.milliseconds(500)
    private static let dueLimit = 64
    private static let legacyLimit = 100

    init(foldSettings: FoldSettings) {
        settlement = OwnerSettlement(salt: OwnerSalt(), foldSettings: foldSettings)
    }

    /// - Returns: whether consumers are told of something.
    mutating func keep(on connection: PostgresConnection) throws -> Bool {
        let begun = ContinuousClock.now
        var told = false
        var failure: (any Error)?
        do {
            if isToBePostponed {
                isToBePostponed = false
                try AccountDue.postpone(on: connection)
            }
            try judgeDue(until: begun + AccountUpkeep.judgeTime, on: connection, &told)
        } catch {
            // One that cannot be judged must not keep the others waiting, also where the session went with it.
            isToBePostponed = limit == 1
            limit = 1
            if error.isConnectionLost { throw error }
            failure = error
        }
        if adoption.isDue(), try adopt(on: connection) < AccountUpkeep.legacyLimit {
            adoption.ran(since: begun)
        }
        if let failure { throw failure }
        return told
    }

    private mutating func judgeDue(
        until end: ContinuousClock.Instant, on connection: PostgresConnection, _ told: inout Bool
    ) throws {
        while try judgeDue(on: connection, &told) == limit, ContinuousClock.now < end {}
        limit = AccountUpkeep.dueLimit
    }

    private func judgeDue(on connection: PostgresConnection, _ told: inout Bool) throws -> Int {
        // Most looks find nothing, and need no transaction.
        guard try AccountDue.isAny(on: connection) else { return 0 }
        let (count, isTold) = try connection.transaction {
            let now = try Fence.hold([], on: connection)
            let (count, accounts) = try AccountDue.take(atMost: limit, on: connection)
            let outcome = try settlement.settle([:], of: accounts, by: .worker, now: now, on: connection)
            return (count, !outcome.transfers.isEmpty || outcome.others > 0)
        }
        told = told || isTold
        return count
    }

    /// The owners of records of before stay as they are.
    private mutating func adopt(on connection: PostgresConnection) throws -> Int {
        let keys = try AccountTable.withoutClaims(
            atMost: AccountUpkeep.legacyLimit, skipping: unadopted, on: connection)
        guard !keys.isEmpty else {
            unadopted = 0
            return 0
        }
        let outcome = try connection.transaction {
            // A worker that applies news of one of these meanwhile would judge without the owner that is kept.
            let now = try Fence.hold(Set(keys.map(\.lane)), on: connection)
            return try settlement.settle([:], and: keys, by: .worker, now: now, on: connection)
        }
        unadopted += keys.count { outcome.owners[$0] == nil }
        return keys.count
    }
}
