import Base
import HTTPClient
import Postgres
import Queue
import Records
import Telemetry

/// Writes down what came of attempts.
package struct Settler: Sendable {
    private let policy: RetryPolicy
    private let log: AttemptLog
    private let logger: Logger
    private let metrics: Metrics

    package init(policy: RetryPolicy, log: AttemptLog = AttemptLog(), logger: Logger, metrics: Metrics) {
        self.policy = policy
        self.log = log
        self.logger = logger
        self.metrics = metrics
    }

    /// Results with what follows from them.
    package struct Decided: Sendable {
        fileprivate let result: AttemptResult
        fileprivate let decision: RetryPolicy.Decision

        package var endpoint: String { result.delivery.endpoint }
        /// Whether the consumer asked for no more, or for a pause.
        package var changesEndpoint: Bool { decision.disables || decision.pauses != nil }
    }

    package func decide(_ results: [AttemptResult], now: Int64) -> [Decided] {
        results.map { result in
            let round = result.delivery.attempts - result.delivery.roundStart + 1
            let policy = result.schedule.map(RetryPolicy.init(of:)) ?? policy
            let decision = policy.decide(result.outcome, round: round, now: now, jitter: .random(in: 0...1))
            return Decided(result: result, decision: decision)
        }
    }

    /// Changes endpoints as their consumers asked, each in a transaction of its own, once the results are committed: no
    /// data transaction waits for an endpoint's row, and no worker that lost its lanes disables anything.
    package func changeEndpoints(_ decided: [Decided], now: Int64, on connection: PostgresConnection) throws {
        var pauses: [String: Int64] = [:]
        for item in decided {
            let endpoint = item.result.delivery.endpoint
            if item.decision.disables {
                if try EndpointStore.disable(endpoint, reason: "the consumer answered 410", on: connection) {
                    logger.info("endpoint disabled", ["endpoint": .string(endpoint), "reason": .string("410")])
                }
            }
            if let pause = item.decision.pauses {
                pauses[endpoint] = max(pauses[endpoint] ?? 0, now + pause)
            }
        }
        if !pauses.isEmpty {
            try EndpointStore.pause(pauses, on: connection)
        }
    }

    /// After the fence, in its transaction; only for lanes that passed it. What waited for these comes back.
    package func settle(
        _ decided: [Decided], now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        try DeliveryStore.settle(decided.map(settlement), by: log.sender, now: now, on: connection)
    }

    private func settlement(_ item: Decided) -> DeliveryStore.Settlement {
        let (delivery, decision) = (item.result.delivery, item.decision)
        let attempts = delivery.attempts + (decision.counts ? 1 : 0)
        let attempt = decision.isOurFault ? nil : log.record(item.result, detail: decision.reason)
        return DeliveryStore.Settlement(
            of: delivery, state: decision.state, attempts: attempts, wait: decision.wait,
            status: item.result.outcome.status, reason: decision.reason, attempt: attempt)
    }

    /// Counts and says what happened, once it is committed.
    package func report(_ decided: [Decided]) {
        for item in decided {
            metrics.count(.webhookAttempts, ["outcome": outcomeClass(item)])
            guard item.decision.state == .dead else { continue }
            logger.info(
                "delivery given up",
                [
                    "delivery": .string(item.result.delivery.id.text),
                    "endpoint": .string(item.result.delivery.endpoint),
                    "event.type": .string(item.result.delivery.eventType), "reason": .text(item.decision.reason),
                ])
        }
    }

    private func outcomeClass(_ item: Decided) -> String {
        guard let status = item.result.outcome.status else { return AttemptOutcome(item.result.outcome).rawValue }
        return "\(status / 100)xx"
    }
}
