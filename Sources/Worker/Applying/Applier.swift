import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Applies notifications, and the passing of time, to the records: facts, fold, events, deliveries.
///
/// What it needs is read and folded before the transaction (`CyclePlanner`); in it nothing is decoded, so that a transaction
/// that passed the fence is as short as its writes. The same notification applied again changes nothing and makes no event.
struct Applier: Sendable {
    private let foldSettings: FoldSettings
    private let bodies: EventBody
    private let asked: Set<AppScope>
    private let products = ProductTable()
    let planner: CyclePlanner
    private let deleted: DeletedCustomerFilter
    private let settlement: OwnerSettlement
    private let waits: OwnerWait

    /// - Parameters:
    ///   - foldSettings: what the configuration adds to facts.
    ///   - asked: where Apple is asked how purchases stand of which news is missing.
    ///   - waits: how long the first event of a purchase waits for its buyer's name.
    init(
        foldSettings: FoldSettings, bodies: EventBody, asked: Set<AppScope> = [], waits: OwnerWait = OwnerWait()
    ) {
        let salt = OwnerSalt()
        self.foldSettings = foldSettings
        self.bodies = bodies
        self.waits = waits
        deleted = DeletedCustomerFilter(salt: salt)
        planner = CyclePlanner(deleted: deleted, foldSettings: foldSettings)
        settlement = OwnerSettlement(salt: salt, foldSettings: foldSettings)
        self.asked = asked
    }

    /// What comes of a transaction once it is committed.
    struct ApplyResult {
        /// What was applied; the rest waits.
        var applied: [DecodedNotification] = []
        /// How many events are new.
        var events: [EventCount: Int] = [:]
        /// What may be sent.
        var deliveries: [DueDelivery] = []
        /// How many notifications may be sent as they came, and how many events are of lanes of any worker; read like everything
        /// that is due.
        var forwarded = 0
        /// Consumption requests whose time passed without an answer.
        var unanswered: [RefundRequestSummary.Key] = []
    }

    /// What one transaction applies, as far as the steps have come.
    private struct Batch {
        let connection: PostgresConnection
        /// Milliseconds since 1970 by the server's clock.
        let now: Int64
        var plan: CyclePlan
        var works: [PurchaseWork] = []
        var settled = OwnerSettlement.SettlementResult()

        var notifications: [DecodedNotification] { plan.notifications }

        /// Lanes in which something waits beside the notifications. Asked only where it matters, because the answer may cost
        /// much.
        func waiting(in lanes: Set<Lane>) throws -> Set<Lane> {
            let line = notifications.map(\.pending).filter { $0.held == nil }
            return try PendingNotification.waiting(in: lanes.sorted(), beside: line, on: connection)
        }
    }

    /// Writes what was planned, inside a transaction that passed the fence. Lanes that were touched since it was read are read
    /// again.
    ///
    /// - Parameters:
    ///   - confirmationRule: what silence means.
    func apply(
        _ planned: CyclePlan, _ passed: Fence.Passed, confirmationRule: ExpiryConfirmationRule,
        on connection: PostgresConnection
    ) throws -> ApplyResult {
        let plan = try planner.again(planned.within(passed.lanes), passed, confirmationRule, on: connection)
        var batch = Batch(connection: connection, now: passed.now, plan: plan)
        try leaveOutEarlyTimers(&batch)
        try readMembers(&batch)
        if !batch.notifications.isEmpty { FailPoint.applyAfterRead.pass() }
        try findQuietLanes(&batch)
        deriveEnds(&batch)
        try leaveOutUntoldEnds(&batch, batch.works.indices)
        // Activity is judged by facts that are in the database.
        try insertFacts(batch)
        try settleOwners(&batch)
        let released = try waits.decide(&batch.works, now: batch.now, on: connection)
        try leaveOutUntoldEnds(&batch, released)
        try writeRecords(&batch)
        try RefundRequestTable.note(questions(batch.works), on: connection)
        var made: [EventCount: Int] = [:]
        let deliveries = try EventTable.insert(try events(batch), now: batch.now, on: connection) { fresh in
            for event in fresh { made[EventCount(event), default: 0] += 1 }
        }
        let forwarded = try NotificationDeliveryTable.insert(
            batch.notifications.map(\.pending), now: batch.now, on: connection)
        try settleNotifications(batch)
        try forgetWhatIsDone(batch)
        let late = batch.plan.woken.flatMap { overdue($0, batch.works, batch.now) }
        return ApplyResult(
            applied: batch.notifications, events: made, deliveries: deliveries,
            forwarded: forwarded + batch.settled.transfers.count + batch.settled.others,
            unanswered: try RefundRequestTable.unanswered(late, on: connection))
    }

    /// What Apple asks about the purchases of which something came.
    private func questions(_ works: [PurchaseWork]) -> [RefundRequestSummary] {
        works.filter { !$0.newFacts.isEmpty && $0.facts.hasConsumptionRequests }.flatMap { work in
            RefundRequestSummary.questions(work.facts, of: work.key)
        }
    }

    /// Requests whose time passed between the instant that the timer was set for and now.
    private func overdue(_ wake: PurchaseTable.DueWake, _ works: [PurchaseWork], _ now: Int64) -> [RefundRequestSummary
        .Key]
    {
        guard let work = works.first(where: { $0.key == wake.key }), work.facts.hasConsumptionRequests else {
            return []
        }
        return PurchaseHistory(of: work.facts).consumptionRequests.filter {
            $0.closed == nil && $0.deadline >= wake.at && $0.deadline <= now
        }.map { RefundRequestSummary.Key(purchase: work.key, transactionID: $0.transactionID) }
    }

    // MARK: - Steps

    /// In lanes in which something waits beside the notifications the end of access is not told.
    private func leaveOutEarlyTimers(_ batch: inout Batch) throws {
        batch.plan.leaveOutWakes(in: try batch.waiting(in: Set(batch.plan.woken.map(\.key.lane))))
        batch.works = batch.plan.works
    }

    private func readMembers(_ batch: inout Batch) throws {
        let members = try AccountTable.members(batch.works.map(\.key), on: batch.connection)
        for place in batch.works.indices { batch.works[place].member = members[batch.works[place].key] }
    }

    private func findQuietLanes(_ batch: inout Batch) throws {
        let now = batch.now
        let busy = try batch.waiting(in: Set(batch.works.filter { $0.isOver(now) }.map(\.key.lane)))
        for place in batch.works.indices { batch.works[place].isQuiet = !busy.contains(batch.works[place].key.lane) }
    }

    /// After the last news of each purchase: a renewal that waited behind a switch-off must not find access ended.
    private func deriveEnds(_ batch: inout Batch) {
        for place in batch.works.indices where batch.works[place].isQuiet {
            let work = batch.works[place]
            guard let after = work.purchase else { continue }
            let deriver = EventDeriver(confirmation: work.confirmation)
            let ends = deriver.ends(before: work.former, after: after, now: batch.now)
            // An end that was long past when the last notification about it was fetched has no events.
            var origin = work.known.lastSent ?? work.known.lastPost
            // What an import found to have ended is no event of its own, whatever Apple sent before.
            if let post = work.known.lastPost, post.source.isImported, post.seq > origin?.seq ?? .min { origin = post }
            let isForTheRecord = after.ending.map { origin?.isForTheRecord($0.instant) ?? false } ?? false
            batch.works[place].drafts += ends.map {
                PurchaseWork.Draft(event: $0, isForTheRecord: isForTheRecord, cause: work.cause)
            }
        }
    }

    private func leaveOutUntoldEnds(_ batch: inout Batch, _ places: some Sequence<Int>) throws {
        let works = batch.works
        let untold = try UntoldEnds(
            among: places.flatMap { works[$0].drafts.map(\.event) }, of: places.compactMap { works[$0].purchase },
            foldSettings: foldSettings, on: batch.connection)
        for place in places { batch.works[place].drafts.removeAll { untold.contains($0.event) } }
    }

    private func insertFacts(_ batch: Batch) throws {
        let whole = batch.works.compactMap { work in work.whole.map { (work.key, $0) } }
        try FactTable.insert(
            batch.works.flatMap(\.newFacts) + announcements(batch.notifications),
            known: knownHeaders(batch.notifications), whole: Dictionary(uniqueKeysWithValues: whole),
            on: batch.connection)
    }

    /// Where what the facts say of owners is new, the Apple accounts are judged again. Of all other purchases the owner stays what
    /// the record says when it is written.
    private func settleOwners(_ batch: inout Batch) throws {
        var claims: [PurchaseKey: PurchaseClaims] = [:]
        for work in batch.works where work.purchase != nil && !work.key.isGrant {
            let new = PurchaseClaims(of: work.facts)
            guard new != work.member?.claims || work.member?.judgesActivity == true else { continue }
            claims[work.key] = new
        }
        guard !claims.isEmpty else { return }
        let outcome = try settlement.settle(
            claims, isWritten: true, by: .worker, now: batch.now, on: batch.connection)
        for place in batch.works.indices {
            let key = batch.works[place].key
            guard claims[key] != nil, let owner = outcome.owners[key] else { continue }
            (batch.works[place].owner, batch.works[place].claims) = (owner, outcome.claims[key] ?? claims[key])
            batch.works[place].told = outcome.told[key]
        }
        try deleted.requireNoneSince(batch.plan.found, on: batch.connection)
        batch.settled = outcome
    }

    private func announcements(_ notifications: [DecodedNotification]) -> [FactTable.New] {
        notifications.compactMap { notification in
            guard case .announcement(let key, let row) = notification.content else { return nil }
            return new(key, row, notification.pending)
        }
    }

    private func writeRecords(_ batch: inout Batch) throws {
        let (now, connection) = (batch.now, batch.connection)
        var records: [PurchaseRecord] = []
        var identifiers: [(identifier: String, key: PurchaseKey)] = []
        for work in batch.works {
            guard let purchase = work.purchase, let owner = work.owner ?? work.member?.owner else { continue }
            let wake = [wake(work, purchase, now), work.tell].compactMap { $0 }.min()
            records.append(
                PurchaseRecord(
                    purchase, owner: owner, wake: wake, claims: work.claims, tell: work.tell,
                    told: work.tell == nil && !work.drafts.isEmpty ? nil : work.told))
            let new = purchase.identifiers(since: work.former)
            identifiers += new.map { ($0, work.key) }
        }
        try products.note(batch.works.compactMap(\.purchase), now: now, on: connection)
        let owners = try PurchaseTable.write(records, now: now, on: connection)
        for place in batch.works.indices {
            batch.works[place].owner = owners[batch.works[place].key] ?? batch.works[place].owner
        }
        // Without a transaction among its facts there is nothing to look at later either.
        try PurchaseTable.wake(batch.works.filter { $0.purchase == nil }.map(\.key), at: nil, on: connection)
        try PurchaseTable.identify(identifiers, on: connection)
        try StatusPollTable.add(batch.works.compactMap { missing($0, now) }, on: connection)
    }

    /// What Apple is to be asked about.
    private func missing(_ work: PurchaseWork, _ now: Int64) -> StatusPollTable? {
        guard asked.contains(AppScope(app: work.key.app, environment: work.key.environment)),
            let purchase = work.purchase, let end = purchase.endWithoutWord(at: now)
        else { return nil }
        // What was foretold and is confirmed needs no word; while a charge is being retried it may be taken back.
        if purchase.retryEndsAt == nil, let ending = purchase.ending, case .foretold = ending.certainty,
            ending.confirmed(work.confirmation) <= now
        {
            return nil
        }
        return StatusPollTable(key: work.key, end: end, next: StatusPollSchedule.first(after: end))
    }

    /// When time alone changes something; at once, if an end that has passed could not be told now.
    private func wake(_ work: PurchaseWork, _ purchase: Purchase, _ now: Int64) -> Int64? {
        let isOver = purchase.ending.map { $0.confirmed(work.confirmation) <= now } ?? false
        if isOver, !work.isQuiet { return now }
        return work.facts.nextWake(of: purchase, after: now, confirmation: work.confirmation)
    }

    private func events(_ batch: Batch) throws -> [NewEvent] {
        let updates = batch.works.filter { $0.tell == nil && !$0.drafts.isEmpty }
        let customers = try CustomerTable.load(Set(updates.compactMap(\.owner)), on: batch.connection)
        return try updates.flatMap { work -> [NewEvent] in
            guard let owner = work.owner, let customer = customers[owner] else {
                throw PostgresError(.decoding, "the owner of a purchase is not a customer")
            }
            let identity = customer.identity(of: owner)
            return work.drafts.map { draft in event(draft, identity) }
        }
    }

    private func event(_ made: PurchaseWork.Draft, _ identity: EventIdentity) -> NewEvent {
        let draft = made.event
        let id = draft.id
        let body = bodies.json(draft, id: id, identity: identity, appID: draft.purchase.app)
        var event = NewEvent(
            lane: draft.purchase.lane, id: UUIDText.bytes(id) ?? [], type: draft.type.rawValue,
            app: draft.purchase.app, environment: draft.purchase.environment,
            originalTransactionID: draft.purchase.originalTransactionID, body: body.bytes,
            isForTheRecord: made.isForTheRecord)
        event.cause = made.cause
        event.reason = draft.reason?.rawValue
        return event
    }

    private func new(_ key: PurchaseKey, _ row: FactRow, _ pending: PendingNotification) -> FactTable.New {
        FactTable.New(key: key, seq: pending.seq, fact: row, source: pending.source)
    }

    /// Headers that came with notifications are in the database already.
    private func knownHeaders(_ notifications: [DecodedNotification]) -> Set<[UInt8]> {
        Set(notifications.map(\.pending.stored.headerID))
    }

    /// Applied notifications leave the queue; those that cannot be applied are held.
    private func settleNotifications(_ batch: Batch) throws {
        let (notifications, now, connection) = (batch.notifications, batch.now, batch.connection)
        var newlyHeld: [(notification: PendingNotification, reason: String)] = []
        var heldAgain: [(notification: PendingNotification, reason: String)] = []
        var released: [PendingNotification] = []
        for notification in notifications {
            let isRetry = notification.pending.held != nil
            switch notification.content {
            case .held(let reason) where isRetry: heldAgain.append((notification.pending, reason))
            case .held(let reason): newlyHeld.append((notification.pending, reason))
            default: if isRetry { released.append(notification.pending) }
            }
        }
        try HeldNotifications.hold(newlyHeld, now: now, on: connection)
        try HeldNotifications.postpone(heldAgain, now: now, on: connection)
        try HeldNotifications.release(released, on: connection)
        try PendingNotification.remove(notifications.map(\.pending).filter { $0.held == nil }, on: connection)
    }

    private func forgetWhatIsDone(_ batch: Batch) throws {
        let applied = Set(batch.notifications.map(\.pending.seq))
        try DeletedCustomerFilter.forget(
            batch.plan.found.unkept.filter { applied.contains($0.seq) }, on: batch.connection)
        try PostedRepetitions.forget(batch.plan.repetitions, on: batch.connection)
    }
}
