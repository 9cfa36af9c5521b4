import Base
import Database
import Postgres
import Subscriptions

/// What a turn will write, as far as it can be known before its transaction.
struct CyclePlan {
    /// Those that are applied in this turn.
    fileprivate(set) var notifications: [DecodedNotification] = []
    /// Purchases whose time has come.
    fileprivate(set) var woken: [PurchaseTable.DueWake] = []
    fileprivate(set) var works: [PurchaseWork] = []
    fileprivate(set) var found: DeletedCustomerFilter.Found
    /// Purchases with more facts than a turn reads: they have to be folded first.
    fileprivate(set) var unfolded: [PurchaseKey] = []
    /// What was given, to be planned again where the lane was touched since.
    fileprivate let given: [DecodedNotification]
    fileprivate let due: [PurchaseTable.DueWake]
    fileprivate let touched: [Lane: Int64]
    fileprivate let rows: Int

    /// Transactions that an app posted again, and that say nothing new. What is held says something that is not known yet.
    var repetitions: [PendingNotification] {
        let brought = Set(works.flatMap { $0.newFacts.lazy.filter { $0.kept == nil }.map(\.seq) })
        return notifications.filter { $0.purchase != nil }.map(\.pending).filter {
            $0.source == .posted && !brought.contains($0.seq)
        }
    }

    /// All that it is about.
    var lanes: Set<Lane> { Set(given.map(\.pending.lane) + due.map(\.key.lane)) }

    /// The part of it that is in these lanes.
    func within(_ lanes: Set<Lane>) -> CyclePlan {
        guard !lanes.isSuperset(of: self.lanes) else { return self }
        var part = self
        part.leaveOut { !lanes.contains($0) }
        return part
    }

    fileprivate mutating func leaveOut(_ isLeftOut: (Lane) -> Bool) {
        notifications.removeAll { isLeftOut($0.pending.lane) }
        works.removeAll { isLeftOut($0.key.lane) }
        woken.removeAll { isLeftOut($0.key.lane) }
    }

    /// Timers wait until everything in their lanes is applied.
    mutating func leaveOutWakes(in lanes: Set<Lane>) {
        guard !lanes.isEmpty else { return }
        let news = Set(notifications.compactMap(\.purchase))
        woken.removeAll { lanes.contains($0.key.lane) }
        let left = Set(woken.map(\.key)).union(news)
        works.removeAll { !left.contains($0.key) }
    }
}

/// Reads and folds what a turn is about, before its transaction: however long that takes, no lock is held meanwhile, and no
/// session is idle in a transaction.
struct CyclePlanner: Sendable {
    let deleted: DeletedCustomerFilter
    let foldSettings: FoldSettings

    /// So many rows at most are read of all purchases that were not folded yet; fewer where that takes long.
    static let mostRows = 8192
    /// A purchase with more rows than this is folded by itself first, if others are waiting beside it.
    private static let leastRows = 64
    /// States are opened up to so many bytes, as they are kept.
    private static let mostBytes = 512 << 10

    /// - Parameters:
    ///   - given: notifications that wait in lanes of the worker's.
    ///   - due: purchases whose time has come.
    ///   - confirmationRule: what silence means.
    ///   - rows: how many are read at most (`mostRows`).
    func plan(
        _ given: [DecodedNotification], _ due: [PurchaseTable.DueWake], _ confirmationRule: ExpiryConfirmationRule,
        rows: Int,
        on connection: PostgresConnection
    ) throws -> CyclePlan {
        let lanes = Set(given.map(\.pending.lane) + due.map(\.key.lane)).sorted()
        // Before anything else is read: what is changed later is noticed by the fence.
        let looked = try Fence.look(at: lanes, on: connection)
        let found = try deleted.look(given, on: connection)
        var plan = CyclePlan(found: found, given: given, due: due, touched: looked.touched, rows: rows)
        var keys: [PurchaseKey] = []
        var known: Set<PurchaseKey> = []
        for notification in found.notifications {
            if let key = notification.purchase, known.insert(key).inserted { keys.append(key) }
        }
        for wake in due where known.insert(wake.key).inserted { keys.append(wake.key) }
        let bounds = FactTable.Bounds(
            rows: max(CyclePlanner.leastRows, rows / max(1, keys.count)), bytes: CyclePlanner.mostBytes)
        var left: Set<PurchaseKey> = []
        for (key, facts) in zip(keys, try FactTable.known(of: keys, within: bounds, on: connection)) {
            guard let facts, facts.isWhole else {
                left.insert(key)
                if facts != nil { plan.unfolded.append(key) }
                continue
            }
            let purchase = Purchase(folding: facts.facts, key: key, foldSettings: foldSettings)
            plan.works.append(
                PurchaseWork(
                    key: key, known: facts, former: purchase, purchase: purchase,
                    confirmation: confirmationRule.confirmation(of: key).knowing(late: facts.late)))
        }
        plan.notifications = found.notifications.filter { $0.purchase.map { !left.contains($0) } ?? true }
        plan.woken = due.filter { !left.contains($0.key) }
        try supplyTies(&plan, on: connection)
        fold(&plan, now: looked.now)
        return plan
    }

    /// The same plan, or what has to be planned again because others touched its lanes. In the transaction: the lanes that passed are
    /// the worker's until it ends.
    func again(
        _ plan: CyclePlan, _ passed: Fence.Passed, _ confirmationRule: ExpiryConfirmationRule,
        on connection: PostgresConnection
    ) throws -> CyclePlan {
        let moved = plan.lanes.filter { passed.touched[$0] != plan.touched[$0] }
        guard !moved.isEmpty else { return plan }
        let ours = moved.intersection(passed.lanes)
        var kept = plan
        kept.leaveOut(moved.contains)
        guard !ours.isEmpty else { return kept }
        let new = try self.plan(
            plan.given.filter { ours.contains($0.pending.lane) }, plan.due.filter { ours.contains($0.key.lane) },
            confirmationRule, rows: plan.rows, on: connection)
        kept.notifications += new.notifications
        kept.works += new.works
        kept.woken += new.woken
        kept.unfolded += new.unfolded
        kept.found.formUnion(new.found)
        return kept
    }

    /// Of two facts that were signed in the same millisecond the signed bytes decide; what is folded has them no more, unless they
    /// decided before.
    private func supplyTies(_ plan: inout CyclePlan, on connection: PostgresConnection) throws {
        let places = Dictionary(plan.works.enumerated().map { ($1.key, $0) }) { first, _ in first }
        var wanted: [(key: PurchaseKey, id: FactID)] = []
        for notification in plan.notifications {
            guard case .facts(let key, let rows, _, _) = notification.content, let place = places[key],
                plan.works[place].known.isFolded
            else { continue }
            let facts = plan.works[place].facts
            for row in rows {
                let ids: [FactID]
                switch row.read() {
                case .transaction(let fact): ids = facts.rivals(of: fact).filter(\.tie.isEmpty).map(\.id)
                case .renewal(let fact): ids = facts.rivals(of: fact).filter(\.tie.isEmpty).map(\.id)
                default: ids = []
                }
                wanted += ids.map { (key, $0) }
            }
        }
        guard !wanted.isEmpty else { return }
        for (item, payload) in zip(wanted, try FactTable.payloads(wanted, on: connection)) {
            guard let payload, let place = places[item.key] else { continue }
            plan.works[place].known.supply(item.id, payload)
        }
    }

    private func fold(_ plan: inout CyclePlan, now: Int64) {
        let places = Dictionary(plan.works.enumerated().map { ($1.key, $0) }) { first, _ in first }
        for notification in plan.notifications {
            guard case .facts(let key, let rows, let cause, let signed) = notification.content, let place = places[key]
            else { continue }
            fold(rows, cause, signed: signed, notification.pending, into: &plan.works[place], plan.found, now: now)
        }
    }

    private func fold(
        _ rows: [FactRow], _ cause: Cause, signed: Int64, _ pending: PendingNotification, into work: inout PurchaseWork,
        _ found: DeletedCustomerFilter.Found, now: Int64
    ) {
        let isKnown = work.purchase != nil || !work.facts.posts.isEmpty || !work.facts.assignments.isEmpty
        for row in rows { work.add(row, of: pending) }
        work.cause = pending.identity.key
        let origin = NotificationOrigin(seq: pending.seq, source: pending.source)
        if let late = origin.lateness(signed: signed, in: work.key.environment) {
            work.confirmation = work.confirmation.knowing(late: [late])
        }
        if origin.source == .store { work.firstSent = work.firstSent ?? origin }
        guard var after = Purchase(folding: work.facts, key: work.key, foldSettings: foldSettings) else { return }
        // What is known of a purchase says whose it is: the deletion took what was the deleted customer's then.
        if !isKnown, let owner = found.owner(of: after) {
            work.add(FactRow(owner), of: pending)
            after = Purchase(folding: work.facts, key: work.key, foldSettings: foldSettings) ?? after
        }
        let changes = EventDeriver(confirmation: work.confirmation).changes(
            before: work.purchase, after: after, cause: cause, now: now)
        work.drafts += changes.map {
            PurchaseWork.Draft(
                event: $0, isForTheRecord: origin.isForTheRecord($0, of: after, signed: signed),
                cause: pending.identity.key)
        }
        work.purchase = after
    }
}

extension DecodedNotification {
    /// What it has facts about.
    var purchase: PurchaseKey? {
        if case .facts(let key, _, _, _) = content { key } else { nil }
    }
}
