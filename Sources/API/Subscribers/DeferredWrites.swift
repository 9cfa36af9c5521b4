import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What is written because a customer was read: snapshots that were made, that customers were seen, and by which id. By a
/// thread of its own, behind the answers, which it neither delays nor fails; what cannot be written is written after a later
/// reading.
final class DeferredWrites: Sendable {
    private struct State {
        var snapshots: [PurchaseKey: SnapshotTable.New] = [:]
        /// Original app user ids.
        var seen: Set<String> = []
        /// The id that was used last, by the original app user id: a busy customer is one row of a statement.
        var used: [String: String] = [:]

        var isEmpty: Bool { snapshots.isEmpty && seen.isEmpty && used.isEmpty }
    }

    /// What is written at once.
    private struct Batch {
        let snapshots: [SnapshotTable.New]
        let seen: Set<String>
        let used: Set<String>
    }

    /// How exactly it is known when a customer was seen, in ms.
    private static let hour: Int64 = 3_600_000
    /// Of each kind in one statement, and waiting; more is dropped.
    private static let batchLimit = 500
    private static let waitingLimit = 10_000
    private static let pause = Duration.seconds(1)

    private let state = Monitor(State())
    private let loop = Loop("reader-notes")
    private let failures = RepeatedFailure()
    private let session: PostgresSession
    private let clock: any WallClock
    private let logger: Logger

    init(session: PostgresSession, clock: any WallClock, logger: Logger) {
        (self.session, self.clock, self.logger) = (session, clock, logger)
    }

    /// - Parameters:
    ///   - id: the id that was asked for.
    ///   - isSeen: whether an app of theirs asked.
    func add(_ found: SubscriberQuery.Found, askedFor id: String, isSeen: Bool, now: Int64) {
        let isStale = isSeen && found.noted ?? .min < now - DeferredWrites.hour
        let root = found.originalAppUserID
        // Of two ids the one that was asked for later counts, also where the other one is not written yet.
        let isUsed =
            SeenIDs.isDue(seen: found.seen, others: found.othersSeen, now: now)
            || (found.appUserIDs.count > 1 && state.read { $0.used[root] != nil })
        guard isStale || isUsed || !found.made.isEmpty else { return }
        state.change { state in
            if state.snapshots.count < DeferredWrites.waitingLimit {
                for snapshot in found.made { state.snapshots[snapshot.key] = snapshot }
            }
            if isStale, state.seen.count < DeferredWrites.waitingLimit {
                state.seen.insert(root)
            }
            if isUsed, state.used.count < DeferredWrites.waitingLimit || state.used[root] != nil {
                state.used[root] = id
            }
        }
        loop.wake()
    }

    func start() {
        loop.start { [self] loop in
            loop.run {
                guard let batch = takeBatch() else { return .whenWoken }
                return write(batch) ? .again : .after(DeferredWrites.pause, atLeast: DeferredWrites.pause)
            }
            while let batch = takeBatch() { _ = write(batch) }
        }
    }

    func end(until deadline: ContinuousClock.Instant) {
        loop.drain(until: deadline) ? session.close() : session.cut()
    }

    // MARK: - The thread

    /// Nil where nothing waits.
    private func takeBatch() -> Batch? {
        state.change { state in
            guard !state.isEmpty else { return nil }
            let snapshots = state.snapshots.values.prefix(DeferredWrites.batchLimit).map { $0 }
            let seen = Set(state.seen.prefix(DeferredWrites.batchLimit))
            let used = state.used.prefix(DeferredWrites.batchLimit)
            for snapshot in snapshots { state.snapshots[snapshot.key] = nil }
            state.seen.subtract(seen)
            for root in used.map(\.key) { state.used[root] = nil }
            return Batch(snapshots: snapshots, seen: seen, used: Set(used.map(\.value)))
        }
    }

    /// False where the database did not take it.
    private func write(_ batch: Batch) -> Bool {
        do {
            try session.withConnection { connection in
                try SnapshotTable.write(batch.snapshots, on: connection)
                let now = clock.now()
                try CustomerTable.markSeen(
                    batch.seen, staleBefore: now - DeferredWrites.hour, now: now, on: connection)
                try SeenIDs.mark(batch.used, now: now, on: connection)
            }
            return true
        } catch {
            failures.warning("deferred writes failed", error, count: 1, logger)
            return false
        }
    }
}
