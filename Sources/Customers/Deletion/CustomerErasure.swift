import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Removes what is stored about customers who were deleted: from the log, then purchase by purchase, each in a transaction
/// of its own that also takes it from the list. So a process that is cut off loses nothing, the next one goes on, and two
/// at once do nothing twice.
package struct CustomerErasure: Sendable {
    private let purchases: PurchaseRedactor
    private let patience: Int64
    private let failures = FailedDeletions()

    /// For how long a request may have been on its way that began before its event was rewritten: longer than consumers
    /// may take, and than a worker that lost its lanes can still write.
    package static let patience = Duration.seconds(900)

    /// - Parameters:
    ///   - foldSettings: what the configuration adds to facts.
    ///   - patience: until what was on its way is looked at once more.
    package init(foldSettings: FoldSettings, patience: Duration = CustomerErasure.patience) {
        purchases = PurchaseRedactor(foldSettings: foldSettings)
        self.patience = patience.milliseconds
    }

    package enum Step: Sendable, Equatable {
        case more
        /// What was on its way is looked at once more at this instant, in ms.
        case settles(Int64)
        case done
    }

    /// Goes on with any deletion that has something to do; false where none has. A deletion that fails holds up no other one:
    /// its next attempt has to wait.
    package func step(on connection: PostgresConnection) throws -> Bool {
        let now = try connection.serverTime()
        let waiting = failures.waiting(at: .now)
        guard let deletion = try DeletionTable.due(at: now, passingOver: waiting, on: connection) else { return false }
        do {
            _ = try step(deletion, on: connection)
        } catch {
            // A row that cannot be read is no error of the database's.
            if !error.isConnectionLost { failures.add(deletion.id, at: .now) }
            throw error
        }
        failures.remove(deletion.id)
        return true
    }

    /// One transaction of this deletion.
    package func step(_ id: Int64, on connection: PostgresConnection) throws -> Step {
        guard let deletion = try DeletionTable.find(id, on: connection) else { return .done }
        return try step(deletion, on: connection)
    }

    private func step(_ deletion: DeletionTable.Entry, on connection: PostgresConnection) throws -> Step {
        do {
            return try take(deletion, on: connection)
        } catch let error as PostgresError where error.isVictim {
            // A deadlock leaves nothing behind; the same step is next.
            return .more
        }
    }

    private func take(_ deletion: DeletionTable.Entry, on connection: PostgresConnection) throws -> Step {
        switch deletion.state {
        case .done: return .done
        case .settling:
            let now = try connection.serverTime()
            if let settles = deletion.settles, settles > now { return .settles(settles) }
            try finish(deletion, on: connection)
            return .done
        case .sweeping: break
        }
        guard let names = deletion.names else { throw PostgresError(.decoding, "a deletion has no ids to redact") }
        if !deletion.isLogSwept {
            try ActionRedactor(deletion: deletion, names: names).run(on: connection)
        } else if let subject = try DeletionTable.next(of: deletion.id, on: connection) {
            try purchases.run(subject, of: deletion, names, on: connection)
        } else {
            let now = try connection.serverTime()
            try connection.transaction {
                _ = try connection.query("SELECT \(Durability.setting)")
                try DeletionTable.settle(deletion.id, patience: patience, now: now, on: connection)
            }
        }
        return .more
    }

    /// What consumers answered to what was on its way.
    private func finish(_ deletion: DeletionTable.Entry, on connection: PostgresConnection) throws {
        try connection.transaction {
            let now = try Fence.hold([], on: connection)
            let deliveries = try DeletionTable.finish(deletion.id, now: now, on: connection)
            let attempts =
                deletion.policy == .erase
                ? try EventRedactor.deleteAttempts(
                    try EventRedactor.gone(deliveries, on: connection), on: connection)
                : 0
            let emptied = try EventRedactor.emptyAttempts(deliveries, on: connection)
            try DeletionTable.count(["attempt": attempts + emptied], of: deletion.id, on: connection)
        }
    }
}
