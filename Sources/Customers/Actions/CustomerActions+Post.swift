import Base
import Daemon
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// A transaction that Apple signed and an app posted for a customer.
    package struct Posted: Sendable {
        package let key: PurchaseKey
        /// Nil where the purchase is named as a whole.
        package let transactionID: String?
        /// ms since 1970.
        package let purchased: Int64
        /// Whether Apple charged for it by itself.
        package let isRenewal: Bool
        package let isConsumable: Bool
        /// What goes into the log; nil: it is known, or Apple could not be asked for it.
        package let entry: NewNotification?
        /// What the app said of it; its time is set here. Nil: nothing.
        package let context: TransactionContext?

        package init(
            key: PurchaseKey, transaction: TransactionFact, entry: NewNotification?, context: TransactionContext? = nil
        ) {
            self.key = key
            transactionID = transaction.transactionID
            purchased = transaction.purchaseDate
            isRenewal = transaction.reason == "RENEWAL"
            isConsumable = transaction.kind == "Consumable"
            self.entry = entry
            self.context = context
        }

        /// A transaction that a receipt lists, and of which nothing else is known.
        package init(key: PurchaseKey, transactionID: String, purchased: Int64) {
            self.key = key
            self.transactionID = transactionID
            self.purchased = purchased
            (isRenewal, isConsumable) = (false, false)
            (entry, context) = (nil, nil)
        }

        /// A purchase that has a record.
        init(member key: PurchaseKey, _ claims: PurchaseClaims) {
            self.key = key
            (transactionID, purchased) = (nil, claims.began)
            (isRenewal, isConsumable) = (false, claims.isConsumable)
            (entry, context) = (nil, nil)
        }
    }

    /// Whether Apple was asked for everything of the account of what is posted.
    package struct AccountLook: Sendable {
        let subject: AccountLookTable.Subject
        let isDone: Bool
        /// What is left to ask; of one that is done, what was asked.
        let progress: AccountLookTable.Progress
        let isRestore: Bool

        /// - Parameter isDone: false: Apple did not say everything in time, and is asked until it does.
        package init(
            of subject: AccountLookTable.Subject, isDone: Bool, _ progress: AccountLookTable.Progress, isRestore: Bool
        ) {
            self.subject = subject
            self.isDone = isDone
            self.progress = progress
            self.isRestore = isRestore
        }
    }

    /// How an app posted.
    package struct PostTerms: Sendable {
        let settings: RestoreSettings
        let source: PurchasePost.Source
        /// Whether each transaction stands for its purchase alone: those of a StoreKit 1 receipt do.
        let isAlone: Bool

        package init(settings: RestoreSettings, source: PurchasePost.Source = .purchase, isAlone: Bool = false) {
            self.settings = settings
            self.source = source
            self.isAlone = isAlone
        }
    }

    package struct Posting: Sendable {
        /// Where the entries are in the log, also those that were there before.
        package let places: [LogPosition]
        /// The purchases that have to be the customer's once the entries are applied, or were refused.
        package let claimed: [PurchaseKey]
    }

    /// So many posts of one purchase by one customer are kept while it is theirs: each may count once Apple's word of something
    /// between them comes.
    static let mostPosts = 100
    /// So many are kept by all customers together; a purchase that is posted more often than that stays with its owner.
    private static let mostPostsOfAll = 500

    /// Keeps what an app posted, and for whom: with the commit nothing of it can be lost.
    ///
    /// Facts do not depend on who brings them, so they are kept also where the purchase stays with another customer. Whose it is
    /// follows from everything that is known of the Apple account (`AccountOwners`): at once where the purchase is known, else
    /// when the entry is applied. The customer is made if no customer has the id.
    ///
    /// - Parameters:
    ///   - found: what Apple says of the same account.
    ///   - others: what is put into the log behind them, and decides about nothing.
    ///   - look: nil: Apple need not be asked.
    /// - Throws: `Rejection` where the id cannot name a customer, or where something posted would be kept nowhere: an app
    ///   finishes what was taken. Then nothing is kept.
    package func post(
        _ posted: [Posted], found: [Posted] = [], and others: [NewNotification] = [], look: AccountLook? = nil,
        by id: String, sequence: SequenceGenerator, clock: any WallClock, terms: PostTerms,
        on connection: PostgresConnection
    ) throws -> Posting {
        try requireUsable(id, on: connection)
        try respell(id, on: connection)
        let purchases = CustomerActions.purchases(posted)
        let keys = purchases.map(\.key)
        let rest = CustomerActions.purchases(found).filter { !keys.contains($0.key) }
        let all = keys + rest.map(\.key)
        let remembers = try look != nil && AccountLookTable.exists(on: connection)
        let posting = try holding({ all }, on: connection) { _ in
            try settlement.hold(all, on: connection)
            if let look, !look.isDone, !remembers { try requireKept(posted, on: connection) }
            let look = remembers ? look : nil
            let earlier = try look.map { look in
                look.isDone ? try acts(waitingAt: look.subject.key, on: connection) : []
            }
            let owners = try PurchaseTable.owners(all, on: connection).compactMap { $0 }
            let now = try lockOrMake([id] + (earlier ?? []).map(\.appUserID) + owners, on: connection).now
            // Before the purchase is applied: its first event names this id.
            try SeenIDs.mark([id], now: now, on: connection)
            try PurchaseTable.touch(
                try FactTable.insertNew(try contexts(posted, now: now, on: connection), on: connection), now: now,
                on: connection)
            try claim(purchases, by: id, terms, now: now, on: connection)
            if !rest.isEmpty {
                let act = Act(appUserID: id, source: terms.source, settings: terms.settings, at: now)
                try claim(rest, by: (earlier ?? []) + [act], now: now, on: connection)
            }
            try note(look, now: now, on: connection)
            try AppPostTable.note(
                Set(keys.map { AppScope(app: $0.app, environment: $0.environment) }), now: now, on: connection)
            let places = try CustomerActions.insert(
                CustomerActions.entries(posted + found) + others, sequence, clock, on: connection)
            FailPoint.postBeforeCommit.pass()
            return Posting(places: places, claimed: terms.source == .queue ? [] : keys)
        }
        FailPoint.postAfterCommit.pass()
        return posting
    }

    /// What is named without its signed data lives on by the look that is due, or where its transaction is known.
    private func requireKept(_ posted: [Posted], on connection: PostgresConnection) throws {
        let named = posted.filter { $0.entry == nil }
        guard try FactTable.knowsAll(named.map { ($0.key, $0.transactionID) }, on: connection) else {
            throw Rejection.unheard
        }
    }

    /// Puts what Apple said into the log, for no customer in particular; where it is there.
    package func note(
        _ entries: [NewNotification], sequence: SequenceGenerator, clock: any WallClock,
        on connection: PostgresConnection
    ) throws -> [LogPosition] {
        try connection.transaction { try CustomerActions.insert(entries, sequence, clock, on: connection) }
    }

    static func insert(
        _ entries: [NewNotification], _ sequence: SequenceGenerator, _ clock: any WallClock,
        on connection: PostgresConnection
    ) throws -> [LogPosition] {
        var known: Set<NotificationIdentity> = []
        let entries = entries.filter { known.insert($0.identity).inserted }
        guard !entries.isEmpty else { return [] }
        var inserter = NotificationInserter(sequence: sequence, clock: clock)
        _ = try inserter.insert(entries, on: connection)
        return try KnownNotifications.places(of: entries.map(\.identity), on: connection)
    }

    // MARK: - What is posted

    /// What goes into the log, the oldest purchase first.
    static func entries(_ posted: [Posted]) -> [NewNotification] {
        posted.sorted { $0.purchased < $1.purchased }.compactMap(\.entry)
    }

    /// Each purchase once, by the newest of its transactions.
    static func purchases(_ posted: [Posted]) -> [Posted] {
        var newest: [PurchaseKey: Posted] = [:]
        for item in posted where item.purchased >= newest[item.key]?.purchased ?? .min {
            newest[item.key] = item
        }
        return newest.values.sorted { $0.key.originalTransactionID < $1.key.originalTransactionID }
    }

    /// What is new of what the app said: an app may say as many things of a purchase as it likes.
    private func contexts(
        _ posted: [Posted], now: Int64, on connection: PostgresConnection
    ) throws -> [FactTable.New] {
        let said = posted.filter { $0.context != nil }
        let known = Dictionary(zip(said.map(\.key), try FactTable.load(said.map(\.key), on: connection))) { $1 }
        return said.compactMap { item in
            guard var context = item.context, known[item.key]?.isNews(context) ?? true else { return nil }
            context.at = now
            return FactTable.New(key: item.key, seq: SequenceGenerator.least(at: now), fact: FactRow(context))
        }
    }

    // MARK: - Whose it is

    /// Writes down that the customer has these purchases. Where there are records, their owners follow at once; else with them.
    private func claim(
        _ purchases: [Posted], by id: String, _ terms: PostTerms, now: Int64, on connection: PostgresConnection
    ) throws {
        let keys = purchases.map(\.key)
        let members = try AccountTable.members(keys, on: connection)
        let owners = try CustomerTable.roots(of: [id] + keys.map { members[$0]?.owner ?? id }, on: connection)
        let known = try FactTable.load(keys, on: connection)
        var posts: [PurchaseKey: PurchasePost] = [:]
        for (place, purchase) in purchases.enumerated() {
            let key = purchase.key
            let earlier = known[place].posts.filter { $0.appUserID == id && $0.source == terms.source }
            let isTheirs = owners[place + 1] == owners[0]
            guard earlier.count < CustomerActions.mostPosts || !isTheirs,
                known[place].posts.count < CustomerActions.mostPostsOfAll
            else { continue }
            posts[key] = PurchasePost(
                by: id, terms.source, transactionID: purchase.transactionID, purchased: purchase.purchased,
                isRenewal: purchase.isRenewal, isAlone: terms.isAlone,
                behavior: terms.settings.behavior(app: key.app, environment: key.environment, override: nil), at: now)
            // A deletion has to find every purchase that a post names.
            if members[key] == nil || !isTheirs { try log([key], by: id, now: now, on: connection) }
        }
        let new = posts.filter { members[$0.key] == nil }
        try FactTable.insert(new.map { CustomerActions.fact($1, of: $0) }, on: connection)
        let others = posts.filter { members[$0.key] != nil }
        if !others.isEmpty { _ = try take(others, now: now, on: connection) }
    }

    func log(_ keys: [PurchaseKey], by id: String, now: Int64, on connection: PostgresConnection) throws {
        let purchases = keys.map { key in
            JSON.object([
                "app": .string(key.app), "environment": .string(key.environment.rawValue),
                "original_transaction_id": .string(key.originalTransactionID),
            ])
        }
        try ActionTable.add(
            ActionTable.New(.post, id, detail: .object(["purchases": .array(purchases)])), by: origin, now: now,
            on: connection)
    }
}
