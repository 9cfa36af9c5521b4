import Base
import Postgres
import Queue
import Records
import Subscriptions

extension CustomerActions {
    package enum Claim: Sendable {
        /// It was theirs before.
        case theirs
        /// The owner and who claims it are one customer now.
        case joined(Alias)
        case moved(Transfer)
    }

    /// A customer restores a purchase, as an app would do it for them: what then happens, the settings and the owner's own
    /// say. The customer is made if nobody has the id.
    ///
    /// - Parameter isRestore: false for a new purchase.
    /// - Throws: `Refusal` where there is no such purchase, or the behaviour lets it stay.
    package func claim(
        _ purchase: PurchaseKey, by id: String, settings: RestoreSettings, isRestore: Bool = true,
        on connection: PostgresConnection
    ) throws -> Claim {
        if purchase.isGrant { throw Refusal.grantStays(purchase.originalTransactionID) }
        try respell(id, on: connection)
        return try holding({ try concerned(purchase, id, on: connection) }, on: connection) { concerned, now in
            guard let owner = try PurchaseStore.owners([purchase], on: connection).first ?? nil else {
                throw Refusal.unknown(purchase.originalTransactionID)
            }
            return try settle(
                Claimed(key: purchase), of: owner, claimedBy: id, among: concerned,
                RestoreTerms(settings: settings, isRestore: isRestore), now: now, on: connection)
        }
    }

    /// A purchase that is claimed, and what is known of it that is not applied yet.
    struct Claimed {
        let key: PurchaseKey
        /// Its Apple account, where facts that are not applied yet say so.
        var account: String?
        /// Whether those say that it is a subscription that runs.
        var isRunning = false
    }

    /// What becomes of it, by the terms that count for its owner. The lanes of all these purchases are held.
    func settle(
        _ claimed: Claimed, of owner: String, claimedBy id: String, among concerned: [PurchaseKey],
        _ terms: RestoreTerms, now: Int64, on connection: PostgresConnection
    ) throws -> Claim {
        var found = try CustomerStore.lock([owner, id], on: connection)
        if found.last == .some(nil) {
            if let why = AppUserID.objection(to: id) { throw Refusal.unusable(id: id, why: why) }
            try CustomerStore.make([id], now: now, on: connection)
            found = try CustomerStore.lock([owner, id], on: connection)
        }
        guard let former = found.first ?? nil, let claimant = found.last ?? nil else {
            throw Refusal.unknown(owner)
        }
        switch try outcome(of: claimed, former, claimant, terms, now: now, on: connection) {
        case .nothing: return .theirs
        case .refused(let why): throw Refusal.restore(why)
        case .join:
            let owners = zip(concerned, try PurchaseStore.owners(concerned, on: connection))
            let anonymous = owners.filter { $1.map(Owner.isAnonymous) ?? false }.map(\.0)
            return .joined(try join(id, owner, .alias, pinning: anonymous, now: now, on: connection))
        case .move:
            let theirs = Set(try ids(of: owner, on: connection))
            let moving = try sameAccount(as: claimed, among: concerned, theirs, on: connection)
            return .moved(try move(moving, .claim, from: owner, to: id, now: now, on: connection))
        }
    }

    /// The purchase, all others of its owner, and those of who claims it that have anonymous owners.
    private func concerned(
        _ purchase: PurchaseKey, _ id: String, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        guard let owner = try PurchaseStore.owners([purchase], on: connection).first ?? nil else { return [] }
        return try self.concerned(owner, id, on: connection)
    }

    /// All purchases of an owner, and those of who claims some of them that have anonymous owners.
    func concerned(_ owner: String, _ id: String, on connection: PostgresConnection) throws -> [PurchaseKey] {
        let claimants = try ids(of: id, on: connection).filter(Owner.isAnonymous)
        return try PurchaseStore.owned(by: try ids(of: owner, on: connection) + claimants, on: connection)
    }

    /// A restore brings everything that the Apple account bought in this app.
    private func sameAccount(
        as claimed: Claimed, among keys: [PurchaseKey], _ owners: Set<String>, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        let folded = try fold(keys, on: connection)
        let purchase = claimed.key
        let account = folded.first { $0.key == purchase }?.appTransactionID ?? claimed.account
        let current = try PurchaseStore.owners(folded.map(\.key), on: connection)
        let moving = zip(folded, current).filter { other, owner in
            guard owner.map(owners.contains) ?? false else { return false }
            return other.key == purchase
                || (account != nil && other.appTransactionID == account && other.key.app == purchase.app
                    && other.key.environment == purchase.environment)
        }.map(\.0.key)
        return moving.contains(purchase) ? moving : moving + [purchase]
    }

    func fold(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [Purchase] {
        zip(keys, try FactStore.load(keys, on: connection)).compactMap {
            Purchase(folding: $1, key: $0, foldSettings: foldSettings)
        }
    }
}
