import Base
import Crypto
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    package struct Granting: Sendable {
        package let grant: Grant
        /// Ids of the events that say so.
        package let events: [String]
        /// False if the same was granted shortly before: then nothing was done.
        package let isNew: Bool
    }

    package struct Revocation: Sendable {
        /// What was taken back; empty: nothing was running.
        package let grants: [Grant]
        /// Ids of the events that say so.
        package let events: [String]
    }

    /// Gives a customer an entitlement, without the store, from now on. The same again within two hours is a repetition, and
    /// changes nothing.
    ///
    /// - Parameters:
    ///   - grantID: of the grant, 32 hex digits; nil: a new one.
    ///   - makesCustomer: whether the customer is made if the id is new.
    /// - Throws: `Rejection` where nothing can be granted for that time, or the id names no customer, or cannot name one.
    package func grant(
        _ entitlement: String, to id: String, _ term: GrantTerm, under grantID: String? = nil,
        makesCustomer: Bool = true, on connection: PostgresConnection
    ) throws -> Granting {
        let key = Grant.key(grantID ?? Hex.encode(SecureRandom.bytes(16)))
        return try holding({ [key] }, on: connection) { _ in
            var found = try lock([id], on: connection)
            if found.first == nil {
                guard makesCustomer else { throw Rejection.unknown(id) }
                if let why = AppUserID.objection(toNew: id) { throw Rejection.unusable(id: id, why: why) }
                found = try lockOrMake([id], on: connection)
            }
            let now = found.now
            if let why = term.objection(now: now) { throw Rejection.ungrantable(why) }
            let given = try grants(of: id, on: connection).map(\.grant)
            if let same = given.first(where: { term.isRepetition(of: $0, entitlement, now: now) }) {
                return Granting(grant: same, events: [], isNew: false)
            }
            let (product, end) = (term.product(of: entitlement), term.end(now: now))
            let action = try ActionTable.add(
                ActionTable.New(
                    .grant, id,
                    detail: .object([
                        "entitlement": .string(entitlement), "product_id": .string(product),
                        "original_transaction_id": .string(key.originalTransactionID),
                        "expires_at": end.map { .date($0) },
                    ])), by: origin, now: now, on: connection)
            let grant = Grant(
                id: key.originalTransactionID, entitlement: entitlement, product: product, start: now, end: end,
                at: now, action: action)
            var holding = HeldGrant(grant: grant, owner: id, facts: PurchaseFacts(), before: nil)
            let assignment = FactRow(OwnerAssignment(owner: id, at: now, action: action))
            try write(&holding, [FactRow(grant), assignment], now: now, on: connection)
            let events = try tell([holding], action, now: now, on: connection)
            return Granting(grant: grant, events: events, isNew: true)
        }
    }

    /// Takes back all that runs of what a customer was granted of an entitlement.
    ///
    /// - Throws: `Rejection` where the id names no customer.
    package func revoke(
        _ entitlement: String, from id: String, on connection: PostgresConnection
    ) throws -> Revocation {
        try holding({ try grantKeys(of: id, on: connection) }, on: connection) { purchases in
            let now = try lock(id, on: connection).now
            // A transaction that granted something held the customer, and has committed by now.
            guard try Set(grantKeys(of: id, on: connection)) == Set(purchases) else { throw Overtaken() }
            let running = try grants(of: id, on: connection).filter {
                $0.grant.entitlement == entitlement && $0.grant.isRunning(at: now)
            }
            guard !running.isEmpty else { return Revocation(grants: [], events: []) }
            let ids = running.map(\.grant.id)
            let action = try ActionTable.add(
                ActionTable.New(
                    .revoke, id,
                    detail: .object([
                        "entitlement": .string(entitlement), "original_transaction_ids": .strings(ids),
                    ])), by: origin, now: now, on: connection)
            let ended = try end(running, action, now: now, on: connection)
            let events = try tell(ended, action, now: now, on: connection)
            return Revocation(grants: ended.map(\.grant), events: events)
        }
    }

    /// Ends what runs of these grants without an event: the customer is gone. Their lanes are held.
    func endGrants(
        _ keys: [PurchaseKey], _ action: Int64, now: Int64, on connection: PostgresConnection
    ) throws {
        let grants = try heldGrants(keys.filter(\.isGrant), on: connection)
        _ = try end(grants.filter { $0.grant.isRunning(at: now) }, action, now: now, on: connection)
    }

    // MARK: - Steps

    /// A grant whose lane is held.
    private struct HeldGrant {
        var grant: Grant
        let owner: String
        var facts: PurchaseFacts
        /// As it was before this action.
        let before: Purchase?
    }

    private func grantKeys(of id: String, on connection: PostgresConnection) throws -> [PurchaseKey] {
        try PurchaseTable.owned(by: try ids(of: id, on: connection), on: connection).filter(\.isGrant)
    }

    private func grants(of id: String, on connection: PostgresConnection) throws -> [HeldGrant] {
        try heldGrants(try grantKeys(of: id, on: connection), on: connection)
    }

    private func heldGrants(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [HeldGrant] {
        let owners = try PurchaseTable.owners(keys, on: connection)
        return try zip(zip(keys, owners), FactTable.load(keys, on: connection)).compactMap { named, facts in
            guard let owner = named.1, let purchase = Purchase(folding: facts, key: named.0),
                let grant = Grant(purchase)
            else { return nil }
            return HeldGrant(grant: grant, owner: owner, facts: facts, before: purchase)
        }
    }

    /// Makes the version that takes back, of each.
    private func end(
        _ running: [HeldGrant], _ action: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> [HeldGrant] {
        try running.map { running in
            var ended = running
            ended.grant = running.grant.revoked(at: now, action: action)
            try write(&ended, [FactRow(ended.grant)], now: now, on: connection)
            return ended
        }
    }

    /// Keeps new facts of a grant, and its record.
    private func write(
        _ held: inout HeldGrant, _ rows: [FactRow], now: Int64, on connection: PostgresConnection
    ) throws {
        let (key, seq) = (held.grant.key, SequenceGenerator.least(at: held.grant.at))
        try FactTable.insert(rows.map { FactTable.New(key: key, seq: seq, fact: $0) }, on: connection)
        for row in rows { row.insert(into: &held.facts) }
        guard let purchase = Purchase(folding: held.facts, key: key) else { return }
        let wake = held.facts.nextWake(of: purchase, after: now, confirmation: ExpiryConfirmation())
        try PurchaseTable.write(
            [PurchaseRecord(purchase, owner: held.owner, wake: wake)], now: now, on: connection)
        guard held.before == nil else { return }
        try PurchaseTable.identify(purchase.identifiers.map { ($0, key) }, on: connection)
    }

    /// Tells what an action made of grants; the ids of the events.
    private func tell(
        _ held: [HeldGrant], _ action: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> [String] {
        // What a grant gives is its own entitlement, and it costs nothing: neither needs the configuration.
        let bodies = EventBody(catalogue: EntitlementCatalogue())
        let customers = try CustomerTable.load(Set(held.map(\.owner)), on: connection)
        var events: [NewEvent] = []
        for held in held {
            guard let customer = customers[held.owner],
                let after = Purchase(folding: held.facts, key: held.grant.key)
            else { continue }
            let drafts = EventDeriver().events(before: held.before, after: after, cause: .action(action), now: now)
            for draft in drafts {
                let id = draft.id
                let body = bodies.json(
                    draft, id: id, identity: customer.identity(of: held.owner), appID: Grant.app)
                events.append(
                    NewEvent(
                        lane: held.grant.key.lane, id: UUIDText.bytes(id) ?? [], type: draft.type.rawValue,
                        app: Grant.app, environment: .production, originalTransactionID: held.grant.id,
                        body: body.bytes))
            }
        }
        _ = try EventTable.insert(events, now: now, on: connection)
        return events.map { UUIDText.upper($0.id) }
    }
}
