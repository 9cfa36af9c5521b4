import AppStoreAPI
import Base
import Database
import Postgres

/// Fetches what a replay is about from Apple, a page at a time. Each page commits with the place where the next one is,
/// so that the process that goes on begins there.
package struct HistoryReplayWork: JobRunner {
    /// How histories are read, by the app; nil for one that cannot be asked.
    package typealias Readers = @Sendable (_ app: String) -> HistoryReader?

    /// Of one page.
    private static let pageTime = Duration.seconds(25)
    /// What Apple's side may be away for.
    private static let patience = Duration.seconds(600)
    private static let troublePause = Duration.seconds(1)

    private let readers: Readers
    private let cancellation: Cancellation
    private let clock: any WallClock
    private var intake: HistoryAppender
    /// As the last step left it.
    private var job: Job?
    /// When the rate lets it go on.
    private var next = ContinuousClock.now
    private var troubleSince: ContinuousClock.Instant?

    /// - Parameter cancellation: ends what waits for Apple, when the process ends.
    package static func kind(
        _ readers: @escaping Readers, cancellation: Cancellation = Cancellation(), clock: any WallClock = SystemClock()
    ) -> JobKind {
        kinds(readers, cancellation: cancellation, clock: clock)[0]
    }

    /// The same as a command asks for it, and as operators do.
    package static func kinds(
        _ readers: @escaping Readers, cancellation: Cancellation = Cancellation(), clock: any WallClock = SystemClock()
    ) -> [JobKind] {
        let names = [Job.historyKind] + ChangeKind.allCases.filter(\.readsHistory).map(\.rawValue)
        return names.map { name in JobKind(name) { HistoryReplayWork(readers, cancellation, clock) } }
    }

    private init(_ readers: @escaping Readers, _ cancellation: Cancellation, _ clock: any WallClock) {
        self.readers = readers
        self.cancellation = cancellation
        self.clock = clock
        intake = HistoryAppender(clock: clock)
    }

    package mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep {
        let wait = next - ContinuousClock.now
        guard let known = job, wait <= .zero else { return try keep(lease, pause: max(.zero, wait), on: connection) }
        guard let replay = HistoryReplay(json: known.parameters),
            ChangeKind(rawValue: known.kind) == nil || replay.question.types.count <= HistoryReplay.mostTypes
        else {
            return try fail(lease, "its parameters cannot be read", on: connection)
        }
        if let objection = try objection(to: replay, known, on: connection) {
            return try fail(lease, objection, on: connection)
        }
        let place = replay.question.place
        guard let reader = readers(place.app), reader.client.app.environments.contains(place.environment) else {
            return try fail(
                lease, "the app \(place.app) has no server_api in the configuration, or not this environment",
                on: connection)
        }
        guard let walk = known.cursor.isEmpty ? replay.walk : HistoryScan(replay.question, words: known.cursor) else {
            return try fail(lease, "its cursor cannot be read", on: connection)
        }
        let read: (page: HistoryReader.Page, next: HistoryScan)
        do throws(ServerAPIError) {
            let options = CallOptions(within: HistoryReplayWork.pageTime, cancellation: cancellation)
            read = try walk.page(of: reader, from: replay.source, now: clock.now(), options)
        } catch {
            return try endure(error, lease, on: connection)
        }
        troubleSince = nil
        return try take(read.page, read.next, replay, lease, on: connection)
    }

    /// Its clock and ours may differ by so much; ms.
    private static let ahead: Int64 = 600_000

    /// What the console did not check: another program may have written the job as its role.
    private func objection(to replay: HistoryReplay, _ job: Job, on connection: PostgresConnection) throws -> String? {
        guard replay.until <= clock.now() + HistoryReplayWork.ahead else { return "its period is not over" }
        guard job.cursor.isEmpty else { return nil }
        if replay.until <= HistoryScan.oldest(in: replay.question.place.environment, now: clock.now()) {
            return "Apple does not keep its history of that time any more"
        }
        guard let outage = replay.outage else { return nil }
        let outages = try IngestUptime.outages(now: try connection.serverTime(), on: connection)
        let isThere = outages.contains { range in
            range.lowerBound / 60_000 == outage
                && HistoryReplay.of(
                    range, number: outage, replay.question.place, sendsEvents: replay.sendsEvents
                ).from == replay.from && replay.until <= range.upperBound + HistoryReplayWork.ahead
        }
        return isThere ? nil : "no outage of the last 45 days has this number and time"
    }

    private func stepped<Result>(
        _ lease: JobLease, on connection: PostgresConnection, refused: Result,
        _ body: (inout Job, _ now: Int64) throws -> Result
    ) throws -> (result: Result, job: Job) {
        try AskedSteps.step(
            lease, on: connection, refused: refused, target: { HistoryReplay(json: $0)?.target }, body)
    }

    private mutating func take(
        _ page: HistoryReader.Page, _ walk: HistoryScan, _ replay: HistoryReplay, _ lease: JobLease,
        on connection: PostgresConnection
    ) throws -> JobStep {
        if let rate = job?.rate { next = ContinuousClock.now + .seconds(1.0 / Double(max(1, rate))) }
        var intake = intake
        do {
            job = try stepped(lease, on: connection, refused: ()) { job, _ in
                let new =
                    try replay.isDry
                    ? unknown(page.notifications, on: connection)
                    : intake.insert(page.notifications, on: connection).count
                job.counts.matched += Int64(page.notifications.count)
                job.counts.queued += Int64(new)
                job.counts.skipped += Int64(page.refused.values.reduce(0, +))
                job.cursor = walk.words
                job.fraction = walk.fraction
                if walk.isDone { job.state = .done }
            }.job
            self.intake = intake
        } catch {
            self.intake.forget()
            throw error
        }
        return try step()
    }

    /// How many of these are not stored.
    private func unknown(_ notifications: [NewNotification], on connection: PostgresConnection) throws -> Int {
        let identities = notifications.map(\.identity)
        return try identities.count - KnownNotifications.among(identities, on: connection).count
    }

    /// What passes by itself is waited for, as long as an operator may want to see it pass.
    private mutating func endure(
        _ error: ServerAPIError, _ lease: JobLease, on connection: PostgresConnection
    ) throws -> JobStep {
        guard error.isRetryable else { return try fail(lease, "\(error)", on: connection) }
        let since = troubleSince ?? ContinuousClock.now
        troubleSince = since
        guard ContinuousClock.now - since < HistoryReplayWork.patience else {
            return try fail(
                lease, "Apple's side failed for \(HistoryReplayWork.patience.text) (\(error)): ask again later",
                on: connection)
        }
        return try keep(lease, pause: HistoryReplayWork.troublePause, isWaiting: true, on: connection)
    }

    private mutating func fail(
        _ lease: JobLease, _ reason: String, on connection: PostgresConnection
    ) throws -> JobStep {
        job = try stepped(lease, on: connection, refused: ()) { job, _ in
            job.state = .failed
            job.error = reason
        }.job
        return try step()
    }

    /// Nothing but that the lease goes on.
    private mutating func keep(
        _ lease: JobLease, pause: Duration, isWaiting: Bool = false, on connection: PostgresConnection
    ) throws -> JobStep {
        job = try stepped(lease, on: connection, refused: ()) { _, _ in }.job
        return try step(pause: pause, isWaiting: isWaiting)
    }

    private func step(pause: Duration = .zero, isWaiting: Bool = false) throws -> JobStep {
        guard let job else { throw PostgresError(.decoding, "the job was deleted while it ran") }
        return JobStep(job, pause: pause, isWaiting: isWaiting)
    }
}
