import Base
import Daemon
import Database
import HTTP
import Postgres

/// Answers who asks for customers, in natural batches: whatever waits when a reader is free goes into its next statement.
package final class SubscriberBatcher: Service, BatchedRoute {
    package let name = "subscriber-desk"

    private struct Question: Sendable {
        let appUserID: String
        let request: APIRequest
        let responder: HTTPResponder
    }

    private struct State {
        var waiting: [Question] = []
        var isEnding = false
    }

    /// Customers in one statement; more gain little and make each wait longer.
    private static let batchLimit = 64
    /// Requests that wait at most; beyond, 503.
    private static let waitingLimit = 4096
    /// While one waits for the database, another writes documents.
    private static let readers = 2

    private let state = Monitor(State())
    private let left = Monitor(0)
    private let sessions: [PostgresSession]
    private let answers: SubscriberResponses
    private let notes: DeferredWrites
    private let answerTimeout: Duration
    private let clock: any WallClock
    private let logger: Logger

    /// - Parameters:
    ///   - sessions: makes one for each reader, and one for what is noted.
    ///   - answerTimeout: after how long the listener answers by itself.
    package init(
        answers: SubscriberResponses, sessions: () throws -> PostgresSession, answerTimeout: Duration,
        clock: any WallClock, logger: Logger
    ) rethrows {
        self.answerTimeout = answerTimeout
        self.sessions = try (0..<SubscriberBatcher.readers).map { _ in try sessions() }
        notes = DeferredWrites(session: try sessions(), clock: clock, logger: logger)
        self.answers = answers
        self.clock = clock
        self.logger = logger
    }

    package func start() {
        notes.start()
        left.change { $0 = sessions.count }
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("reader-\(number)") { [self] in
                while let batch = nextBatch() { answer(batch, session) }
                left.change { $0 -= 1 }
            }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        let isDone = left.wait(timeout: max(.zero, deadline - .now)) { $0 == 0 ? true : nil } ?? false
        for session in sessions { isDone ? session.close() : session.cut() }
        notes.end(until: deadline)
    }

    package func take(_ request: APIRequest, _ responder: HTTPResponder) {
        do {
            let id = try APICall.appUserID(request.parameters["app_user_id"] ?? "")
            let isTaken = state.change { state in
                guard state.waiting.count < SubscriberBatcher.waitingLimit else { return false }
                state.waiting.append(Question(appUserID: id, request: request, responder: responder))
                return true
            }
            if !isTaken { throw APIError.unavailable("Too many requests are waiting.") }
        } catch {
            responder.respond(APIError(failure: error, of: request, logger).response)
        }
    }

    // MARK: - The readers

    /// Waits for something; nil when ending and nothing is left.
    private func nextBatch() -> [Question]? {
        let batch = state.wait { state -> [Question]?? in
            // The listener has answered them.
            let oldest = ContinuousClock.now - answerTimeout
            if state.waiting.first.map({ $0.request.arrived < oldest }) ?? false {
                state.waiting.removeAll { $0.request.arrived < oldest }
            }
            guard !state.waiting.isEmpty else { return state.isEnding ? .some(nil) : nil }
            let batch = Array(state.waiting.prefix(SubscriberBatcher.batchLimit))
            state.waiting.removeFirst(batch.count)
            return .some(batch)
        }
        return batch ?? nil
    }

    private func answer(_ batch: [Question], _ session: PostgresSession) {
        do {
            let read = try session.withConnection { connection in
                try answers.readOrMake(
                    batch.map { .init(id: $0.appUserID, mayMake: $0.request.key?.mayWrite ?? false) }, on: connection)
            }
            let now = clock.now()
            for (question, read) in zip(batch, read) { answer(question, read, now) }
        } catch {
            let isForAll = (error as? PostgresError)?.isRetryable ?? false
            // What cannot be read of one of them must not take the others with it.
            guard batch.count == 1 || isForAll else { return batch.forEach { answer([$0], session) } }
            for question in batch {
                question.responder.respond(APIError(failure: error, of: question.request, logger).response)
            }
        }
    }

    private func answer(_ question: Question, _ read: SubscriberResponses.Read?, _ now: Int64) {
        guard let read else {
            return question.responder.respond(APIError.unavailable("The customer is being deleted.").response)
        }
        let (customer, status): (SubscriberQuery.Found, Int)
        switch read {
        case .there(let found): (customer, status) = (found, 200)
        case .made(let found): (customer, status) = (found, 201)
        case .none:
            return question.responder.respond(
                answers.response(question.request, ofUnknown: question.appUserID, now: now))
        case .refused(let error):
            return question.responder.respond(error.response)
        }
        question.responder.respond(answers.response(question.request, customer, status: status, now: now))
        guard question.request.key?.mayWrite ?? false else { return }
        notes.add(
            customer, askedFor: question.appUserID, isSeen: SubscriberResponses.isSeen(question.request), now: now)
    }
}
