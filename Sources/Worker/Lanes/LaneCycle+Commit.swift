import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// The one transaction in which something is applied or recorded.
extension LaneCycle {
    private static let foldTime = Duration.seconds(1)

    /// Reads and folds, then writes in one transaction; whether something was done.
    mutating func commit(
        _ prepared: [DecodedNotification], _ results: [AttemptResult], _ woken: [PurchaseTable.DueWake],
        on connection: PostgresConnection
    ) throws -> Bool {
        let begun = ContinuousClock.now
        let prepared = prepared.map(heldIfUnfoldable)
        let plan = try applier.planner.plan(prepared, woken, outages.confirmationRule, rows: mostRows, on: connection)
        adjustRows(to: ContinuousClock.now - begun)
        fold(plan.unfolded, of: prepared)
        guard !plan.notifications.isEmpty || !plan.woken.isEmpty || !results.isEmpty else { return false }
        let lanes = plan.lanes.union(results.map(\.delivery.id.lane)).sorted()
        var passedAt = begun
        var applied = Applier.ApplyResult()
        var decided: [AttemptRecorder.Decided] = []
        var released: [DueDelivery] = []
        let passed = try connection.transaction {
            let passed = try Fence.pass(lanes, leases: leases, on: connection)
            passedAt = ContinuousClock.now
            if !prepared.isEmpty { FailPoint.applyAfterFence.pass() }
            if !results.isEmpty { FailPoint.deliverBeforeRecord.pass() }
            decided = settler.decide(
                results.filter { passed.lanes.contains($0.delivery.id.lane) }, now: passed.now)
            released = try settler.settle(decided, now: passed.now, on: connection)
            if !released.isEmpty { FailPoint.deliverAfterRelease.pass() }
            applied = try applier.apply(plan, passed, confirmationRule: outages.confirmationRule, on: connection)
            if !prepared.isEmpty { FailPoint.applyBeforeCommit.pass() }
            return passed
        }
        if !prepared.isEmpty { FailPoint.applyAfterCommit.pass() }
        if !results.isEmpty { FailPoint.deliverAfterRecord.pass() }
        serverClock = (passed.now, passedAt)
        trouble.applied(applied.applied.count) { [groups] lane in
            lanes.first.map { groups.group(of: $0) == groups.group(of: lane) } ?? false
        }
        for (event, count) in applied.events { metrics.count(.events, event.labels, by: Double(count)) }
        floor.note(removed: applied.applied.lazy.map(\.pending).filter { $0.held == nil })
        engine.forget(results.map(\.delivery.id))
        let lost = lanes.filter { !passed.lanes.contains($0) }
        metrics.count(.fencesLost, by: Double(lost.count))
        keepingTrack { $0.leases.forget(lost) }
        settler.report(decided)
        report(applied.applied, ContinuousClock.now - begun)
        applied.unanswered.forEach(report)
        // At once: who asked for a pause gets nothing of what this turn made.
        engine.hold(decided.filter(\.changesEndpoint).map(\.endpoint))
        fetcher.note(decided, now: passed.now)
        engine.add(released + applied.deliveries)
        if applied.forwarded > 0 { fetcher.hurry() }
        return true
    }

    /// Leases must not run out while facts are read: where that takes long, longer histories are folded apart.
    private mutating func adjustRows(to duration: Duration) {
        let longest = leases.duration / 8
        if duration > longest {
            mostRows = max(CyclePlanner.mostRows / 64, Int(Double(mostRows) * (longest / duration)))
        } else if duration < longest / 4 {
            mostRows = min(CyclePlanner.mostRows, mostRows * 2)
        }
    }

    /// A notification of a purchase whose facts cannot be folded waits where an operator sees it and why.
    private func heldIfUnfoldable(_ notification: DecodedNotification) -> DecodedNotification {
        guard let key = notification.purchase, let reason = folder.fault(of: key) else { return notification }
        return DecodedNotification(
            pending: notification.pending, content: .held("the facts of its purchase cannot be folded: \(reason)"))
    }

    /// Purchases with more facts than a turn reads are folded by a thread of their own; what waits for them is passed over.
    private mutating func fold(_ keys: [PurchaseKey], of prepared: [DecodedNotification]) {
        guard !keys.isEmpty else { return }
        let unfolded = Set(keys)
        folder.fold(unfolded)
        for notification in prepared where notification.purchase.map(unfolded.contains) ?? false {
            passOver(notification.pending, for: LaneCycle.foldTime)
        }
    }
}
