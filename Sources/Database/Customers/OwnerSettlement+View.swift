import Base
import Postgres
import Subscriptions

extension OwnerSettlement {
    /// What is known of some accounts.
    struct View {
        let accounts: Set<AccountKey>
        /// By account, then by original transaction id.
        var claims: [AccountKey: [String: PurchaseClaims]] = [:]
        var members: [PurchaseKey: AccountTable.Member] = [:]
        /// Assignments that go into the log with it.
        var found: [FactTable.New] = []
        var joins: AccountJoins.Joins = [:]
        var states: [AccountKey: AccountTable.State] = [:]
        /// Ids whose customers are locked: what the log says of them stays so.
        var held: Set<String> = []
    }

    /// Locks the accounts that are concerned, those that purchases leave too.
    func lock(
        _ claims: [PurchaseKey: PurchaseClaims], _ keys: Set<PurchaseKey>, _ others: Set<AccountKey>,
        on connection: PostgresConnection
    ) throws -> [AccountKey: AccountTable.State] {
        var locked: [AccountKey: AccountTable.State] = [:]
        while true {
            let stored = try AccountTable.members(keys.union(claims.keys), on: connection)
            var wanted = others.union(claims.map { AccountKey(of: $0, account: $1.account) })
            for member in stored.values {
                if member.claims != nil {
                    wanted.insert(AccountKey(of: member.key, account: member.account))
                } else if claims[member.key] == nil {
                    let made = try self.claims(of: member, on: connection)
                    wanted.insert(AccountKey(of: member.key, account: made?.account))
                }
            }
            wanted.subtract(locked.keys)
            guard !wanted.isEmpty else { return locked }
            let states = try AccountTable.lock(wanted, on: connection)
            for account in wanted { locked[account] = states[account] ?? AccountTable.State() }
        }
    }

    /// Locks the customers whom the accounts name, before the log is read: what it says of them stays so until this is written.
    /// Ids that name no customer yet have no row to lock (`unread`).
    ///
    /// - Returns: the ids whose customers are locked.
    func holdCustomers(of view: View, on connection: PostgresConnection) throws -> Set<String> {
        var ids: Set<String> = []
        for claims in view.claims.values {
            let named = claims.values.reduce(into: Set<String>()) { $0.formUnion($1.ids) }
            ids.formUnion(named)
        }
        ids.formUnion(view.members.values.map(\.owner))
        ids.formUnion(view.joins.values.flatMap { $0.flatMap { [$0.one, $0.other] } })
        ids.formUnion(try CustomerTable.find(ids.filter(AppUserID.isUUID), on: connection).values)
        let named = ids.sorted()
        let roots = try CustomerTable.lock(named, on: connection)
        return Set(zip(named, roots).compactMap { id, root in root == nil ? nil : id })
    }

    /// Claims of a record that has none that this program reads, from its facts.
    func claims(
        of member: AccountTable.Member, on connection: PostgresConnection
    ) throws -> PurchaseClaims? {
        PurchaseClaims(of: try FactTable.load([member.key], on: connection).first ?? PurchaseFacts())
    }

    func view(
        of accounts: [AccountKey: AccountTable.State], _ claims: [PurchaseKey: PurchaseClaims],
        and keys: Set<PurchaseKey>, on connection: PostgresConnection
    ) throws -> View {
        var view = try view(of: Set(accounts.keys), claims, and: keys, on: connection)
        view.states = accounts
        return view
    }

    func view(
        of accounts: Set<AccountKey>, _ claims: [PurchaseKey: PurchaseClaims], and keys: Set<PurchaseKey> = [],
        on connection: PostgresConnection
    ) throws -> View {
        var view = View(accounts: accounts)
        view.members = try AccountTable.members(of: accounts, on: connection)
        let alone = accounts.compactMap(\.purchase).filter { view.members[$0] == nil }
        // Records of before do not say which account they are of.
        let others = Set(alone).union(keys).union(claims.keys).subtracting(view.members.keys)
        view.members.merge(try AccountTable.members(others, on: connection)) { first, _ in first }
        var read = claims
        for member in view.members.values {
            if let kept = claims[member.key] {
                // It may have been kept since the caller read the facts.
                let found = member.claims?.assignments.filter(\.isFound) ?? []
                if let owner = found.first, !kept.assignments.contains(where: \.isFound) {
                    read[member.key] = kept.with(owner)
                }
                guard member.isFound, let owner = try keep(member, in: kept, &view, on: connection) else { continue }
                read[member.key] = owner
            } else if let kept = member.claims {
                read[member.key] = kept
            } else if let made = try self.claims(of: member, on: connection) {
                read[member.key] =
                    member.isFound ? try keep(member, in: made, &view, on: connection) ?? made : made
            }
        }
        for (key, claims) in read {
            let account = AccountKey(of: key, account: claims.account)
            guard accounts.contains(account) else { continue }
            view.claims[account, default: [:]][key.originalTransactionID] = claims
        }
        view.joins = try AccountJoins.of(accounts, on: connection)
        return view
    }

    /// The claims of a record of before, with the owner that was found.
    func keep(
        _ member: AccountTable.Member, in claims: PurchaseClaims, _ view: inout View,
        on connection: PostgresConnection
    ) throws -> PurchaseClaims? {
        guard !claims.assignments.contains(where: \.isFound),
            let kept = try ActionTable.keeping(on: connection)
        else { return nil }
        let assignment = OwnerAssignment(owner: member.owner, at: kept.at, action: kept.number, isFound: true)
        view.found.append(
            FactTable.New(key: member.key, seq: SequenceGenerator.least(at: kept.at), fact: FactRow(assignment)))
        return claims.with(assignment)
    }
}

extension AccountKey {
    private static let alone = "purchase "

    /// The purchase that is the account; nil: it is one of Apple's.
    var purchase: PurchaseKey? {
        guard id.hasPrefix(AccountKey.alone) else { return nil }
        return PurchaseKey(
            app: app, environment: environment, originalTransactionID: String(id.dropFirst(AccountKey.alone.count)))
    }

    var appTransactionID: String? { purchase == nil ? id : nil }

    /// Any purchase of it: ids are made of its app and environment.
    func scope(_ claims: [String: PurchaseClaims]) -> PurchaseKey? {
        claims.keys.min().map { PurchaseKey(app: app, environment: environment, originalTransactionID: $0) }
    }
}

extension PurchaseClaims {
    /// Without the owner that an upgrade found.
    var withoutFound: PurchaseClaims {
        PurchaseClaims(
            account: account, began: began, isConsumable: isConsumable, tokens: tokens,
            wasWithoutToken: wasWithoutToken, accountKnown: accountKnown, posts: posts,
            assignments: assignments.filter { !$0.isFound })
    }

    fileprivate func with(_ assignment: OwnerAssignment) -> PurchaseClaims {
        PurchaseClaims(
            account: account, began: began, isConsumable: isConsumable, tokens: tokens,
            wasWithoutToken: wasWithoutToken, accountKnown: accountKnown, posts: posts,
            assignments: (assignments + [assignment]).sorted {
                ($0.action, $0.at, $0.owner) < ($1.action, $1.at, $1.owner)
            })
    }
}
