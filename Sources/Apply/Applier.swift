import Base
import Crypto
import Postgres
import Queue
import Records
import Subscriptions

/// Applies notifications, and the passing of time, to the records: facts, fold, events, deliveries.
///
/// Runs inside a transaction that passed the fence; whatever it is given is in lanes that did. The same notification
/// applied again changes nothing and makes no event.
struct Applier: Sendable {
    private let deriver: EventDeriver
    private let bodies: EventBody

    init(patience: Duration, catalogue: EntitlementCatalogue) {
        deriver = EventDeriver(patience: patience.milliseconds)
        bodies = EventBody(catalogue: catalogue)
    }

    /// Everything about one purchase in this transaction.
    private struct Work {
        let key: PurchaseKey
        var facts: PurchaseFacts
        let formerOwner: String?
        /// Transactions that are findable already.
        let identified: Set<String>
        var purchase: Purchase?
        var drafts: [EventDraft] = []
        var newFacts: [FactStore.New] = []
        var owner = ""
    }

    /// - Parameters:
    ///   - woken: purchases whose time has come.
    ///   - endpoints: who gets the events.
    ///   - now: milliseconds by the server's clock.
    /// - Returns: deliveries that may be sent once the transaction is committed.
    func apply(
        _ notifications: [PreparedNotification], woken: [PurchaseKey], endpoints: [Endpoint], now: Int64,
        on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        var works = try load(notifications, woken, on: connection)
        fold(notifications, woken, &works, now)
        try findOwners(&works, now: now, on: connection)
        try FactStore.insert(works.flatMap(\.newFacts), on: connection)
        try write(works, now: now, on: connection)
        let deliveries = try EventStore.insert(
            try events(works, on: connection), endpoints: endpoints, now: now, on: connection)
        try settle(notifications, now: now, on: connection)
        return deliveries
    }

    // MARK: - Steps

    private func load(
        _ notifications: [PreparedNotification], _ woken: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [Work] {
        var keys: [PurchaseKey] = []
        var known: Set<PurchaseKey> = []
        for notification in notifications {
            if case .facts(let key, _, _) = notification.content, known.insert(key).inserted { keys.append(key) }
        }
        for key in woken where known.insert(key).inserted { keys.append(key) }
        let facts = try FactStore.load(keys, on: connection)
        let owners = try PurchaseStore.owners(keys, on: connection)
        return zip(keys, zip(facts, owners)).map { key, state in
            let purchase = Purchase(folding: state.0, key: key)
            return Work(
                key: key, facts: state.0, formerOwner: state.1,
                identified: Set(purchase?.periods.map(\.id) ?? []), purchase: purchase)
        }
    }

    private func fold(
        _ notifications: [PreparedNotification], _ woken: [PurchaseKey], _ works: inout [Work], _ now: Int64
    ) {
        let places = Dictionary(works.enumerated().map { ($1.key, $0) }) { first, _ in first }
        for notification in notifications {
            guard case .facts(let key, let rows, let fact) = notification.content, let place = places[key] else {
                continue
            }
            for row in rows {
                row.insert(into: &works[place].facts)
                works[place].newFacts.append(FactStore.New(key: key, seq: notification.pending.seq, fact: row))
            }
            look(&works[place], .notification(fact), now)
        }
        for key in woken {
            if let place = places[key] { look(&works[place], .time, now) }
        }
    }

    private func look(_ work: inout Work, _ cause: Cause, _ now: Int64) {
        guard let after = Purchase(folding: work.facts, key: work.key) else { return }
        work.drafts += deriver.events(before: work.purchase, after: after, cause: cause, now: now)
        work.purchase = after
    }

    /// The owner follows from the facts; a customer who had it under an anonymous id before is the same person.
    private func findOwners(_ works: inout [Work], now: Int64, on connection: PostgresConnection) throws {
        let folded = works.map { work in work.purchase.map { $0.owner(digest: Applier.digest) } }
        let tokens = Set(folded.compactMap { owner in if case .token(let token) = owner { token } else { nil } })
        let known = try CustomerStore.find(tokens, on: connection)
        var merges: [(anonymous: String, into: String)] = []
        for (place, owner) in folded.enumerated() {
            switch owner {
            case .token(let token): works[place].owner = known[token] ?? token.lowercased()
            case .anonymous(let id): works[place].owner = id
            case nil: continue
            }
            if let former = works[place].formerOwner, former != works[place].owner, Owner.isAnonymous(former) {
                merges.append((former, works[place].owner))
            }
        }
        try CustomerStore.make(
            Set(works.map(\.owner).filter { !$0.isEmpty }), now: now, on: connection)
        try merge(merges, on: connection)
    }

    private func merge(_ merges: [(anonymous: String, into: String)], on connection: PostgresConnection) throws {
        guard !merges.isEmpty else { return }
        let customers = try CustomerStore.load(Set(merges.flatMap { [$0.anonymous, $0.into] }), on: connection)
        var joined: [String: String] = [:]
        for merge in merges {
            guard let from = customers[merge.anonymous]?.originalAppUserID,
                let into = customers[merge.into]?.originalAppUserID, from != into, Owner.isAnonymous(from)
            else { continue }
            joined[from] = into
        }
        try CustomerStore.merge(joined.map { (anonymous: $0.key, into: $0.value) }, on: connection)
    }

    private func write(_ works: [Work], now: Int64, on connection: PostgresConnection) throws {
        var records: [PurchaseStore.New] = []
        var identifiers: [(identifier: String, key: PurchaseKey)] = []
        for work in works {
            guard let purchase = work.purchase else { continue }
            records.append(
                PurchaseStore.New(
                    purchase: purchase, owner: work.owner,
                    wake: purchase.nextWake(after: now, patience: deriver.patience)))
            let fresh = purchase.periods.map(\.transaction).filter { !work.identified.contains($0.transactionID) }
            let names = fresh.flatMap { [$0.transactionID, $0.webOrderLineItemID].compactMap { $0 } }
            let original = work.identified.isEmpty ? [work.key.originalTransactionID] : []
            identifiers += Set(names + original).map { ($0, work.key) }
        }
        try PurchaseStore.write(records, now: now, on: connection)
        try PurchaseStore.identify(identifiers, on: connection)
    }

    private func events(_ works: [Work], on connection: PostgresConnection) throws -> [NewEvent] {
        let owners = Set(works.filter { !$0.drafts.isEmpty }.map(\.owner))
        let customers = try CustomerStore.load(owners, on: connection)
        return works.flatMap { work -> [NewEvent] in
            guard let customer = customers[work.owner] else { return [] }
            let identity = EventIdentity(
                appUserID: customer.latestIdentifiedID ?? work.owner, originalAppUserID: customer.originalAppUserID,
                aliases: customer.appUserIDs)
            return work.drafts.map { draft in event(draft, identity) }
        }
    }

    private func event(_ draft: EventDraft, _ identity: EventIdentity) -> NewEvent {
        let id = draft.id(digest: Applier.digest)
        let body = bodies.json(draft, id: id, identity: identity, appID: draft.purchase.app)
        return NewEvent(
            lane: draft.purchase.lane, id: UUIDText.bytes(id) ?? [], type: draft.type.rawValue,
            app: draft.purchase.app, environment: draft.purchase.environment,
            originalTransactionID: draft.purchase.originalTransactionID, body: body.bytes)
    }

    private func settle(
        _ notifications: [PreparedNotification], now: Int64, on connection: PostgresConnection
    ) throws {
        guard !notifications.isEmpty else { return }
        let held = notifications.compactMap { notification -> (notification: PendingNotification, reason: String)? in
            guard case .held(let reason) = notification.content else { return nil }
            return (notification.pending, reason)
        }
        if !held.isEmpty {
            try PendingNotification.hold(held, now: now, on: connection)
        }
        try PendingNotification.remove(notifications.map(\.pending), on: connection)
    }

    private static func digest(_ text: String) -> [UInt8] { Crypto.Digest.sha256(Array(text.utf8)) }
}

extension Customer {
    /// The id that a person gave themselves, newest first; nil while nobody did.
    var latestIdentifiedID: String? {
        appUserIDs.last { !Owner.isAnonymous($0) }
    }
}
