import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What Apple says of the rest of an Apple account of which a purchase was posted. It counts as restored by the customer for
/// whom the app posted: Apple's word alone would leave it with an anonymous customer.
extension CustomerActions {
    /// A post of one purchase of an account, as far as it decides about the others.
    struct Act: Sendable {
        let appUserID: String
        let source: PurchasePost.Source
        /// What the configuration says of restores at that time.
        let behavior: @Sendable (PurchaseKey) -> RestoreBehavior
        /// ms since 1970.
        let at: Int64

        init(appUserID: String, source: PurchasePost.Source, settings: RestoreSettings, at: Int64) {
            self.appUserID = appUserID
            self.source = source
            behavior = { settings.behavior(app: $0.app, environment: $0.environment, override: nil) }
            self.at = at
        }

        init(_ post: PurchasePost) {
            (appUserID, source, at) = (post.appUserID, post.source, post.at)
            behavior = { _ in post.behavior }
        }
    }

    /// The posts of a purchase that wait for Apple's answer. Those of deleted customers are left out.
    func acts(waitingAt key: PurchaseKey, on connection: PostgresConnection) throws -> [Act] {
        guard let since = try AccountLookTable.since(key, on: connection) else { return [] }
        let facts = try FactTable.load([key], on: connection)
        let posts = facts.flatMap(\.posts).filter { $0.at >= since && $0.wasNamed == nil }
        // Each customer's last word: a restore says more than what came before it.
        let last = Dictionary(grouping: posts, by: \.appUserID).values.compactMap { posts in
            posts.max { ($0.source == .restore ? 1 : 0, $0.at) < ($1.source == .restore ? 1 : 0, $1.at) }
        }
        return last.sorted { ($0.at, $0.appUserID) < ($1.at, $1.appUserID) }.map(Act.init)
    }

    /// The purchases of an account that have records.
    package func purchases(of account: AccountKey, on connection: PostgresConnection) throws -> [Posted] {
        try AccountTable.members(of: [account], on: connection).values.compactMap { member in
            member.claims.map { Posted(member: member.key, $0) }
        }.sorted { $0.key.originalTransactionID < $1.key.originalTransactionID }
    }

    func note(_ look: AccountLook?, now: Int64, on connection: PostgresConnection) throws {
        guard let look else { return }
        if look.isDone {
            try AccountLookTable.setDone(look.subject, from: look.progress, now: now, on: connection)
        } else {
            try AccountLookTable.setDue(
                look.subject, look.progress, look.isRestore ? .restore : .first, now: now, on: connection)
        }
    }

    /// Writes down that customers posted the rest of their account. A restore moves what is not consumable, as
    /// `restore_behavior` says. Everything else names an owner only of what no act named and no named customer has.
    func claim(_ found: [Posted], by acts: [Act], now: Int64, on connection: PostgresConnection) throws {
        let known = try FactTable.load(found.map(\.key), on: connection)
        for act in acts {
            let members = try AccountTable.members(found.map(\.key), on: connection)
            let ids = [act.appUserID] + found.map { members[$0.key]?.owner ?? act.appUserID }
            let owners = try CustomerTable.roots(of: ids, on: connection)
            // Deleted since.
            guard let own = owners.first ?? nil else { continue }
            var posts: [PurchaseKey: PurchasePost] = [:]
            for (place, purchase) in found.enumerated() where known[place].posts.count < CustomerActions.mostPosts {
                let isKnown = members[purchase.key] != nil
                let isRestore = act.source == .restore && !purchase.isConsumable
                if isKnown, let owner = owners[place + 1], owner == own || !isRestore && !owner.isAnonymous { continue }
                posts[purchase.key] = PurchasePost(
                    by: act.appUserID, isRestore ? .restore : .queue, transactionID: purchase.transactionID,
                    purchased: purchase.purchased, isRenewal: !isRestore || purchase.isRenewal, isAlone: true,
                    behavior: act.behavior(purchase.key), at: act.at)
            }
            guard !posts.isEmpty else { continue }
            // A deletion has to find every purchase that a post names.
            try log(
                posts.keys.sorted { $0.originalTransactionID < $1.originalTransactionID }, by: act.appUserID, now: now,
                on: connection)
            let new = posts.filter { members[$0.key] == nil }
            try FactTable.insert(new.map { CustomerActions.fact($1, of: $0) }, on: connection)
            let others = posts.filter { members[$0.key] != nil }
            if !others.isEmpty { _ = try take(others, now: now, on: connection) }
        }
    }

    /// Keeps what Apple says later of an account of which a purchase was posted: it counts for the posts that wait for it. The
    /// same again changes nothing.
    ///
    /// - Parameters:
    ///   - subject: with the transaction by which the rest is asked for.
    ///   - asked: where this part began.
    ///   - rest: what is left to ask; nil: nothing.
    package func bringIn(
        _ found: [Posted], and others: [NewNotification], waitingAt subject: AccountLookTable.Subject,
        from asked: AccountLookTable.Progress, rest: AccountLookTable.Progress?, sequence: SequenceGenerator,
        clock: any WallClock, on connection: PostgresConnection
    ) throws {
        let purchases = CustomerActions.purchases(found)
        let all = Set(purchases.map(\.key) + [subject.key]).sorted {
            $0.originalTransactionID < $1.originalTransactionID
        }
        try holding({ all }, on: connection) { _ in
            try settlement.hold(all, on: connection)
            // Erased meanwhile, or a post brought everything.
            guard try AccountLookTable.since(subject.key, on: connection) != nil else { return }
            let acts = try acts(waitingAt: subject.key, on: connection)
            let owners = try PurchaseTable.owners(all, on: connection).compactMap { $0 }
            let now = try lock(acts.map(\.appUserID) + owners, on: connection).now
            try claim(purchases.filter { $0.key != subject.key }, by: acts, now: now, on: connection)
            _ = try CustomerActions.insert(CustomerActions.entries(found) + others, sequence, clock, on: connection)
            if let rest {
                try AccountLookTable.setProgress(subject, rest, from: asked, now: now, on: connection)
            } else {
                try AccountLookTable.setDone(subject, from: asked, now: now, on: connection)
            }
            FailPoint.lookBeforeCommit.pass()
        }
        FailPoint.lookAfterCommit.pass()
    }
}
