import Base
import Lifecycle
import Postgres
import Records
import Subscriptions
import Telemetry

/// What is written because somebody read: snapshots that were made, and that customers were seen. By a thread of its own,
/// behind the answers, which it neither delays nor fails; what cannot be written is written after a later reading.
final class SubscriberNotes: Sendable {
    private struct State {
        var snapshots: [PurchaseKey: SnapshotStore.New] = [:]
        /// Original app user ids.
        var seen: Set<String> = []
        var isEnding = false
        var isOver = false

        var isEmpty: Bool { snapshots.isEmpty && seen.isEmpty }
    }

    /// How exactly it is known when a customer was seen, in ms.
    private static let hour: Int64 = 3_600_000
    /// Of each kind in one statement, and waiting; more is dropped.
    private static let batchLimit = 500
    private static let waitingLimit = 10_000
    private static let pause = Duration.seconds(1)

    private let state = Monitor(State())
    private let failures = RepeatedFailure()
    private let session: PostgresSession
    private let clock: any WallClock
    private let logger: Logger

    init(session: PostgresSession, clock: any WallClock, logger: Logger) {
        (self.session, self.clock, self.logger) = (session, clock, logger)
    }

    /// - Parameter isSeen: whether an app of theirs asked.
    func add(_ found: SubscriberReader.Found, isSeen: Bool, now: Int64) {
        let isStale = isSeen && found.noted ?? .min < now - SubscriberNotes.hour
        guard isStale || !found.made.isEmpty else { return }
        state.change { state in
            if state.snapshots.count < SubscriberNotes.waitingLimit {
                for snapshot in found.made { state.snapshots[snapshot.key] = snapshot }
            }
            if isStale, state.seen.count < SubscriberNotes.waitingLimit {
                state.seen.insert(found.originalAppUserID)
            }
        }
    }

    func start() {
        _ = ServiceThread("reader-notes") { [self] in
            while let (snapshots, seen) = next() { write(snapshots, seen) }
            state.change { $0.isOver = true }
        }
    }

    func end(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        let isDone = state.wait(timeout: max(.zero, deadline - .now)) { $0.isOver ? true : nil } ?? false
        isDone ? session.close() : session.cut()
    }

    // MARK: - The thread

    private func next() -> (snapshots: [SnapshotStore.New], seen: Set<String>)? {
        let next = state.wait { state -> (snapshots: [SnapshotStore.New], seen: Set<String>)?? in
            guard !state.isEmpty else { return state.isEnding ? .some(nil) : nil }
            let snapshots = state.snapshots.values.prefix(SubscriberNotes.batchLimit).map { $0 }
            let seen = Set(state.seen.prefix(SubscriberNotes.batchLimit))
            for snapshot in snapshots { state.snapshots[snapshot.key] = nil }
            state.seen.subtract(seen)
            return (snapshots, seen)
        }
        return next ?? nil
    }

    private func write(_ snapshots: [SnapshotStore.New], _ seen: Set<String>) {
        do {
            try session.withConnection { connection in
                try SnapshotStore.write(snapshots, on: connection)
                let now = clock.now()
                try CustomerStore.markSeen(
                    seen, staleBefore: now - SubscriberNotes.hour, now: now, on: connection)
            }
        } catch {
            failures.note("what reading customers left to note was not noted", error, count: 1, logger)
            _ = state.wait(timeout: SubscriberNotes.pause) { $0.isEnding ? true : nil }
        }
    }
}
