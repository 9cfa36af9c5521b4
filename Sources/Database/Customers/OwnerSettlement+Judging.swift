import Base
import Postgres
import Subscriptions

extension OwnerSettlement {
    /// - Parameter joining: whether what one of these accounts joins counts for the others; else what the database has does.
    func judge(
        _ view: View, joining: Bool = false, on connection: PostgresConnection
    ) throws -> [AccountKey: AccountOwners] {
        let digest = try salt.digest(on: connection)
        var names: [AccountKey: AccountOwners.Names] = [:]
        var ids: [AccountKey: Set<String>] = [:]
        for (account, claims) in view.claims {
            guard let scope = account.scope(claims) else { continue }
            let own = AccountOwners.Names(of: scope, account: account.appTransactionID, digest: digest)
            names[account] = own
            ids[account] = claims.values.reduce(into: [own.account]) { $0.formUnion($1.ids) }
        }
        var log = try CustomerLogQuery(about: ids.values.reduce(into: []) { $0.formUnion($1) }, on: connection)
        let deleted = try deletions(of: names, ids, on: connection)
        let settings = try OwnerSettingTable.read(on: connection)
        var judged: [AccountKey: AccountOwners] = [:]
        var activities: [PurchaseKey: SubscriptionActivity] = [:]
        var passes = 0
        var isStable = true
        repeat {
            isStable = true
            for (account, claims) in view.claims.sorted(by: { $0.key < $1.key }) {
                guard let own = names[account] else { continue }
                var customers = log.log(about: ids[account] ?? [], of: account)
                customers.entries += deleted[account] ?? []
                let place = AppScope(app: account.app, environment: account.environment)
                let owners = try AccountOwners(of: claims, customers, settings[place] ?? OwnerSettings(), names: own) {
                    purchase, instant, transaction in
                    let key = PurchaseKey(
                        app: account.app, environment: account.environment, originalTransactionID: purchase)
                    if activities[key] == nil {
                        let facts = try FactTable.load([key], on: connection).first ?? PurchaseFacts()
                        activities[key] = SubscriptionActivity(of: facts, key: key, foldSettings: foldSettings)
                    }
                    return activities[key]?.isActive(at: instant, leavingOut: transaction) ?? false
                }
                if joining, log.set(owners.joins, of: account) { isStable = false }
                judged[account] = owners
            }
            passes += 1
            // A join depends on earlier ones alone, so this ends; the limit is for joins of one instant.
        } while joining && !isStable && view.claims.count > 1 && passes < OwnerSettlement.mostPasses
        return judged
    }

    private static let mostPasses = 10

    /// Deletions of the ids that an account names: the log loses these, and their hashes are kept for good. Each deletion of the
    /// account's own id made it a new one.
    func deletions(
        of names: [AccountKey: AccountOwners.Names], _ ids: [AccountKey: Set<String>],
        on connection: PostgresConnection
    ) throws -> [AccountKey: [CustomerLog.Entry]] {
        var found: [AccountKey: [CustomerLog.Entry]] = [:]
        let known = try self.names.all(of: ids.values.reduce(into: []) { $0.formUnion($1) }, on: connection)
        guard !known.isEmpty else { return [:] }
        func add(_ deletion: DeletedCustomerHashes.Deletion, of id: String, to account: AccountKey) {
            found[account, default: []].append(
                CustomerLog.Entry(at: deletion.at, number: deletion.action, deed: .delete(id)))
        }
        for (account, ids) in ids {
            for id in ids where id != names[account]?.account {
                for deletion in known[id] ?? [] { add(deletion, of: id, to: account) }
            }
        }
        var wanted = names.map { (account: $0.key, id: $0.value.account) }.filter { known[$0.id] != nil }
        while !wanted.isEmpty {
            let deleted = try self.names.all(of: Set(wanted.map(\.id)), on: connection)
            wanted = wanted.flatMap { account, id in
                (deleted[id] ?? []).compactMap { deletion in
                    add(deletion, of: id, to: account)
                    return names[account].map { (account, $0.deletion(deletion.action)) }
                }
            }
        }
        return found
    }

    /// Owners of accounts with owners that an upgrade found, where the rules alone would say otherwise: by purchase, what they say.
    func differing(
        _ judged: [AccountKey: AccountOwners], _ view: View, on connection: PostgresConnection
    ) throws -> [AccountKey: [PurchaseKey: String]] {
        var ruled = view
        ruled.claims = view.claims.filter { judged[$0.key] != nil }.mapValues { claims in
            claims.values.contains { $0.assignments.contains(where: \.isFound) }
                ? claims.mapValues(\.withoutFound) : [:]
        }.filter { !$0.value.isEmpty }
        guard !ruled.claims.isEmpty else { return [:] }
        let rules = try judge(ruled, on: connection)
        var differing: [AccountKey: [PurchaseKey: String]] = [:]
        for (account, owners) in rules {
            let kept = judged[account]?.owners ?? [:]
            for (key, id) in keyed(owners, account) {
                guard let found = kept[key.originalTransactionID], found != id else { continue }
                let roots = try CustomerTable.roots(of: [found, id], on: connection)
                if roots[0] == nil || roots[0] != roots[1] { differing[account, default: [:]][key] = id }
            }
        }
        return differing
    }

    /// Purchases of these accounts with the owners that they have, and those that the rules alone would give them.
    package func differing(
        of accounts: Set<AccountKey>, on connection: PostgresConnection
    ) throws -> [PurchaseKey: (found: String, ruled: String)] {
        let view = try view(of: accounts, [:], on: connection)
        let judged = try judge(view, on: connection)
        return try differing(judged, view, on: connection).values.reduce(into: [:]) { all, purchases in
            for (key, id) in purchases { all[key] = (view.members[key]?.owner ?? "", id) }
        }
    }

    // MARK: - Ids

    /// Under which ids customers are known whom a UUID names.
    func spellings(
        _ judged: [AccountKey: AccountOwners], _ view: View, on connection: PostgresConnection
    ) throws -> [String: String] {
        var wanted: Set<String> = []
        for (account, owners) in judged {
            for (key, id) in keyed(owners, account) where AppUserID.isUUID(id) {
                let former = view.members[key]?.owner
                if former.map(AppUserID.canonical) != AppUserID.canonical(id) { wanted.insert(id) }
            }
            let joins = owners.joins.union(view.joins[account] ?? [])
            wanted.formUnion(joins.flatMap { [$0.one, $0.other] }.filter(AppUserID.isUUID))
        }
        return try CustomerTable.find(wanted, on: connection)
    }

    /// The spelling that a record has stays, though another one came since.
    func spelled(_ id: String, _ former: String?, _ ids: [String: String]) -> String {
        if let former, AppUserID.canonical(former) == AppUserID.canonical(id) { return former }
        return ids[id] ?? id
    }

    func keyed(_ owners: AccountOwners, _ account: AccountKey) -> [(PurchaseKey, String)] {
        owners.owners.map { purchase, id in
            (PurchaseKey(app: account.app, environment: account.environment, originalTransactionID: purchase), id)
        }
    }
}
