import AppStoreAPI
import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Looks at Apple's open questions about refunds: answers what a policy answers, sends what is to be sent, warns.
///
/// An answer is written down before it is sent, and sent again by the next leader if its outcome was not recorded: Apple may get it twice, always the same.
package struct RefundAnswerDuty: Duty {
    package static let name = "refunds"
    package static let failure: StaticString = "refund answer run failed"
    package static let firstAfter = Duration.seconds(5)
    package static let retryAfter = Duration.seconds(5)

    /// Sends one answer to Apple.
    package typealias Send = @Sendable (RefundRequest, ConsumptionInformation) -> Result<Void, ServerAPIError>

    private let policies: [String: RefundPolicy]
    private let senders: [String: Send]
    private let logger: Logger
    private let metrics: Metrics

    private static let rest = Duration.seconds(5)
    private static let batch = 8
    /// Longer than all calls of a batch may take.
    private static let claimTime: Int64 = 10 * 60_000
    /// Before the deadline, in ms.
    private static let warningTime: Int64 = 2 * 3_600_000

    /// - Parameters:
    ///   - policies: by app.
    ///   - senders: by app; those without a key have none.
    package init(policies: [String: RefundPolicy], senders: [String: Send], logger: Logger, metrics: Metrics) {
        self.policies = policies
        self.senders = senders
        self.logger = logger
        self.metrics = metrics
        for app in policies.keys {
            metrics.begin(.consumptionClosing, ["app": app])
            for outcome in ["sent", "retried", "failed"] {
                metrics.begin(.refundAnswers, ["app": app, "outcome": outcome])
            }
        }
    }

    package func run(_ run: DutyRun) throws -> Next {
        let (session, leadership) = (run.session, run.leadership)
        let claimed = try session.withConnection { connection in try claim(leadership, on: connection) }
        try session.withConnection { connection in try ask(leadership, on: connection) }
        for request in claimed where !run.isDraining() {
            let result = send(request)
            try session.withConnection { connection in try settle(request, result, leadership, on: connection) }
        }
        return claimed.count == RefundAnswerDuty.batch ? .again : .after(RefundAnswerDuty.rest)
    }

    private func claim(_ leadership: Leadership, on connection: PostgresConnection) throws -> [RefundRequest] {
        let (requests, closing) = try leadership.transaction(on: connection) { now in
            for (app, policy) in policies.sorted(by: { $0.key < $1.key }) {
                guard case .auto(let answer) = policy, senders[app] != nil else { continue }
                try RefundRequestTable.answerAll(of: app, answer, now: now, on: connection)
            }
            let closing = try RefundRequestTable.closing(
                in: RefundAnswerDuty.warningTime, of: policies.filter { $0.value != .never }.keys.sorted(), now: now,
                on: connection)
            let requests = try RefundRequestTable.claim(
                of: senders.keys.sorted(), atMost: RefundAnswerDuty.batch, for: RefundAnswerDuty.claimTime, now: now,
                on: connection)
            return (requests, closing)
        }
        closing.forEach(warn)
        return requests
    }

    /// Sends consumers the requests that need an answer.
    private func ask(_ leadership: Leadership, on connection: PostgresConnection) throws {
        let apps = policies.filter { $0.value == .ask }.keys.sorted()
        guard !apps.isEmpty else { return }
        try leadership.transaction(on: connection) { now in
            let told = try RefundRequestTable.tell(of: apps, atMost: RefundAnswerDuty.batch, now: now, on: connection)
            let customers = try CustomerTable.load(Set(told.map(\.owner)), on: connection)
            let events = told.compactMap { request, owner in
                customers[owner].map { RefundAnswerDuty.event(request, $0.identity(of: owner), now) }
            }
            _ = try EventTable.insert(events, now: now, on: connection)
        }
    }

    private static func event(_ request: RefundRequest, _ identity: EventIdentity, _ now: Int64) -> NewEvent {
        let purchase = request.key.purchase
        let event = ConsumptionRequestEvent(
            purchase: purchase, transactionID: request.key.transactionID, productID: request.productID,
            reason: request.reasons.last, asked: request.asked, deadline: request.deadline, at: now)
        let id = event.id
        return NewEvent(
            lane: purchase.lane, id: UUIDText.bytes(id) ?? [], type: EventType.consumptionRequest.rawValue,
            app: purchase.app, environment: purchase.environment,
            originalTransactionID: purchase.originalTransactionID, body: event.json(id: id, identity: identity).bytes)
    }

    private func send(_ request: RefundRequest) -> Result<Void, ServerAPIError> {
        guard let answer = request.answer, let information = ConsumptionInformation(answer) else {
            return .failure(.invalid("the stored answer cannot be read"))
        }
        guard let send = senders[request.key.purchase.app] else {
            return .failure(.invalid("the app has no server_api in the configuration"))
        }
        return send(request, information)
    }

    private func settle(
        _ request: RefundRequest, _ result: Result<Void, ServerAPIError>, _ leadership: Leadership,
        on connection: PostgresConnection
    ) throws {
        // Another leader sends it again, and writes that.
        let state = try leadership.transaction(on: connection) { now in
            var (state, failure, next) = (RefundRequest.State.sent, nil as String?, nil as Int64?)
            if case .failure(let error) = result {
                failure = "\(error)"
                next =
                    error.mayPass
                    ? RefundSchedule.next(after: request.attempts, now: now, deadline: request.deadline) : nil
                state = next == nil ? .failed : .ready
            }
            try RefundRequestTable.settle(request.key, state, failure: failure, next: next, now: now, on: connection)
            return state
        }
        tell(request, state, result)
    }

    // MARK: - Telling

    private func tell(_ request: RefundRequest, _ state: RefundRequest.State, _ result: Result<Void, ServerAPIError>) {
        let outcome = state == .ready ? "retried" : state.rawValue
        metrics.count(.refundAnswers, ["app": request.key.purchase.app, "outcome": outcome])
        guard case .failure(let error) = result else {
            logger.info("consumption request answered", RefundAnswerDuty.fields(request))
            return
        }
        logger.warning(
            state == .ready ? "consumption request answer postponed" : "consumption request answer rejected",
            RefundAnswerDuty.fields(request, error: "\(error)"))
    }

    private func warn(_ request: RefundRequest) {
        logger.warning("consumption request deadline approaching", RefundAnswerDuty.fields(request))
        metrics.count(.consumptionClosing, ["app": request.key.purchase.app])
    }

    private static func fields(_ request: RefundRequest, error: String? = nil) -> Logger.Fields {
        [
            "app": .string(request.key.purchase.app),
            "environment": .string(request.key.purchase.environment.rawValue),
            "transaction_id": .string(request.key.transactionID), "deadline": .date(request.deadline),
            "error": error.map { .string($0) },
        ]
    }
}

extension ConsumptionInformation {
    /// Nil for words that Apple does not know.
    package init?(_ answer: RefundAnswer) {
        guard let delivery = Delivery(rawValue: answer.delivery) else { return nil }
        let preference = answer.preference.map(Preference.init(rawValue:))
        if case .some(.none) = preference { return nil }
        self.init(
            customerConsented: true, delivery: delivery, sampleContentProvided: answer.sampleContentProvided,
            consumptionPercentage: answer.consumed, preference: preference ?? nil)
    }
}

extension ServerAPIError {
    /// A key that is refused can be mended within hours.
    fileprivate var mayPass: Bool {
        if case .unauthorized = self { true } else { isRetryable }
    }
}
