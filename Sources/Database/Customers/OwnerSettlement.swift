import Base
import Crypto
import Postgres
import Subscriptions

/// Brings the owners of Apple accounts to what is known of them: the one place where a purchase gets its owner, customers become
/// one because of what an account bought, and consumers are told that purchases moved.
///
/// Call it after the fence, and before any purchase is written: it locks the accounts, then the customers. What it writes follows
/// from claims and the log (`AccountOwners`), so calling it again changes nothing.
package struct OwnerSettlement: Sendable {
    let salt: OwnerSalt
    let foldSettings: FoldSettings
    let names = DeletedCustomerHashes()

    /// - Parameter foldSettings: what the configuration adds to facts.
    package init(salt: OwnerSalt, foldSettings: FoldSettings) {
        self.salt = salt
        self.foldSettings = foldSettings
    }

    /// What became of it.
    package struct SettlementResult: Sendable {
        /// The app user ids that own the purchases now, also of those that have no record yet.
        package var owners: [PurchaseKey: String] = [:]
        /// Claims that are to be written with them, where they are others than were given.
        package var claims: [PurchaseKey: PurchaseClaims] = [:]
        /// Ids of TRANSFER events.
        package var transfers: [String] = []
        /// How many other events were written.
        package var others = 0
        /// The ids under which events named owners, where these have other ids of the same customers now.
        package var told: [PurchaseKey: String] = [:]
        /// Purchases whose owner is another customer than before.
        package var moved: Set<PurchaseKey> = []

        package init() {}
    }

    /// - Parameters:
    ///   - claims: of purchases as they are to be written, by the caller where they have no record.
    ///   - keys: more purchases whose accounts are judged, with the claims that their records have.
    ///   - others: more accounts.
    ///   - isWritten: whether the caller writes the records of `claims` itself.
    ///   - tells: whether consumers are told that purchases moved.
    package func settle(
        _ claims: [PurchaseKey: PurchaseClaims], and keys: Set<PurchaseKey> = [], of others: Set<AccountKey> = [],
        isWritten: Bool = false, tells: Bool = true, by origin: ActionTable.Origin, now: Int64,
        on connection: PostgresConnection
    ) throws -> SettlementResult {
        let accounts = try lock(claims, keys, others, on: connection)
        guard !accounts.isEmpty else { return SettlementResult() }
        var view = try view(of: accounts, claims, and: keys, on: connection)
        view.held = try holdCustomers(of: view, on: connection)
        let judged = try judge(view, joining: true, on: connection)
        return try write(judged, view, claims, isWritten: isWritten, tells: tells, by: origin, now: now, on: connection)
    }

    /// Owners and joins as they should be, of the accounts of these purchases; nothing changes.
    package func expected(
        _ claims: [PurchaseKey: PurchaseClaims], now: Int64, on connection: PostgresConnection
    ) throws -> Expected {
        let stored = try AccountTable.members(claims.keys, on: connection)
        var accounts = Set(claims.map { AccountKey(of: $0, account: $1.account) })
        accounts.formUnion(stored.values.map { AccountKey(of: $0.key, account: $0.account) })
        let view = try view(of: accounts, claims, on: connection)
        let judged = try judge(view, on: connection)
        let ids = try spellings(judged, view, on: connection)
        var expected = Expected()
        for (account, owners) in judged {
            for (key, id) in keyed(owners, account) {
                expected.owners[key] = spelled(id, view.members[key]?.owner, ids)
                expected.claims[key] = view.claims[account]?[key.originalTransactionID]
            }
            expected.first[account] = keyed(owners, account).map(\.0).min {
                $0.originalTransactionID < $1.originalTransactionID
            }
            expected.joins[account] = (view.joins[account] ?? [], owners.joins)
            for join in owners.joins {
                for id in [join.one, join.other].map({ ids[$0] ?? $0 }) {
                    expected.ids[account, default: [:]][id] = min(expected.ids[account]?[id] ?? .max, join.at)
                }
            }
        }
        return expected
    }

    package struct Expected: Sendable {
        package var owners: [PurchaseKey: String] = [:]
        /// As the records should have them.
        package var claims: [PurchaseKey: PurchaseClaims] = [:]
        /// The ids that have to name customers because of each account, and since when, in ms.
        package var ids: [AccountKey: [String: Int64]] = [:]
        /// The first purchase of each account.
        package var first: [AccountKey: PurchaseKey] = [:]
        /// Joins as they are, and as they should be.
        package var joins: [AccountKey: (found: Set<AccountOwners.Join>, expected: Set<AccountOwners.Join>)] = [:]
    }

    /// Locks the accounts of these purchases, before any customer is locked.
    package func hold(_ keys: some Collection<PurchaseKey>, on connection: PostgresConnection) throws {
        _ = try lock([:], Set(keys), [], on: connection)
    }

    /// The claims of purchases as their facts have them; those that nothing is known of are left out.
    package static func claims(
        of keys: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [PurchaseKey: PurchaseClaims] {
        var claims: [PurchaseKey: PurchaseClaims] = [:]
        for (key, facts) in zip(keys, try FactTable.load(keys, on: connection)) where !key.isGrant {
            claims[key] = PurchaseClaims(of: facts)
        }
        return claims
    }
}
