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
        try respell(id, on: connection)
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
            let outcome = try outcome(
                of: purchase, former, claimant, settings, isRestore: isRestore, now: now, on: connection)
            switch outcome {
            case .nothing: return .theirs
            case .refused(let why): throw Refusal.restore(why)
            case .join:
                let owners = zip(concerned, try PurchaseStore.owners(concerned, on: connection))
                let anonymous = owners.filter { $1.map(Owner.isAnonymous) ?? false }.map(\.0)
                return .joined(try join(id, owner, .alias, pinning: anonymous, now: now, on: connection))
            case .move:
                let theirs = Set(try ids(of: owner, on: connection))
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

    func fold(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [Purchase] {
        zip(keys, try FactStore.load(keys, on: connection)).compactMap {
            Purchase(folding: $1, key: $0, defaultGrace: defaultGrace)
        }
    }
}
