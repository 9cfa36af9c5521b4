import Base
import Crypto
import Postgres
import Subscriptions

extension OwnerSettlement {
    func write(
        _ judged: [AccountKey: AccountOwners], _ view: View, _ claims: [PurchaseKey: PurchaseClaims],
        isWritten: Bool, tells: Bool, by origin: ActionTable.Origin, now: Int64, on connection: PostgresConnection
    ) throws -> SettlementResult {
        let ids = try spellings(judged, view, on: connection)
        var outcome = outcome(of: judged, view, claims, ids)
        let joins = JoinChanges(judged, view, ids)
        let made = try makeOwners(outcome, joins, judged, view, ids, now: now, on: connection)
        let known = try write(joins, of: view, ids, made: made, on: connection)
        let moves = tells ? try moves(&outcome, view, on: connection) : []
        if !tells { try keepTold(&outcome, view, on: connection) }
        try writeRecords(outcome, view, judged, except: isWritten ? Set(claims.keys) : [], now: now, on: connection)
        try writeStates(of: judged, view, on: connection)
        outcome.transfers = try tell(moves, by: origin, now: now, on: connection)
        if tells { outcome.others += try tell(known, now: now, on: connection) }
        return outcome
    }

    /// Owners as they were judged, and the claims that are others than were given.
    private func outcome(
        of judged: [AccountKey: AccountOwners], _ view: View, _ claims: [PurchaseKey: PurchaseClaims],
        _ ids: [String: String]
    ) -> SettlementResult {
        var outcome = SettlementResult()
        for (account, purchases) in view.claims {
            for (id, kept) in purchases {
                let key = PurchaseKey(app: account.app, environment: account.environment, originalTransactionID: id)
                if let given = claims[key], given != kept { outcome.claims[key] = kept }
            }
        }
        for (account, owners) in judged {
            for (key, id) in keyed(owners, account) {
                outcome.owners[key] = spelled(id, view.members[key]?.owner, ids)
            }
        }
        return outcome
    }

    /// Makes the customers who get purchases or are joined, and holds them.
    ///
    /// - Returns: the ids that were made for one account.
    private func makeOwners(
        _ outcome: SettlementResult, _ joins: JoinChanges, _ judged: [AccountKey: AccountOwners], _ view: View,
        _ ids: [String: String], now: Int64, on connection: PostgresConnection
    ) throws -> Set<String> {
        let given = outcome.owners.filter { view.members[$0.key]?.owner != $0.value }
        if !joins.isEmpty {
            // All customers at once and before any id: deleting and other workers lock them so.
            _ = try CustomerTable.lock(joins.named + given.values, on: connection)
        }
        let own = judged.values.reduce(into: Set<String>()) { $0.formUnion($1.anonymousIDs) }
        let needed = Set(given.values).union(joins.addedIDs)
        let fresh = try CustomerTable.makeOfAccounts(needed.intersection(own), now: now, on: connection)
        // A deletion holds the customers of what it takes: only new owners could vanish meanwhile.
        let made = try CustomerTable.makeAndHold(needed, now: now, on: connection).union(fresh)
        let unread = try unread(needed, made: made, held: view.held, on: connection)
        try AccountDue.add(accounts(naming: unread, judged, ids), on: connection)
        return fresh
    }

    /// Joins customers and parts them, and has the accounts judged again that know them.
    ///
    /// - Parameter made: ids that were made here for one account.
    /// - Returns: anonymous customers who are known now.
    private func write(
        _ joins: JoinChanges, of view: View, _ ids: [String: String], made: Set<String>,
        on connection: PostgresConnection
    ) throws -> [Known] {
        try AccountJoins.write(removed: joins.removed, added: joins.added, on: connection)
        let known = try join(joins.added, ids, view, on: connection)
        try IdentityGroup.regroup(joins.removedIDs, on: connection)
        // An id that was made here for one account is in no other.
        let changed = joins.removedIDs.union(joins.ids(addedWithout: made))
        let customers = try CustomerTable.load(changed, on: connection)
        try AccountDue.note(
            changed.union(customers.values.flatMap(\.appUserIDs)), except: view.accounts, on: connection)
        return known
    }

    /// - Parameter callers: purchases whose records the caller writes itself.
    private func writeRecords(
        _ outcome: SettlementResult, _ view: View, _ judged: [AccountKey: AccountOwners],
        except callers: Set<PurchaseKey>, now: Int64, on connection: PostgresConnection
    ) throws {
        if !view.found.isEmpty {
            // Cycles that were planned without them plan again.
            try Fence.lock(view.found.map(\.key.lane), on: connection)
            try FactTable.insert(view.found, on: connection)
        }
        try AccountTable.write(written(outcome, view, judged, callers), now: now, on: connection)
    }

    private func writeStates(
        of judged: [AccountKey: AccountOwners], _ view: View, on connection: PostgresConnection
    ) throws {
        let states = try states(judged, view, on: connection)
        try AccountTable.set(states, on: connection)
        // News that is being applied beside this was not seen here, and the worker that applies it did not see that it matters.
        try AccountDue.add(Set(states.filter(\.value.judgesActivity).keys), on: connection)
        // Accounts that their last purchase left.
        try AccountTable.remove(view.accounts.subtracting(judged.keys), on: connection)
    }

    /// Ids of which the log may say more than was read of it, because no customer's row kept others from acting on them: those
    /// that another transaction made meanwhile, and those that were made and deleted again. That transaction could not see what
    /// is written here either, so these accounts are judged again.
    private func unread(
        _ needed: Set<String>, made: Set<String>, held: Set<String>, on connection: PostgresConnection
    ) throws -> Set<String> {
        let deleted = try names.among(made, on: connection)
        return needed.subtracting(held).subtracting(made).union(deleted.keys)
    }

    private func accounts(
        naming unread: Set<String>, _ judged: [AccountKey: AccountOwners], _ ids: [String: String]
    ) -> Set<AccountKey> {
        guard !unread.isEmpty else { return [] }
        return Set(
            judged.filter { _, owners in
                let named = owners.joins.reduce(into: Set(owners.owners.values)) { $0.formUnion([$1.one, $1.other]) }
                return named.contains { unread.contains($0) || unread.contains(ids[$0] ?? $0) }
            }.keys)
    }

    /// What is to be said of accounts, where it is another than before.
    func states(
        _ judged: [AccountKey: AccountOwners], _ view: View, on connection: PostgresConnection
    ) throws -> [AccountKey: AccountTable.State] {
        let differing = try differing(judged, view, on: connection)
        return judged.reduce(into: [:]) { states, account in
            let state = AccountTable.State(
                judgesActivity: account.value.judgesActivity, rulesDiffer: differing[account.key] != nil)
            if state != view.states[account.key] ?? AccountTable.State() { states[account.key] = state }
        }
    }

    /// The records that change. Those of the caller it writes itself.
    func written(
        _ outcome: SettlementResult, _ view: View, _ judged: [AccountKey: AccountOwners], _ callers: Set<PurchaseKey>
    ) -> [AccountTable.Written] {
        judged.keys.flatMap { account in
            (view.claims[account] ?? [:]).compactMap { id, claims -> AccountTable.Written? in
                let key = PurchaseKey(app: account.app, environment: account.environment, originalTransactionID: id)
                guard let member = view.members[key], !callers.contains(key), let owner = outcome.owners[key],
                    member.owner != owner || member.claims != claims || member.told != outcome.told[key]
                else { return nil }
                return AccountTable.Written(key: key, owner: owner, claims: claims, told: outcome.told[key])
            }
        }.sorted { $0.key.originalTransactionID < $1.key.originalTransactionID }
    }

    /// An anonymous customer whom events named, and who is known now.
    package struct Known: Sendable {
        let id: String
        let purchase: PurchaseKey

        package init(id: String, purchase: PurchaseKey) {
            self.id = id
            self.purchase = purchase
        }
    }

    func join(
        _ joins: [(account: AccountKey, join: AccountOwners.Join)], _ ids: [String: String], _ view: View,
        on connection: PostgresConnection
    ) throws -> [Known] {
        var known: [Known] = []
        let order = joins.sorted { ($0.join.at, $0.join.one, $0.join.other) < ($1.join.at, $1.join.one, $1.join.other) }
        for (account, join) in order {
            let names = [join.one, join.other].map { ids[$0] ?? $0 }
            let found = try CustomerTable.lock(names, on: connection)
            guard let one = found.first ?? nil, let other = found.last ?? nil, one != other else { continue }
            let told = view.members.values.first { member in
                member.isTold && names.contains(member.owner) && Owner.isAnonymous(member.owner)
                    && member.key.app == account.app && member.key.environment == account.environment
            }
            if let told, one.isAnonymous != other.isAnonymous {
                known.append(Known(id: told.owner, purchase: told.key))
            }
            _ = try CustomerTable.unite(one, other, on: connection)
        }
        return known
    }

    // MARK: - Telling

    /// Purchases of which events named one customer, and that another one has now.
    struct Move {
        let from: Customer
        let to: Customer
        /// The ids by which the first of the purchases had these.
        let ids: (from: String, to: String)
        var purchases: [PurchaseKey]
    }

    /// One for each pair of customers, app and environment. Where both are one customer nothing is to be told, but the id that
    /// events named is kept: late news may part them.
    func moves(_ outcome: inout SettlementResult, _ view: View, on connection: PostgresConnection) throws -> [Move] {
        let told = view.members.values.compactMap { member -> (key: PurchaseKey, from: String, to: String)? in
            guard member.isTold, let owner = outcome.owners[member.key] else { return nil }
            let from = member.told ?? member.owner
            return from == owner ? nil : (member.key, from, owner)
        }.sorted {
            ($0.key.app, $0.key.environment.code, $0.key.originalTransactionID)
                < ($1.key.app, $1.key.environment.code, $1.key.originalTransactionID)
        }
        guard !told.isEmpty else { return [] }
        let customers = try CustomerTable.load(Set(told.flatMap { [$0.from, $0.to] }), on: connection)
        var moves: [Move] = []
        for (key, from, to) in told {
            // No consumer is told that a deleted customer has nothing any more.
            guard let former = customers[from], let customer = customers[to] else { continue }
            guard former.originalAppUserID != customer.originalAppUserID else {
                outcome.told[key] = from
                continue
            }
            outcome.moved.insert(key)
            let place = moves.firstIndex { move in
                move.from.originalAppUserID == former.originalAppUserID
                    && move.to.originalAppUserID == customer.originalAppUserID
                    && move.purchases.allSatisfy { $0.app == key.app && $0.environment == key.environment }
            }
            if let place {
                moves[place].purchases.append(key)
            } else {
                moves.append(Move(from: former, to: customer, ids: (from, to), purchases: [key]))
            }
        }
        return moves
    }

    /// What is done without telling leaves to be told what was.
    func keepTold(_ outcome: inout SettlementResult, _ view: View, on connection: PostgresConnection) throws {
        let told = view.members.values.compactMap { member in
            member.told.flatMap { outcome.owners[member.key] == member.owner ? (key: member.key, id: $0) : nil }
        }
        let known = try CustomerTable.known(Set(told.map(\.id)), on: connection)
        for (key, id) in told where known.contains(id) { outcome.told[key] = id }
    }

    /// The ids of the events.
    func tell(
        _ moves: [Move], by origin: ActionTable.Origin, now: Int64, on connection: PostgresConnection
    ) throws -> [String] {
        try moves.flatMap { move in
            let transfer = PurchaseTransfer(
                purchases: move.purchases, from: move.ids.from, to: move.ids.to, kind: .move, origin: origin)
            return try transfer.tell([move.ids.from: move.from, move.ids.to: move.to], now: now, on: connection)
        }
    }

    /// Tells endpoints that ask for it (SUBSCRIBER_ALIAS). How many events there are.
    @discardableResult
    package func tell(_ known: [Known], now: Int64, on connection: PostgresConnection) throws -> Int {
        guard !known.isEmpty, try EndpointTable.isAskedFor(.subscriberAlias, on: connection) else { return 0 }
        let customers = try CustomerTable.load(Set(known.map(\.id)), on: connection)
        let events = known.compactMap { known -> NewEvent? in
            guard let customer = customers[known.id] else { return nil }
            let event = AliasEvent(
                app: known.purchase.app, environment: known.purchase.environment,
                identity: customer.identity(of: known.id), joined: known.id, at: now)
            let id = event.id
            return NewEvent(
                lane: known.purchase.lane, id: UUIDText.bytes(id) ?? [], type: EventType.subscriberAlias.rawValue,
                app: known.purchase.app, environment: known.purchase.environment,
                originalTransactionID: known.purchase.originalTransactionID, body: event.json(id: id).bytes)
        }
        _ = try EventTable.insert(events, now: now, on: connection)
        return events.count
    }
}

/// The joins of customers that accounts gain and lose.
private struct JoinChanges {
    private(set) var removed: [(AccountKey, AccountOwners.Join)] = []
    private(set) var added: [(AccountKey, AccountOwners.Join)] = []
    /// As the customers have them that joins name otherwise.
    private let spellings: [String: String]

    init(_ judged: [AccountKey: AccountOwners], _ view: OwnerSettlement.View, _ spellings: [String: String]) {
        self.spellings = spellings
        // An account that its last purchase left has none.
        for account in view.accounts.union(judged.keys) {
            let (found, expected) = (view.joins[account] ?? [], judged[account]?.joins ?? [])
            removed += found.subtracting(expected).map { (account, $0) }
            added += expected.subtracting(found).map { (account, $0) }
        }
    }

    var isEmpty: Bool { removed.isEmpty && added.isEmpty }

    /// The ids as the joins name them.
    var named: [String] { (removed + added).flatMap { [$0.1.one, $0.1.other] } }

    var removedIDs: Set<String> { spelled(removed) }
    var addedIDs: Set<String> { spelled(added) }

    /// Ids of the joins that were added, where neither customer is one of these.
    func ids(addedWithout made: Set<String>) -> Set<String> {
        spelled(added.filter { !made.contains($0.1.one) && !made.contains($0.1.other) })
    }

    private func spelled(_ joins: [(AccountKey, AccountOwners.Join)]) -> Set<String> {
        Set(joins.flatMap { [$0.1.one, $0.1.other] }.map { spellings[$0] ?? $0 })
    }
}
