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
        for notification in prepared {
            let isRetry = notification.pending.held != nil
            var state = "applied"
            if case .held(let reason) = notification.content {
                state = "held"
                report(notification.pending, heldFor: reason)
            } else if isRetry {
                logger.info(
                    "held notification applied",
                    ["notification.uuid": .string(notification.pending.identity.uuid)])
            }
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
                "attempts": .int(attempts),
            ])
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
