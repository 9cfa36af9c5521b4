import Base
import Daemon
import Database
import HTTP
import Postgres

/// Commits notifications in natural batches: whatever waits when the last commit is done goes into the next one.
///
/// A request is answered 200 only after its notification is committed; when that did not happen, or when that is unknown,
/// it is answered 503 and Apple repeats the notification. A batch is committed by groups of lanes, so that a server that is
/// away costs its own notifications only; where all lanes are one group, a batch is one commit. The listener answers 503 by
/// itself after the commit timeout, and `SessionWatch` cuts the connection whose statement took as long.
package final class NotificationCommitter: Service {
    package let name = "committer"

    private struct Waiting: Sendable {
        let notification: NewNotification
        let responder: HTTPResponder
        let since: ContinuousClock.Instant
        let span: IngestSpan?
    }

    private struct State {
        var waiting: [Waiting] = []
        var isDraining = false
    }

    /// Notifications in one statement; more gain little and make each wait longer.
    private static let batchLimit = 64
    private static let lookInterval = Duration.seconds(5)
    /// Twice a minute, so that no minute is left out.
    private static let noteInterval = Duration.seconds(30)
    /// Requests that wait at most; beyond, 503.
    private static let waitingLimit = 4096

    private let state = Monitor(State())
    private let finished = Monitor(false)
    private let session: @Sendable () -> PostgresSession
    private let sequence: @Sendable () -> SequenceGenerator
    private let grouping: LaneGrouping
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics
    private let isReachable = Monitor(false)
    private let failures = RepeatedFailure()
    private let timeout: Duration

    /// - Parameters:
    ///   - timeout: how long a notification may wait to be stored.
    ///   - session: makes the connection that the committing thread uses.
    ///   - sequence: makes a generator with a new node.
    ///   - grouping: which lanes lie together.
    package init(
        timeout: Duration, session: @escaping @Sendable () -> PostgresSession,
        sequence: @escaping @Sendable () -> SequenceGenerator, grouping: LaneGrouping = LaneGrouping(),
        clock: any WallClock, logger: Logger, metrics: Metrics
    ) {
        self.grouping = grouping
        self.timeout = timeout
        self.session = session
        self.sequence = sequence
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
    }

    /// Whether the database answered last time.
    package var isReady: Bool { isReachable.read { $0 } }

    package func start() {
        let session = session()
        look(session)
        _ = ServiceThread("committer") { [self] in
            run(session)
            finished.change { $0 = true }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isDraining = true }
        let left = max(.zero, deadline - ContinuousClock.now)
        _ = finished.wait(timeout: left) { $0 ? true : nil }
    }

    /// Answers when the notification is committed, or at once when that cannot be.
    ///
    /// - Parameter span: ended with the answer; nil: the notification's trace is not recorded.
    package func commit(_ notification: NewNotification, _ responder: HTTPResponder, span: IngestSpan? = nil) {
        let accepted = state.change { state in
            guard !state.isDraining, state.waiting.count < NotificationCommitter.waitingLimit else { return false }
            state.waiting.append(
                Waiting(notification: notification, responder: responder, since: ContinuousClock.now, span: span))
            return true
        }
        if !accepted {
            responder.respond(IngestResponse.unavailable("overloaded"))
            span?.end("503")
        }
    }

    // MARK: - The committing thread

    private func run(_ session: PostgresSession) {
        var writer = NotificationWriter(session: session, sequence: sequence, clock: clock, logger: logger)
        var rests = GroupRests(asksLittle: true)
        var nextNote = ContinuousClock.now
        while let batch = nextBatch() {
            if ContinuousClock.now >= nextNote {
                nextNote = ContinuousClock.now + NotificationCommitter.noteInterval
                note(session)
            }
            if batch.isEmpty {
                look(session)
            } else {
                commit(batch, session, &writer, &rests)
            }
        }
    }

    /// Connects ahead of the first notification, and knows while nothing comes whether the database is there.
    private func look(_ session: PostgresSession) {
        do {
            try session.withConnection { connection in
                try connection.query("SELECT 1")
                _ = try grouping.groups(on: connection)
            }
            isReachable.change { $0 = true }
        } catch {
            isReachable.change { $0 = false }
            // The session says itself that the database is away.
            guard error.fault != .away else { return }
            failures.warning("ingest database check failed", error, count: 1, logger)
        }
    }

    /// Writes down that ingest is up; without it, silence would be taken for an outage.
    private func note(_ session: PostgresSession) {
        do {
            try session.withConnection { connection in try IngestUptime.note(on: connection) }
        } catch {
            // The database being away is what this is to tell, and what waits is answered with it.
            guard error.fault != .away else { return }
            failures.warning("ingest uptime recording failed", error, count: 1, logger)
        }
    }

    /// Waits for something, or an empty batch after a while; nil when draining and nothing is left.
    private func nextBatch() -> [Waiting]? {
        state.wait(timeout: NotificationCommitter.lookInterval) { state in
            if state.waiting.isEmpty {
                return state.isDraining ? .some(nil) : nil
            }
            let batch = Array(state.waiting.prefix(NotificationCommitter.batchLimit))
            state.waiting.removeFirst(batch.count)
            return .some(batch)
        } ?? []
    }

    private func commit(
        _ all: [Waiting], _ session: PostgresSession, _ writer: inout NotificationWriter, _ rests: inout GroupRests
    ) {
        let batch = inTime(all)
        guard !batch.isEmpty else { return }
        let groups: LaneGroups
        do {
            groups = try session.withConnection { connection in try grouping.groups(on: connection) }
        } catch {
            return fail(batch, error)
        }
        for part in rests.ordered(groups.split(batch, by: \.notification.lane)) {
            let begun = ContinuousClock.now
            guard !rests.isResting(part.group, at: begun) else {
                refuse(part.elements, "not stored")
                continue
            }
            // The groups before may have taken long.
            var elements = inTime(part.elements)
            guard !elements.isEmpty else { continue }
            do {
                try store(&elements, of: (part.group, groups), &writer)
                rests.succeeded(part.group)
            } catch {
                let isOfData = (error as? PostgresError)?.isOfData ?? false
                let isOfGroup = !groups.isOne && !error.isConnectionLost && !isOfData
                if isOfGroup { rests.failed(part.group, after: error, of: groups, since: begun) }
                fail(elements, error, isOfGroup: isOfGroup && !(0..<groups.count).allSatisfy(rests.isFailing))
            }
        }
    }

    /// Those that may still be stored. The listener has answered those that waited too long: Apple repeats them.
    private func inTime(_ all: [Waiting]) -> [Waiting] {
        let oldest = ContinuousClock.now - timeout
        let late = all.filter { $0.since < oldest }
        guard !late.isEmpty else { return all }
        refuse(late, "not stored in time")
        return all.filter { $0.since >= oldest }
    }

    /// - Parameters:
    ///   - batch: those of them that were answered are gone afterwards.
    ///   - place: the group of all their lanes.
    /// - Throws: where those that are left are not stored, for a reason that is not of one of them alone.
    private func store(
        _ batch: inout [Waiting], of place: NotificationWriter.Place, _ writer: inout NotificationWriter
    ) throws {
        // Copies of one notification at the same moment are stored once; the others learn that they are duplicates.
        var copies: [NotificationIdentity: [Waiting]] = [:]
        for waiting in batch {
            copies[waiting.notification.identity, default: []].append(waiting)
        }
        do {
            try store(copies, of: place, &writer)
            batch = []
        } catch let error as PostgresError where error.isOfData && copies.count > 1 {
            // One of them cannot be stored: it must not take the others with it.
            while let (identity, alike) = copies.popFirst() {
                let inTime = inTime(alike)
                guard !inTime.isEmpty else { continue }
                do {
                    try store([identity: inTime], of: place, &writer)
                } catch  where place.groups.isOne || (error as? PostgresError)?.isOfData ?? false {
                    fail(inTime, error)
                } catch {
                    batch = inTime + copies.values.joined()
                    throw error
                }
            }
            batch = []
        }
    }

    /// In one transaction, and answers them.
    private func store(
        _ copies: [NotificationIdentity: [Waiting]], of place: NotificationWriter.Place,
        _ writer: inout NotificationWriter
    ) throws {
        let unique = copies.values.compactMap { $0.first?.notification }
        FailPoint.ingestBeforeInsert.pass()
        let outcomes = try writer.store(unique, of: place)
        FailPoint.ingestAfterInsert.pass()
        isReachable.change { $0 = true }
        metrics.observe(.ingestBatchSize, Double(unique.count))
        for (notification, outcome) in zip(unique, outcomes) {
            answer(copies[notification.identity] ?? [], outcome)
        }
    }

    /// - Parameter isOfGroup: whether notifications in other lanes may be stored nevertheless.
    private func fail(_ batch: [Waiting], _ error: any Error, isOfGroup: Bool = false) {
        // Where each notification fails for a missing partition or a damaged index, none can be stored.
        let isOfOne = (error as? PostgresError)?.isOfOneRow ?? false
        isReachable.change { $0 = isOfOne || isOfGroup && $0 }
        failures.warning("notifications not stored", error, count: batch.count, logger)
        refuse(batch, "not stored")
    }

    private func refuse(_ batch: [Waiting], _ reason: String) {
        for waiting in batch {
            waiting.responder.respond(IngestResponse.unavailable(reason))
            waiting.span?.end("503")
        }
        metrics.count(.ingestAnswers, ["answer": "503"], by: Double(batch.count))
    }

    private func answer(_ group: [Waiting], _ outcome: NotificationInserter.InsertResult) {
        for (index, waiting) in group.enumerated() {
            let isNew = index == 0 && outcome == .accepted
            FailPoint.ingestBeforeAnswer.pass()
            waiting.responder.respond(isNew ? IngestResponse.accepted : IngestResponse.duplicate)
            FailPoint.ingestAfterAnswer.pass()
            let time = ContinuousClock.now - waiting.since
            // The listener was faster.
            let answer = time > timeout ? "503" : isNew ? "accepted" : "duplicate"
            metrics.count(.ingestAnswers, ["answer": answer])
            metrics.observe(.ingestCommitSeconds, time)
            waiting.span?.end(answer)
        }
    }
}
