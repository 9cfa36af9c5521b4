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

    /// A customer restores a purchase, as an app would do it for them: what then happens is `behavior`. The customer is
    /// made if nobody has the id.
    ///
    /// - Throws: `Refusal` where there is no such purchase, or the behaviour lets it stay.
    package func claim(
        _ purchase: PurchaseKey, by id: String, behavior: RestoreBehavior, on connection: PostgresConnection
    ) throws -> Claim {
        if purchase.isGrant { throw Refusal.grantStays(purchase.originalTransactionID) }
        return try holding({ try concerned(purchase, id, on: connection) }, on: connection) { concerned, now in
            guard let owner = try PurchaseStore.owners([purchase], on: connection).first ?? nil else {
                throw Refusal.unknown(purchase.originalTransactionID)
            }
            var found = try CustomerStore.lock([owner, id], on: connection)
            if found.last == .some(nil) {
                if let why = AppUserID.objection(to: id) { throw Refusal.unusable(id: id, why: why) }
                try CustomerStore.make([id], now: now, on: connection)
                found = try CustomerStore.lock([owner, id], on: connection)
            }
            guard let former = found.first ?? nil, let claimant = found.last ?? nil else {
                throw Refusal.unknown(owner)
            }
            let theirs = Set(try ids(of: owner, on: connection))
            let outcome = behavior.outcome(
                isSame: former == claimant, isOwnerAnonymous: former.isAnonymous,
                ownerHasActiveSubscription: try isActive(
                    try PurchaseStore.owned(by: Array(theirs), on: connection), now, on: connection))
            switch outcome {
            case .nothing: return .theirs
            case .refused(let why): throw Refusal.restore(why)
            case .join:
                let owners = zip(concerned, try PurchaseStore.owners(concerned, on: connection))
                let anonymous = owners.filter { $1.map(Owner.isAnonymous) ?? false }.map(\.0)
                return .joined(try join(id, owner, .alias, pinning: anonymous, now: now, on: connection))
            case .move:
                let moving = try sameAccount(as: purchase, among: concerned, theirs, on: connection)
                return .moved(try move(moving, .claim, from: owner, to: id, now: now, on: connection))
            }
        }
    }

    /// The purchase, all others of its owner, and those of who claims it that have anonymous owners.
    private func concerned(
        _ purchase: PurchaseKey, _ id: String, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        guard let owner = try PurchaseStore.owners([purchase], on: connection).first ?? nil else { return [] }
        let claimants = try ids(of: id, on: connection).filter(Owner.isAnonymous)
        return try PurchaseStore.owned(by: try ids(of: owner, on: connection) + claimants, on: connection)
    }

    private func isActive(_ keys: [PurchaseKey], _ now: Int64, on connection: PostgresConnection) throws -> Bool {
        try fold(keys, on: connection).contains { $0.isRenewable && $0.hasAccess(at: now) }
    }

    /// A restore brings everything that the Apple account bought in this app.
    private func sameAccount(
        as purchase: PurchaseKey, among keys: [PurchaseKey], _ owners: Set<String>, on connection: PostgresConnection
    ) throws -> [PurchaseKey] {
        let folded = try fold(keys, on: connection)
        let account = folded.first { $0.key == purchase }?.appTransactionID
        let current = try PurchaseStore.owners(folded.map(\.key), on: connection)
        return zip(folded, current).filter { other, owner in
            guard owner.map(owners.contains) ?? false else { return false }
            return other.key == purchase
                || (account != nil && other.appTransactionID == account && other.key.app == purchase.app
                    && other.key.environment == purchase.environment)
        }.map(\.0.key)
    }

    private func fold(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [Purchase] {
        zip(keys, try FactStore.load(keys, on: connection)).compactMap {
            Purchase(folding: $1, key: $0, defaultGrace: defaultGrace)
        }
    }
}
