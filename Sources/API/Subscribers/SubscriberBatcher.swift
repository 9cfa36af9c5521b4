import Base
import Daemon
import Database
import HTTP
import Postgres

/// Answers requests for customers, in natural batches: whatever waits when a reader is free goes into its next statement.
/// Where there is a standby, it answers public keys, and the primary answers what the standby cannot.
package final class SubscriberBatcher: Service, BatchedRoute {
    package let name = "subscriber-desk"

    struct Question: Sendable {
        let appUserID: String
        let request: APIRequest
        let responder: HTTPResponder
    }

    private enum Source {
        case primary, standby
    }

    private struct State {
        var waiting: [Source: [Question]] = [.primary: [], .standby: []]
        /// Set while the standby fails: when the next request tries it. All others go to the primary.
        var standbyRetry: ContinuousClock.Instant?
        var isEnding = false
        /// Readers of the standby, which may hand on what they have.
        var standbyReaders = 0

        func isFull(_ source: Source) -> Bool { (waiting[source]?.count ?? 0) >= SubscriberBatcher.waitingLimit }
    }

    /// Customers in one statement; more gain little and make each wait longer.
    private static let batchLimit = 64
    /// Requests that wait for either server at most; beyond, 503.
    private static let waitingLimit = 4096
    /// While one waits for the database, another writes documents.
    private static let readers = 2
    /// From a failure of the standby to the next request that it gets, and from that to the next one.
    private static let standbyPause = Duration.seconds(5)
    /// From a failure of a server of a cluster to the next question that it gets.
    private static let serverPause = Duration.seconds(3)
    /// How long a statement of the standby may stay unanswered.
    private static let standbyPatience = Duration.seconds(2)

    private let state = Monitor(State())
    private let left = Monitor(0)
    private let sessions: [PostgresSession]
    private let standbySessions: [PostgresSession]
    private let freshness: ReplicaFreshness?
    private let sampler: PrimarySampler?
    private let metrics: Metrics
    private let answers: SubscriberResponses
    private let notes: DeferredWrites
    private let answerTimeout: Duration
    private let clock: any WallClock
    private let logger: Logger

    /// - Parameters:
    ///   - sessions: makes one for each reader, and one for what is noted.
    ///   - replica: the standby, if there is one.
    ///   - answerTimeout: after how long the listener answers by itself.
    package init(
        answers: SubscriberResponses, sessions: () throws -> PostgresSession, replica: ReplicaReading? = nil,
        answerTimeout: Duration, clock: any WallClock, logger: Logger, metrics: Metrics = Metrics()
    ) throws {
        let freshness = replica.map { ReplicaFreshness(lag: $0.lag, writes: $0.writes) }
        self.freshness = freshness
        self.metrics = metrics
        sampler = try freshness.map { PrimarySampler($0, session: try sessions(), logger: logger) }
        standbySessions =
            try replica.map { replica in
                try (0..<SubscriberBatcher.readers).map { _ in
                    try replica.process.session(patience: SubscriberBatcher.standbyPatience)
                }
            } ?? []
        self.answerTimeout = answerTimeout
        self.sessions = try (0..<SubscriberBatcher.readers).map { _ in try sessions() }
        notes = DeferredWrites(session: try sessions(), clock: clock, logger: logger)
        self.answers = answers
        self.clock = clock
        self.logger = logger
    }

    package func start() {
        notes.start()
        sampler?.start()
        left.change { $0 = sessions.count + standbySessions.count }
        state.change { $0.standbyReaders = standbySessions.count }
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("reader-\(number)") { [self] in
                var servers = GroupRests(longest: SubscriberBatcher.serverPause)
                while let batch = nextBatch(.primary) { answer(batch, session, &servers) }
                left.change { $0 -= 1 }
            }
        }
        for (number, session) in standbySessions.enumerated() {
            _ = ServiceThread("standby-\(number)") { [self] in
                while let batch = nextBatch(.standby) { answer(batch, fromStandby: session) }
                state.change { $0.standbyReaders -= 1 }
                left.change { $0 -= 1 }
            }
        }
    }

    /// Something may have been committed about these customers: they are read from the primary until the standby has it.
    func wrote(_ ids: some Collection<String>) {
        guard let freshness, !ids.isEmpty else { return }
        freshness.wrote(ids, at: .now)
    }

    /// Whether writes have to be told.
    var hasStandby: Bool { freshness != nil }

    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        let isDone = left.wait(timeout: max(.zero, deadline - .now)) { $0 == 0 ? true : nil } ?? false
        for session in sessions + standbySessions { isDone ? session.close() : session.cut() }
        sampler?.drain(until: deadline)
        notes.end(until: deadline)
    }

    package func take(_ request: APIRequest, _ responder: HTTPResponder) {
        do {
            let id = try APICall.appUserID(request.parameters["app_user_id"] ?? "")
            let isTaken = state.change { state in
                var source = source(of: request, &state)
                // A standby that is slow must not refuse what the primary can answer.
                if state.isFull(source) { source = .primary }
                guard !state.isFull(source) else { return false }
                state.waiting[source]?.append(Question(appUserID: id, request: request, responder: responder))
                return true
            }
            if !isTaken { throw APIError.unavailable("Too many requests are waiting.") }
        } catch {
            responder.respond(APIError(failure: error, of: request, logger).response(to: request.http.head))
        }
    }

    // MARK: - The readers

    /// Backends that a secret key lets in decide by what they read; they always get the primary's word.
    private func source(of request: APIRequest, _ state: inout State) -> Source {
        guard freshness != nil, request.key?.kind == .public, !state.isEnding else { return .primary }
        guard let retry = state.standbyRetry else { return .standby }
        guard retry <= .now else { return .primary }
        // One request tries it; those that come meanwhile do not wait for what becomes of that.
        state.standbyRetry = .now + SubscriberBatcher.standbyPause
        return .standby
    }

    /// Waits for something; nil when ending and nothing is left.
    private func nextBatch(_ source: Source) -> [Question]? {
        let batch = state.wait { state -> [Question]?? in
            // The listener has answered them.
            let oldest = ContinuousClock.now - answerTimeout
            var waiting = state.waiting[source] ?? []
            if waiting.first.map({ $0.request.arrived < oldest }) ?? false {
                waiting.removeAll { $0.request.arrived < oldest }
            }
            defer { state.waiting[source] = waiting }
            guard !waiting.isEmpty else {
                // A reader of the standby may still hand something on.
                let isLast = state.isEnding && (source == .standby || state.standbyReaders == 0)
                return isLast ? .some(nil) : nil
            }
            let batch = Array(waiting.prefix(SubscriberBatcher.batchLimit))
            waiting.removeFirst(batch.count)
            return .some(batch)
        }
        return batch ?? nil
    }

    /// - Throws: where none of them is answered.
    func answerTogether(_ batch: [Question], _ session: PostgresSession) throws {
        let read = try session.withConnection { connection in
            try answers.readOrMake(
                batch.map { .init(id: $0.appUserID, mayMake: $0.request.key?.mayWrite ?? false) }, on: connection)
        }
        let now = clock.now()
        for (question, read) in zip(batch, read) { answer(question, read, now) }
    }

    /// What could not be read for one of them must not take the others with it.
    func answer(_ batch: [Question], after error: any Error, _ session: PostgresSession) {
        let isForAll = (error as? PostgresError)?.isRetryable ?? false
        guard batch.count == 1 || isForAll else {
            for question in batch {
                do { try answerTogether([question], session) } catch { refuse([question], error) }
            }
            return
        }
        refuse(batch, error)
    }

    func refuse(_ batch: [Question], _ error: any Error) {
        for question in batch {
            question.responder.respond(
                APIError(failure: error, of: question.request, logger).response(to: question.request.http.head))
        }
    }

    // MARK: - The standby

    /// Answers what the standby has, and hands the rest to the readers of the primary.
    private func answer(_ batch: [Question], fromStandby session: PostgresSession) {
        guard let freshness else { return }
        var (answered, rest): ([(Question, SubscriberQuery.Found)], [Question]) = ([], [])
        do {
            try session.withConnection { connection in
                let standby = try StandbyState.read(on: connection)
                state.change { $0.standbyRetry = nil }
                let now = ContinuousClock.now
                let isFresh = batch.map { freshness.required(for: $0.appUserID, at: now).map(standby.has) ?? false }
                let fresh = zip(batch, isFresh).filter(\.1).map(\.0)
                rest = zip(batch, isFresh).filter { !$0.1 }.map(\.0)
                count("behind", rest.count)
                guard !fresh.isEmpty else { return }
                for (question, found) in zip(fresh, try answers.find(fresh.map(\.appUserID), on: connection)) {
                    guard let found else {
                        count("unknown", 1)
                        rest.append(question)
                        continue
                    }
                    // Something may have been written under another id of the customer.
                    let isFresh = found.appUserIDs.allSatisfy { id in
                        freshness.required(for: id, at: now).map(standby.has) ?? false
                    }
                    if isFresh {
                        answered.append((question, found))
                    } else {
                        count("behind", 1)
                        rest.append(question)
                    }
                }
            }
        } catch {
            (answered, rest) = ([], batch)
            count("unavailable", batch.count)
            // What waits for it, too, goes to the primary.
            rest += state.change { state in
                state.standbyRetry = .now + SubscriberBatcher.standbyPause
                defer { state.waiting[.standby] = [] }
                return state.waiting[.standby] ?? []
            }
        }
        if !rest.isEmpty { state.change { $0.waiting[.primary]?.insert(contentsOf: rest, at: 0) } }
        count("standby", answered.count)
        let now = clock.now()
        for (question, found) in answered { answer(question, .there(found), now) }
    }

    private func count(_ result: String, _ amount: Int) {
        if amount > 0 { metrics.count(.standbyReads, ["result": result], by: Double(amount)) }
    }

    private func answer(_ question: Question, _ read: SubscriberResponses.Read?, _ now: Int64) {
        guard let read else {
            return question.responder.respond(
                APIError.unavailable("The customer is being deleted.").response(to: question.request.http.head))
        }
        let (customer, status): (SubscriberQuery.Found, Int)
        switch read {
        case .there(let found): (customer, status) = (found, 200)
        case .made(let found): (customer, status) = (found, 201)
        case .none:
            return question.responder.respond(
                answers.response(question.request, ofUnknown: question.appUserID, now: now))
        case .refused(let error):
            return question.responder.respond(error.response(to: question.request.http.head))
        }
        question.responder.respond(answers.response(question.request, customer, status: status, now: now))
        guard question.request.key?.mayWrite ?? false else { return }
        notes.add(
            customer, askedFor: question.appUserID, isSeen: SubscriberResponses.isSeen(question.request), now: now)
    }
}
