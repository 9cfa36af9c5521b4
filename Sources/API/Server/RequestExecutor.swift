import AppStoreAPI
import Base
import Daemon
import HTTP
import Postgres

/// Runs actions on threads of its own: those with a connection each, and those that wait for Apple.
package final class RequestExecutor: Service {
    package let name = "api-engine"

    private struct Step: Sendable {
        let request: APIRequest
        let responder: HTTPResponder
        let action: APIRoute.Action
        /// When it has to be answered; nil: it has not waited for Apple.
        var deadline: ContinuousClock.Instant?
        /// Whether something of it was carried out.
        var isBegun = false

        func refuse(_ error: APIError) { responder.respond(error.response(to: request.http.head)) }
    }

    /// Requests that wait for a connection at most; beyond, 503.
    private static let waitingLimit = 4096
    /// Of these from one address, and of them about one Apple account.
    private static let waitingPart = (address: 1024, account: 16)
    /// Of the time that an answer may take, for Apple to say everything of an account; the rest is for applying it.
    private static let partOfApple = 0.6

    private let sessions: [PostgresSession]
    private let watch: AppliedWaiter
    private let steps: BoundedQueue<Step>
    private let appleCalls: AppleCallLines
    private let looks: AccountLooks
    private let cancellation: Cancellation
    private let patience: Duration
    private let answerTimeout: Duration
    private let logger: Logger
    /// Requests that are not answered.
    private let open = Monitor(0)

    /// - Parameters:
    ///   - sessions: makes one for each thread, and one to look what is applied.
    ///   - cancellation: ends calls that wait for Apple: their callers are answered that they should ask again.
    ///   - patience: how long an answer waits for what has to be applied first.
    ///   - answerTimeout: after how long the listener answers by itself: what was not begun by then is not carried out.
    package init(
        threads: Int, sessions: () throws -> PostgresSession, cancellation: Cancellation = Cancellation(),
        patience: Duration, answerTimeout: Duration, logger: Logger
    ) rethrows {
        self.sessions = try (0..<max(1, threads)).map { _ in try sessions() }
        watch = AppliedWaiter(session: try sessions())
        // One address gets half of the threads at most.
        steps = BoundedQueue(
            limit: RequestExecutor.waitingLimit,
            part: .init(
                busy: max(1, threads / 2), waiting: RequestExecutor.waitingPart.address,
                waitingOfAccount: RequestExecutor.waitingPart.account))
        appleCalls = AppleCallLines()
        looks = AccountLooks(appleCalls)
        self.cancellation = cancellation
        self.patience = patience
        self.answerTimeout = answerTimeout
        self.logger = logger
    }

    package func start() {
        watch.start()
        for (number, session) in sessions.enumerated() {
            _ = ServiceThread("api-\(number)") { [self] in steps.run { perform($0, session) } }
        }
        appleCalls.start()
        looks.start()
    }

    /// Every request is answered within the time that the listener gives it.
    package func retire(until deadline: ContinuousClock.Instant) {
        _ = open.wait(timeout: max(.zero, min(answerTimeout, deadline - .now))) { $0 == 0 ? true : nil }
        drain(until: deadline)
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        cancellation.cancel()
        // In the order in which a request goes from one to the next, and once more for those that came back.
        looks.stop(until: deadline)
        watch.stop(until: deadline)
        appleCalls.end(until: deadline)
        // Closed, though the handler may live on; what hangs is cut, and closes itself.
        let isDone = steps.end(until: deadline)
        for session in sessions { isDone ? session.close() : session.cut() }
    }

    /// Answers a request by its action, in its turn.
    func run(_ action: @escaping APIRoute.Action, _ request: APIRequest, _ responder: HTTPResponder) {
        open.change { $0 += 1 }
        let counted = HTTPResponder { [open] response in
            responder.respond(response)
            open.change { $0 -= 1 }
        }
        add(Step(request: request, responder: counted, action: action))
    }

    /// - Parameter goesOn: whether the request was begun and has something to show.
    private func add(_ step: Step, goesOn: Bool = false) {
        var step = step
        step.isBegun = goesOn
        guard steps.add(step, as: step.request.share, goesOn: goesOn) else {
            return step.refuse(.unavailable("Too many requests are waiting."))
        }
    }

    private func perform(_ step: Step, _ session: PostgresSession) {
        // The client was told to repeat it, and may have done so.
        guard step.isBegun || .now - step.request.arrived < answerTimeout else {
            return step.refuse(.unavailable("Too many requests are waiting."))
        }
        do {
            settle(try session.withConnection { try step.action(APICall(step.request, on: $0)) }, step)
        } catch {
            step.refuse(APIError(failure: error, of: step.request, logger))
        }
    }

    private func perform(_ work: @Sendable () throws -> APIRoute.Action, _ step: Step) {
        do {
            add(Step(request: step.request, responder: step.responder, action: try work()), goesOn: true)
        } catch {
            step.refuse(APIError(failure: error, of: step.request, logger))
        }
    }

    private func settle(_ answer: APIAnswer, _ step: Step) {
        switch answer {
        case .response(let response):
            step.responder.respond(response)
        case .outside(let kind, let work):
            let appleCall = AppleCallLines.AppleCall(
                share: step.request.share, isBackend: step.request.key?.kind == .secret, kind: kind
            ) { [self] in perform(work, step) }
            guard appleCalls.add(appleCall) else {
                return step.refuse(.unavailable("Too many requests are waiting for Apple."))
            }
        case .whenApplied(let subjects, let next):
            let deadline = step.deadline.map { max($0, .now + patience * (1 - RequestExecutor.partOfApple)) }
            watch.wait(for: subjects, until: deadline ?? .now + patience) { [self] isApplied in
                guard isApplied else {
                    return step.refuse(
                        .unavailable("The transaction is stored but not applied yet. Retry the request."))
                }
                add(Step(request: step.request, responder: step.responder, action: next), goesOn: true)
            }
        case .whenLooked(let request, let next):
            let arrived = step.request.arrived
            looks.look(request, for: step.request, until: arrived + patience * RequestExecutor.partOfApple) {
                [self] landing in
                let action: APIRoute.Action = { call in try next(call, landing.outcome) }
                add(
                    Step(
                        request: step.request, responder: step.responder, action: action,
                        deadline: arrived + patience), goesOn: true)
            }
        }
    }
}
