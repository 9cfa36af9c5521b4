import Base
import Daemon
import Database
import HTTP
import Postgres

/// Writes down what came of attempts.
package struct AttemptRecorder: Sendable {
    private let policy: DeliveryRetryPolicy
    private let log: AttemptLog
    private let logger: Logger
    private let metrics: Metrics
    /// Batches in a row in which something of our own was at fault.
    private var faults = 0
    /// When the log said of an endpoint what is wrong with its host.
    private var said: [String: ContinuousClock.Instant] = [:]

    private static let sayingInterval = Duration.seconds(3600)
    /// Endpoints of which it is remembered.
    private static let mostSaid = 1000

    package init(policy: DeliveryRetryPolicy, log: AttemptLog = AttemptLog(), logger: Logger, metrics: Metrics) {
        self.policy = policy
        self.log = log
        self.logger = logger
        self.metrics = metrics
    }

    /// Results with what follows from them.
    package struct Decided: Sendable {
        fileprivate let result: AttemptResult
        fileprivate let decision: DeliveryRetryPolicy.Decision

        package var endpoint: String { result.delivery.endpoint }
        /// Whether the consumer asked for no more, or for a pause.
        package var changesEndpoint: Bool { decision.disables != nil || decision.pauses != nil }
        /// What it says about the endpoint's health; nil where nothing reached it.
        package var sight: HealthSamples.Sight? {
            if decision.state == .delivered { return .arrived }
            return decision.counts ? .failed(decision.outcome) : nil
        }
        /// The delivery, if it was given up.
        package var dead: String? { decision.state == .dead ? result.delivery.id.text : nil }
        package var changes: ConsumerDirectives.Change {
            ConsumerDirectives.Change(disabling: decision.disables, pause: decision.pauses)
        }
    }

    package mutating func decide(_ results: [AttemptResult], now: Int64) -> [Decided] {
        let decided = results.map { result in
            let delivery = result.delivery
            let policy = result.schedule.map(DeliveryRetryPolicy.init(of:)) ?? policy
            let decision = policy.decide(
                result.outcome, round: delivery.attempts - delivery.roundStart + 1, faults: faults,
                mayDisable: delivery.endpoint != OperationsEndpoint.id, now: now, jitter: .random(in: 0...1))
            return Decided(result: result, decision: decision)
        }
        if decided.contains(where: \.decision.isOurFault) {
            faults = min(faults + 1, 100)
        } else if decided.contains(where: \.decision.counts) {
            faults = 0
        }
        return decided
    }

    /// After the fence, in its transaction; only for lanes that passed it. What waited for these comes back.
    package func settle(
        _ decided: [Decided], now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        try DeliveryTable.settle(decided.map(settlement), by: log.sender, now: now, on: connection)
    }

    private func settlement(_ item: Decided) -> DeliveryTable.Settlement {
        let (delivery, decision) = (item.result.delivery, item.decision)
        let attempts = delivery.attempts + (decision.counts ? 1 : 0)
        let attempt = decision.isOurFault ? nil : log.record(item.result, detail: decision.reason)
        return DeliveryTable.Settlement(
            of: delivery, state: decision.state, attempts: attempts, wait: decision.wait,
            status: item.result.outcome.status, reason: decision.reason, attempt: attempt)
    }

    /// Counts and says what happened, once it is committed.
    package mutating func report(_ decided: [Decided]) {
        for item in decided {
            metrics.count(.webhookAttempts, ["outcome": AttemptOutcome(item.result.cause).code])
            tellHost(item.result)
            guard item.decision.state == .dead else { continue }
            logger.info(
                "delivery declared dead",
                [
                    "delivery": .string(item.result.delivery.id.text),
                    "endpoint": .string(item.result.delivery.endpoint),
                    "event.type": .string(item.result.delivery.eventType), "reason": .text(item.decision.reason),
                    "trace_id": item.result.delivery.trace.map { .string($0.text) },
                ])
        }
    }

    /// Why a host cannot be used is in the log alone, once an hour for each endpoint.
    private mutating func tellHost(_ result: AttemptResult) {
        guard result.cause.isOfName, case .failure(let failure) = result.cause else { return }
        let endpoint = result.delivery.endpoint
        guard said[endpoint].map({ .now - $0 >= AttemptRecorder.sayingInterval }) ?? true else { return }
        if said.count >= AttemptRecorder.mostSaid { said = [:] }
        said[endpoint] = .now
        logger.info("webhook host unusable", ["endpoint": .string(endpoint), "error": .string(failure.message)])
    }
}
