import Base
import Daemon
import Database
import Postgres

/// Puts what a replay is about in line for its endpoint, a little at a time.
///
/// What happens now goes first: never more than a few deliveries of the endpoint are due at once by it (`ReplayRate`),
/// so that a live event waits behind those and not behind a million. Each step commits what it put in line with how far
/// it came, so that no end of a process loses or doubles anything (`JobLease`).
package struct WebhookReplayWork: JobRunner {
    package static let kind = JobKind(Job.webhooksKind) { WebhookReplayWork() }
    /// The same as a command asks for it, and as operators do.
    package static let kinds = [kind, JobKind(ChangeKind.replayWebhooks.rawValue) { WebhookReplayWork() }]

    private static let pause = Duration.milliseconds(100)
    /// Where lanes are locked for it, which their owners wait for.
    private static let mostInOrder = 64
    /// How long what was begun before the job is waited for, in ms.
    private static let patience: Int64 = 30_000

    /// Of a cluster: lanes in which every transaction is over that may not know of the endpoint.
    private var passed: Set<Lane> = []
    private var walk: CandidateScan?
    private var pace = ReplayRate()
    /// When the rate lets it go on.
    private var next = ContinuousClock.now

    package init() {}

    package mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
        let wait = next - ContinuousClock.now
        guard wait <= .zero else {
            // Nothing but that the lease goes on.
            return JobStep(try lease.step(on: connection) { _, _ in }.job, pause: wait)
        }
        var work = self
        let (advance, job) = try AskedSteps.step(
            lease, on: connection, refused: Advance(), target: { WebhookReplay(json: $0)?.endpoint }
        ) { job, now in try work.advance(&job, now, on: connection) }
        self = work
        if advance.queued > 0 { FailPoint.replayAfterCommit.pass() }
        if let rate = job.rate, advance.queued > 0 {
            next = ContinuousClock.now + .seconds(Double(advance.queued) / Double(max(1, rate)))
        }
        return JobStep(job, pause: advance.pause, isWaiting: advance.isWaiting)
    }

    private struct Advance {
        var queued = 0
        var pause = Duration.zero
        /// For the consumer, or for who sends to it.
        var isWaiting = false
    }

    private mutating func advance(
        _ job: inout Job, _ now: Int64, on connection: PostgresConnection
    ) throws -> Advance {
        guard let replay = WebhookReplay(json: job.parameters) else {
            return fail(&job, "its parameters cannot be read")
        }
        guard replay.since < now else { return fail(&job, "its period has not begun") }
        guard let endpoint = try EndpointTable.list(id: replay.endpoint, on: connection).first else {
            return fail(&job, "endpoint \(replay.endpoint) was removed")
        }
        if let objection = replay.objection(to: endpoint) { return fail(&job, objection) }
        let isFirst = job.cursor.isEmpty
        if isFirst {
            guard try isSettled(job, now, on: connection) else { return Advance(pause: WebhookReplayWork.pause) }
            job.cursor = ScanCursor.start(of: replay.since).words + [String(min(replay.until ?? now, now))]
        }
        guard let start = ScanCursor(words: job.cursor.prefix(3)), let until = job.cursor.last.flatMap({ Int64($0) })
        else { return fail(&job, "its cursor cannot be read") }
        let due = try DeliveryReplay.due(endpoint.id, now: now, atMost: pace.limit, on: connection)
        guard let free = pace.room(due: due, at: .now) else {
            // With a cursor it would not be compared with what was shown any more, however long it waits.
            if isFirst { job.cursor = [] }
            return Advance(pause: WebhookReplayWork.pause, isWaiting: true)
        }
        let isOrdered = endpoint.ordering == .purchase
        let most = isOrdered ? min(free, WebhookReplayWork.mostInOrder) : free
        var walk = self.walk ?? CandidateScan(replay)
        let page = try walk.page(of: endpoint, from: start, until: until, on: connection)
        self.walk = walk
        let batch = ReplayBatch(
            of: page, atMost: job.rate.map { min(most, max(1, $0 / 10)) } ?? most, isTogether: isOrdered)
        guard let locked = try DeliveryReplay.lock(endpoint, lanes: batch.lanes, on: connection) else {
            // What became of it is seen by the next step.
            if isFirst { job.cursor = [] }
            return Advance()
        }
        if let objection = replay.objection(to: locked) { return fail(&job, objection) }
        let put = try DeliveryReplay.queue(
            known: batch.known, in: walk.reopened, new: batch.new, to: locked,
            job: ChangeKind(rawValue: job.kind) == nil ? nil : job.id, now: now, on: connection)
        pace.queued(put.queued)
        job.counts += batch.counts(put)
        job.cursor = batch.end.words + [String(until)]
        job.fraction = batch.isLast ? 1 : fraction(of: replay, at: batch.end, until)
        if batch.isLast { job.state = .done }
        if put.queued > 0 { FailPoint.replayBeforeCommit.pass() }
        return Advance(queued: put.queued)
    }

    private func fraction(of replay: WebhookReplay, at position: ScanCursor, _ until: Int64) -> Double {
        guard until > replay.since else { return 0 }
        return min(1, max(0, Double(position.time - replay.since) / Double(until - replay.since)))
    }

    private static let settled = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::int8 > $1 AS is_settled"

    /// Whether every transaction that ran when the job was made is over: one that makes an event may have looked at the
    /// endpoints before this one was among them, and shows its event only now. Workers' transactions are short; those of
    /// others are not waited for any longer.
    private mutating func isSettled(_ job: Job, _ now: Int64, on connection: PostgresConnection) throws -> Bool {
        if now - job.created > WebhookReplayWork.patience { return true }
        if connection.isCluster { return try arePassed(on: connection) }
        return try connection.query(WebhookReplayWork.settled, [.int8(job.madeIn)]).one().bool("is_settled")
    }

    private static let free = """
        SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[]) ORDER BY lane FOR NO KEY UPDATE SKIP LOCKED
        """

    /// The servers of a cluster have transactions of their own, of which the coordinator tells nothing. But whatever makes an event
    /// locks some lanes until it has ended on every server: each lane that is free once is passed.
    private mutating func arePassed(on connection: PostgresConnection) throws -> Bool {
        for part in connection.laneGroups.split(Lane.all.filter { !passed.contains($0) }) {
            for row in try connection.query(WebhookReplayWork.free, [.int2s(part.elements.map(\.number))]) {
                passed.insert(try row.value("lane"))
            }
        }
        return passed.count == Lane.count
    }

    private func fail(_ job: inout Job, _ reason: String) -> Advance {
        job.state = .failed
        job.error = reason
        return Advance()
    }
}
