import Base
import Daemon
import Database
import Subscriptions

/// What came of a transaction, for operators.
extension LaneCycle {
    func report(_ prepared: [DecodedNotification], _ duration: Duration) {
        guard !prepared.isEmpty else { return }
        metrics.observe(.applySeconds, duration)
        metrics.observe(.applyBatchSize, Double(prepared.count))
        var counts: [String: Int] = [:]
        let begun = tracer.isOn ? Span.time(duration) : 0
        for notification in prepared {
            let isRetry = notification.pending.held != nil
            var state = "applied"
            if case .held(let reason) = notification.content {
                state = "held"
                report(notification.pending, heldFor: reason)
            } else if isRetry {
                logger.info(
                    "held notification applied",
                    [
                        "notification.uuid": .string(notification.pending.identity.uuid),
                        "trace_id": notification.pending.identity.trace.map { .string($0.text) },
                    ])
            }
            if tracer.isOn { record(notification.pending, state, begun: begun, of: prepared.count) }
            if isRetry { metrics.count(.heldRetries, ["outcome": state]) }
            if !isRetry || state == "applied" { counts[state, default: 0] += 1 }
        }
        for (state, count) in counts { metrics.count(.notifications, ["state": state], by: Double(count)) }
    }

    private func report(_ pending: PendingNotification, heldFor reason: String) {
        let attempts = Int64(1 + (pending.held?.attempts ?? 0))
        logger.warning(
            "notification held",
            [
                "notification.uuid": .string(pending.identity.uuid), "reason": .string(reason),
                "attempts": .int(attempts), "trace_id": pending.identity.trace.map { .string($0.text) },
            ])
    }

    /// The turn of a lane as one of its notifications has it: everything between reading it and the commit.
    private func record(_ pending: PendingNotification, _ state: String, begun: Span.Time, of count: Int) {
        let identity = pending.identity
        guard let trace = identity.trace, tracer.records(trace) else { return }
        // What is held is applied again: another span.
        let isFinal = state == "applied" && pending.held == nil
        tracer.record(
            Span(
                "apply", .internal, trace: trace, id: isFinal ? SpanID(of: "apply", identity.key) : .random(),
                parent: pending.source == .store ? SpanID(of: "ingest", identity.key) : nil, start: begun,
                attributes: [
                    "entitled.lane": .number(Int64(pending.lane.number)), "entitled.app": .text(identity.app),
                    "entitled.environment": .text(identity.environment.rawValue),
                    "entitled.notification.type": .text(pending.type), "entitled.outcome": .text(state),
                    "entitled.turn.notifications": .number(Int64(count)),
                ], hasFailed: state == "held"))
    }

    func report(_ request: RefundRequestSummary.Key) {
        logger.notice(
            "consumption request expired",
            [
                "app": .string(request.purchase.app), "environment": .string(request.purchase.environment.rawValue),
                "transaction_id": .string(request.transactionID),
            ])
        metrics.count(.consumptionUnanswered, ["app": request.purchase.app])
    }
}
