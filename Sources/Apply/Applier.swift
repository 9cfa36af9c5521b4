import Base
import Crypto
import Lifecycle
import Postgres
import Queue
import Records
import Subscriptions

/// Applies notifications, and the passing of time, to the records: facts, fold, events, deliveries.
///
/// Runs inside a transaction that passed the fence; whatever it is given is in lanes that did. The same notification
/// applied again changes nothing and makes no event.
struct Applier: Sendable {
    private let foldSettings: FoldSettings
    private let bodies: EventBody
    private let asked: Set<AppEnvironment>
    private let products = ProductStore()
    private let deleted: DeletedSubjects
    private let salt = OwnerSalt()

    /// - Parameters:
    ///   - foldSettings: what the configuration adds to facts.
    ///   - asked: where Apple is asked how purchases stand of which news is missing.
    init(foldSettings: FoldSettings, bodies: EventBody, asked: Set<AppEnvironment> = []) {
        self.foldSettings = foldSettings
        self.bodies = bodies
        deleted = DeletedSubjects(salt: salt)
        self.asked = asked
    }

    /// Everything about one purchase in this transaction.
    private struct Work {
        let key: PurchaseKey
        var facts: PurchaseFacts
        let formerOwner: String?
        /// As it was before this transaction.
        let former: Purchase?
        var purchase: Purchase?
        /// Whether nothing is waiting that could say that access goes on; found out where it matters.
        var isQuiet = true
        var belief: EndBelief
        /// The notification that came last.
        var lastNews: NewsOrigin?
        /// The transaction that an app posted last.
        var lastPost: NewsOrigin?
        var drafts: [Draft] = []
        var newFacts: [FactStore.New] = []
        var owner = ""

        /// Whether access ended, by what is known or by what was.
        func isOver(_ now: Int64) -> Bool {
            [former, purchase].contains { $0?.ending.map { $0.believed(belief) <= now } ?? false }
        }
    }

    /// What is to be told, and whether only the record is to know.
    private struct Draft {
        let event: EventDraft
        let isForTheRecord: Bool
    }

    /// What comes of a transaction once it is committed.
    struct Outcome {
        /// What may be sent.
        var deliveries: [DueDelivery] = []
        /// How many notifications may be sent as they came; read like everything that is due.
        var forwarded = 0
        /// Consumption requests whose time passed without an answer.
        var unanswered: [RefundQuestion.Key] = []
    }

    /// - Parameters:
    ///   - woken: purchases whose time has come.
    ///   - waiting: of these lanes those in which something waits beside the notifications; there the end of access is
    ///     not told. Asked only where it matters, because the answer may cost much.
    ///   - beliefs: what silence means.
    ///   - now: milliseconds by the server's clock.
    func apply(
        _ given: [PreparedNotification], woken: [PurchaseStore.DueWake], beliefs: EndBeliefs, now: Int64,
        on connection: PostgresConnection, waiting: (Set<Lane>) throws -> Set<Lane>
    ) throws -> Outcome {
        let found = try deleted.look(given, on: connection)
        let notifications = found.notifications
        var works = try load(
            notifications, woken, beliefs, on: connection)
        if !notifications.isEmpty { FailPoint.applyAfterRead.pass() }
        fold(notifications, &works, found, now)
        let busy = try waiting(Set(works.filter { $0.isOver(now) }.map(\.key.lane)))
        for place in works.indices { works[place].isQuiet = !busy.contains(works[place].key.lane) }
        tellEnds(of: &works, now)
        let untold = try UntoldEnds(
            among: works.flatMap { $0.drafts.map(\.event) }, of: works.compactMap(\.purchase),
            foldSettings: foldSettings,
            on: connection)
        for place in works.indices { works[place].drafts.removeAll { untold.contains($0.event) } }
        try findOwners(&works, found, now: now, on: connection)
        try FactStore.insert(
            works.flatMap(\.newFacts) + announcements(notifications), known: knownHeaders(notifications),
            on: connection)
        try write(works, now: now, on: connection)
        try RefundRequestStore.note(questions(works), on: connection)
        let deliveries = try EventStore.insert(
            try events(works, on: connection), now: now, on: connection)
        let forwarded = try NotificationDeliveryStore.insert(notifications.map(\.pending), now: now, on: connection)
        try settle(notifications, now: now, on: connection)
        try DeletedSubjects.forget(found.unkept, on: connection)
        let late = woken.flatMap { overdue($0, works, now) }
        return Outcome(
            deliveries: deliveries, forwarded: forwarded,
            unanswered: try RefundRequestStore.unanswered(late, on: connection))
    }

    /// What Apple asks about the purchases of which something came.
    private func questions(_ works: [Work]) -> [RefundQuestion] {
        works.filter { !$0.newFacts.isEmpty && $0.facts.hasConsumptionRequests }.flatMap { work in
            RefundQuestion.questions(work.facts, of: work.key)
        }
    }

    /// Requests whose time passed between the instant that the timer was set for and now.
    private func overdue(_ wake: PurchaseStore.DueWake, _ works: [Work], _ now: Int64) -> [RefundQuestion.Key] {
        guard let work = works.first(where: { $0.key == wake.key }), work.facts.hasConsumptionRequests else {
            return []
        }
        return PurchaseHistory(of: work.facts).consumptionRequests.filter {
            $0.closed == nil && $0.deadline >= wake.at && $0.deadline <= now
        }.map { RefundQuestion.Key(purchase: work.key, transactionID: $0.transactionID) }
    }

    // MARK: - Steps

    private func load(
        _ notifications: [PreparedNotification], _ woken: [PurchaseStore.DueWake], _ beliefs: EndBeliefs,
        on connection: PostgresConnection
    ) throws -> [Work] {
        var keys: [PurchaseKey] = []
        var known: Set<PurchaseKey> = []
        for notification in notifications {
            if case .facts(let key, _, _, _) = notification.content, known.insert(key).inserted { keys.append(key) }
        }
        for wake in woken where known.insert(wake.key).inserted { keys.append(wake.key) }
        let states = try FactStore.known(of: keys, on: connection)
        let owners = try PurchaseStore.owners(keys, on: connection)
        return zip(keys, zip(states, owners)).map { key, state in
            let (known, owner) = state
            let purchase = Purchase(folding: known.facts, key: key, foldSettings: foldSettings)
            return Work(
                key: key, facts: known.facts, formerOwner: owner, former: purchase, purchase: purchase,
                belief: beliefs.belief(of: key).knowing(late: known.late), lastNews: known.lastNews,
                lastPost: known.lastPost)
        }
    }

    private func fold(
        _ notifications: [PreparedNotification], _ works: inout [Work], _ deleted: DeletedSubjects.Found, _ now: Int64
    ) {
        let places = Dictionary(works.enumerated().map { ($1.key, $0) }) { first, _ in first }
        for notification in notifications {
            guard case .facts(let key, let rows, let cause, let signed) = notification.content,
                let place = places[key]
            else { continue }
            for row in rows {
                row.insert(into: &works[place].facts)
                works[place].newFacts.append(new(key, row, notification.pending))
            }
            let origin = NewsOrigin(seq: notification.pending.seq, source: notification.pending.source)
            if let late = origin.lateness(signed: signed, in: key.environment) {
                works[place].belief = works[place].belief.knowing(late: [late])
            }
            if origin.isNews, origin.seq > works[place].lastNews?.seq ?? .min { works[place].lastNews = origin }
            if origin.source == .posted { works[place].lastPost = origin }
            guard var after = Purchase(folding: works[place].facts, key: key, foldSettings: foldSettings)
            else { continue }
            if after.assignedOwner == nil, let owner = deleted.owner(of: after) {
                works[place].facts.insert(owner)
                works[place].newFacts.append(new(key, FactRow(owner), notification.pending))
                after = Purchase(folding: works[place].facts, key: key, foldSettings: foldSettings) ?? after
            }
            let changes = EventDeriver(belief: works[place].belief).changes(
                before: works[place].purchase, after: after, cause: cause, now: now)
            works[place].drafts += changes.map {
                Draft(event: $0, isForTheRecord: origin.isForTheRecord($0, of: after, signed: signed))
            }
            works[place].purchase = after
        }
    }

    /// After the last news of each purchase: a renewal that waited behind a switch-off must not find access ended.
    private func tellEnds(of works: inout [Work], _ now: Int64) {
        for place in works.indices where works[place].isQuiet {
            guard let after = works[place].purchase else { continue }
            let deriver = EventDeriver(belief: works[place].belief)
            let ends = deriver.ends(before: works[place].former, after: after, now: now)
            // An end that was long past when the last news of it was fetched is no news for anybody.
            let origin = works[place].lastNews ?? works[place].lastPost
            let isForTheRecord = after.ending.map { origin?.isForTheRecord($0.instant) ?? false } ?? false
            works[place].drafts += ends.map { Draft(event: $0, isForTheRecord: isForTheRecord) }
        }
    }

    /// The owner follows from the facts; a customer who had it under an anonymous id before is the same person.
    private func findOwners(
        _ works: inout [Work], _ found: DeletedSubjects.Found, now: Int64, on connection: PostgresConnection
    ) throws {
        let digest = try salt.digest(on: connection)
        let owners = try CustomerStore.ids(
            of: works.map { work in work.purchase.map { $0.owner(digest: digest) } },
            former: works.map(\.formerOwner), on: connection)
        var merges: [(anonymous: String, into: String)] = []
        var changed: Set<String> = []
        for (place, owner) in owners.enumerated() {
            guard let owner else { continue }
            works[place].owner = owner
            guard works[place].formerOwner != owner else { continue }
            changed.insert(owner)
            if let former = works[place].formerOwner, Owner.isAnonymous(former) { merges.append((former, owner)) }
        }
        // All customers at once and before any id: deleting and other workers lock them so.
        if !merges.isEmpty {
            _ = try CustomerStore.lock(merges.flatMap { [$0.anonymous, $0.into] }, on: connection)
        }
        // Whoever deletes a customer holds the lanes of what they own: only new owners could vanish meanwhile.
        try CustomerStore.makeAndHold(changed, now: now, on: connection)
        try deleted.requireNoneSince(found, changed, on: connection)
        try CustomerStore.merge(merges, now: now, on: connection)
    }

    private func announcements(_ notifications: [PreparedNotification]) -> [FactStore.New] {
        notifications.compactMap { notification in
            guard case .announcement(let key, let row) = notification.content else { return nil }
            return new(key, row, notification.pending)
        }
    }

    private func write(_ works: [Work], now: Int64, on connection: PostgresConnection) throws {
        var records: [PurchaseRecord] = []
        var identifiers: [(identifier: String, key: PurchaseKey)] = []
        for work in works {
            guard let purchase = work.purchase else { continue }
            records.append(
                PurchaseRecord(purchase, owner: work.owner, wake: wake(work, purchase, now)))
            let new = purchase.identifiers.subtracting(work.former?.identifiers ?? [])
            identifiers += new.map { ($0, work.key) }
        }
        try products.note(works.compactMap(\.purchase), now: now, on: connection)
        try PurchaseStore.write(records, now: now, on: connection)
        // Without a transaction among its facts there is nothing to look at later either.
        try PurchaseStore.wake(works.filter { $0.purchase == nil }.map(\.key), at: nil, on: connection)
        try PurchaseStore.identify(identifiers, on: connection)
        try StatusLook.add(works.compactMap { missing($0, now) }, on: connection)
    }

    /// What Apple is to be asked about.
    private func missing(_ work: Work, _ now: Int64) -> StatusLook? {
        guard asked.contains(AppEnvironment(app: work.key.app, environment: work.key.environment)),
            let purchase = work.purchase, let end = purchase.endWithoutWord(at: now)
        else { return nil }
        // What was foretold and is believed needs no word; while a charge is being retried it may be taken back.
        if purchase.retryEndsAt == nil, let ending = purchase.ending, case .foretold = ending.certainty,
            ending.believed(work.belief) <= now
        {
            return nil
        }
        return StatusLook(key: work.key, end: end, next: StatusSchedule.first(after: end))
    }

    /// When time alone changes something; at once, if an end that has passed could not be told now.
    private func wake(_ work: Work, _ purchase: Purchase, _ now: Int64) -> Int64? {
        let isOver = purchase.ending.map { $0.believed(work.belief) <= now } ?? false
        if isOver, !work.isQuiet { return now }
        return work.facts.nextWake(of: purchase, after: now, belief: work.belief)
    }

    private func events(_ works: [Work], on connection: PostgresConnection) throws -> [NewEvent] {
        let owners = Set(works.filter { !$0.drafts.isEmpty }.map(\.owner))
        let customers = try CustomerStore.load(owners, on: connection)
        return try works.filter { !$0.drafts.isEmpty }.flatMap { work -> [NewEvent] in
            guard let customer = customers[work.owner] else {
                throw PostgresError(.decoding, "the owner of a purchase is no customer")
            }
            let identity = customer.identity(of: work.owner)
            return work.drafts.map { draft in event(draft, identity) }
        }
    }

    private func event(_ made: Draft, _ identity: EventIdentity) -> NewEvent {
        let draft = made.event
        let id = draft.id(digest: Applier.digest)
        let body = bodies.json(draft, id: id, identity: identity, appID: draft.purchase.app)
        return NewEvent(
            lane: draft.purchase.lane, id: UUIDText.bytes(id) ?? [], type: draft.type.rawValue,
            app: draft.purchase.app, environment: draft.purchase.environment,
            originalTransactionID: draft.purchase.originalTransactionID, body: body.bytes,
            isForTheRecord: made.isForTheRecord)
    }

    private func new(_ key: PurchaseKey, _ row: FactRow, _ pending: PendingNotification) -> FactStore.New {
        FactStore.New(key: key, seq: pending.seq, fact: row, source: pending.source)
    }

    /// Headers that came with notifications are in the database already.
    private func knownHeaders(_ notifications: [PreparedNotification]) -> Set<[UInt8]> {
        Set(notifications.map(\.pending.stored.headerID))
    }

    private func settle(
        _ notifications: [PreparedNotification], now: Int64, on connection: PostgresConnection
    ) throws {
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

    static func digest(_ text: String) -> [UInt8] { Crypto.Digest.sha256(Array(text.utf8)) }
}
