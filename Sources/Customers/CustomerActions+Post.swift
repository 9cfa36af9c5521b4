import Base
import Lifecycle
import Postgres
import Queue
import Records
import Subscriptions

extension CustomerActions {
    /// A transaction that Apple signed and an app posted for a customer.
    package struct Posted: Sendable {
        package let key: PurchaseKey
        package let transaction: TransactionFact
        /// What goes into the log; nil: it is known.
        package let entry: NewNotification?
        /// What the app said of it; its time is set here. Nil: nothing.
        package let context: TransactionContext?

        package init(
            key: PurchaseKey, transaction: TransactionFact, entry: NewNotification?, context: TransactionContext? = nil
        ) {
            self.key = key
            self.transaction = transaction
            self.entry = entry
            self.context = context
        }

        fileprivate var isRunning: (Int64) -> Bool {
            let fact = transaction
            return { now in
                fact.isRenewable && fact.revocationDate == nil && fact.expiresDate.map { now < $0 } ?? true
            }
        }
    }

    package struct Posting: Sendable {
        /// Where the entries are in the log, also those that were there before.
        package let places: [(lane: Lane, seq: Int64)]
        /// Why a purchase stays with another customer; nil: all are the poster's.
        package let refusal: Refusal?
    }

    /// Keeps what an app posted, and whose it is: with the commit nothing of it can be lost.
    ///
    /// Facts do not depend on who brings them, so they are kept also where the purchase stays with somebody else. What
    /// nobody has yet is the poster's from its first event on; what somebody has is claimed, as by a restore. A
    /// purchase of an Apple account whose other purchases are known is the same person's. Who posts is made a customer if
    /// nobody has the id.
    ///
    /// - Parameters:
    ///   - posted: the oldest first.
    ///   - others: what is put into the log behind them, and decides about nothing.
    ///   - terms: what decides about purchases that somebody has.
    /// - Throws: `Refusal` where the id cannot name anybody; then nothing is kept.
    package func post(
        _ posted: [Posted], and others: [NewNotification] = [], by id: String, sequence: SequenceGenerator,
        clock: any WallClock, terms: RestoreTerms, on connection: PostgresConnection
    ) throws -> Posting {
        if let why = AppUserID.objection(to: id) { throw Refusal.unusable(id: id, why: why) }
        try respell(id, on: connection)
        let purchases = CustomerActions.purchases(posted)
        let posting = try holding({ try concerned(purchases, id, on: connection) }, on: connection) { held, now in
            if try CustomerStore.lock([id], on: connection).first == .some(nil) {
                try CustomerStore.makeAndHold([id], now: now, on: connection)
            }
            // Before the purchase is applied: its first event names this id.
            try SeenIDs.mark([id], now: now, on: connection)
            var refusal: Refusal?
            for purchase in purchases {
                let why = try give(purchase, to: id, Set(held.map(\.lane)), terms, now: now, on: connection)
                refusal = refusal ?? why
            }
            try PurchaseStore.touch(
                try FactStore.insertNew(try contexts(posted, now: now, on: connection), on: connection), now: now,
                on: connection)
            let places = try CustomerActions.insert(
                posted.compactMap(\.entry) + others, sequence, clock, on: connection)
            FailPoint.postBeforeCommit.pass()
            return Posting(places: places, refusal: refusal)
        }
        FailPoint.postAfterCommit.pass()
        return posting
    }

    /// Puts what Apple said into the log, for nobody in particular; where it is there.
    package func note(
        _ entries: [NewNotification], sequence: SequenceGenerator, clock: any WallClock,
        on connection: PostgresConnection
    ) throws -> [(lane: Lane, seq: Int64)] {
        try connection.transaction { try CustomerActions.insert(entries, sequence, clock, on: connection) }
    }

    private static func insert(
        _ entries: [NewNotification], _ sequence: SequenceGenerator, _ clock: any WallClock,
        on connection: PostgresConnection
    ) throws -> [(lane: Lane, seq: Int64)] {
        var known: Set<NotificationIdentity> = []
        let entries = entries.filter { known.insert($0.identity).inserted }
        guard !entries.isEmpty else { return [] }
        var inserter = NotificationInserter(sequence: sequence, clock: clock)
        _ = try inserter.insert(entries, on: connection)
        return try KnownNotifications.places(of: entries.map(\.identity), on: connection)
    }

    // MARK: - What is posted

    /// Each purchase once, by the newest of its transactions.
    private static func purchases(_ posted: [Posted]) -> [Posted] {
        var newest: [PurchaseKey: Posted] = [:]
        for item in posted where item.transaction.purchaseDate >= newest[item.key]?.transaction.purchaseDate ?? .min {
            newest[item.key] = item
        }
        return newest.values.sorted { $0.key.originalTransactionID < $1.key.originalTransactionID }
    }

    /// What is new of what the app said: an app may say as many things of a purchase as it likes.
    private func contexts(
        _ posted: [Posted], now: Int64, on connection: PostgresConnection
    ) throws -> [FactStore.New] {
        let said = posted.filter { $0.context != nil }
        let known = Dictionary(zip(said.map(\.key), try FactStore.load(said.map(\.key), on: connection))) { $1 }
        return said.compactMap { item in
            guard var context = item.context, known[item.key]?.isNews(context) ?? true else { return nil }
            context.at = now
            return FactStore.New(key: item.key, seq: SequenceGenerator.least(at: now), fact: FactRow(context))
        }
    }

    // MARK: - Whose it is

    /// The posted purchases, and all that could move or be joined with them.
    private func concerned(
        _ purchases: [Posted], _ id: String, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        var keys = Set(purchases.map(\.key))
        for purchase in purchases {
            guard let owner = try owner(of: purchase, on: connection)?.id else { continue }
            keys.formUnion(try concerned(owner, id, on: connection))
        }
        return Array(keys)
    }

    /// Who has a purchase now: by its record, by what was posted and is not applied yet, or as the one whom the other
    /// purchases of the Apple account belong to.
    private func owner(
        of purchase: Posted, on connection: PostgresConnection
    ) throws -> (id: String, isKnown: Bool)? {
        if let owner = try PurchaseStore.owners([purchase.key], on: connection).first ?? nil { return (owner, true) }
        if let given = try FactStore.load([purchase.key], on: connection).first?.assignments.newest {
            return (given.owner, true)
        }
        guard let account = purchase.transaction.appTransactionID else { return nil }
        let id = Owner.anonymousID(
            for: purchase.key, account: account, digest: try OwnerSalt().digest(on: connection))
        return try CustomerStore.known([id], on: connection).isEmpty ? nil : (id, false)
    }

    /// Why the purchase stays with another customer, if it does.
    private func give(
        _ purchase: Posted, to id: String, _ held: Set<Lane>, _ terms: RestoreTerms, now: Int64,
        on connection: PostgresConnection
    ) throws -> Refusal? {
        guard let owner = try owner(of: purchase, on: connection) else {
            try assign(purchase.key, to: id, now: now, on: connection)
            return nil
        }
        let concerned = try concerned(owner.id, id, on: connection)
        guard held.isSuperset(of: concerned.map(\.lane)) else { throw Overtaken() }
        let claimed = Claimed(
            key: purchase.key, account: purchase.transaction.appTransactionID, isRunning: purchase.isRunning(now))
        do {
            let claim = try settle(
                claimed, of: owner.id, claimedBy: id, among: concerned, terms, now: now, on: connection)
            if case .moved = claim { return nil }
            if !owner.isKnown { try assign(purchase.key, to: id, now: now, on: connection) }
            return nil
        } catch let refusal as Refusal {
            guard case .restore = refusal else { throw refusal }
            return refusal
        }
    }

    /// The first word on whose a purchase is.
    private func assign(
        _ purchase: PurchaseKey, to id: String, now: Int64, on connection: PostgresConnection
    ) throws {
        let detail = JSON.object([
            "app": .string(purchase.app), "environment": .string(purchase.environment.rawValue),
            "original_transaction_id": .string(purchase.originalTransactionID),
        ])
        let action = try ActionLog.add(
            ActionLog.New(.post, id, detail: .object(["purchases": .array([detail])])), by: origin, now: now,
            on: connection)
        try assign([(purchase, id)], action, now: now, on: connection)
    }
}
