import Base
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    package struct Deletion: Sendable {
        /// The number of its record.
        package let id: Int64
        /// The ids that name no customer any more.
        package let appUserIDs: [String]
        /// What they had bought; it has anonymous owners now, who cannot be told from the ids.
        package let purchases: [PurchaseKey]
    }

    /// The customer has other ids or purchases than those that were meant.
    package struct OtherHoldings: Error, Sendable {}

    /// A deletion that was made before and that the database lost.
    package struct PastDeletion: Sendable {
        /// ms since 1970.
        let at: Int64
        /// Its number in the log then, from which the anonymous ids of new owners followed.
        let action: Int64

        package init(at: Int64, action: Int64) {
            (self.at, self.action) = (at, action)
        }
    }

    /// Deletes a customer with every id, at once: from here on nothing that is told names them, and what was granted ends.
    /// What is stored about them is swept afterwards, by a command or a worker (`CustomerErasure`). No consumer is told.
    ///
    /// Apple goes on charging for subscriptions, so whatever comes about them has anonymous owners.
    ///
    /// - Parameters:
    ///   - past: the deletion that is made once more: at its time, and with the owners that it gave.
    ///   - holdings: what `ChangeVersions` has of the ids and the purchases that are meant; nil: whatever there is.
    /// - Throws: `Rejection` where the id names no customer; `OtherHoldings`.
    package func delete(
        _ id: String, policy: DeletionPolicy = .pseudonymise, again past: PastDeletion? = nil,
        holding holdings: String? = nil,
        on connection: PostgresConnection
    ) throws -> Deletion {
        try holding(
            { try belongings(of: try ids(of: id, on: connection), on: connection) },
            // What a server has not committed yet, though the coordinator has, keeps its lane from this.
            and: { try PurchaseLanes.lanes(ofOwners: try ids(of: id, on: connection), on: connection) },
            on: connection
        ) { purchases in
            try settlement.hold(purchases.filter { !$0.isGrant }, on: connection)
            let (root, time) = try lock(id, on: connection)
            let now = min(past?.at ?? time, time)
            // The customer is held by now: nothing joins them any more.
            if let holdings, try ChangeVersions.holdings(of: id, on: connection) != holdings { throw OtherHoldings() }
            let ids = try CustomerTable.delete(root, on: connection)
            let accounts = try AccountJoins.accounts(naming: Set(ids), on: connection)
            // A transaction that gave them a purchase held the customer or the id, and has committed by now.
            guard Set(try belongings(of: ids, on: connection)) == Set(purchases) else { throw Overtaken() }
            try removeRows(of: ids, on: connection)
            let entries = try ActionTable.entries(naming: ids, on: connection)
            var action: Int64 = 0
            for (place, id) in ids.enumerated() {
                let entry = ActionTable.New(.delete, id, other: root.originalAppUserID)
                action =
                    try past.map { past in
                        // The last one had the number of the deletion, and the others had those before it.
                        try ActionTable.restore(
                            entry, number: past.action - Int64(ids.count - 1 - place), by: origin, now: now,
                            on: connection)
                    } ?? ActionTable.add(entry, by: origin, now: now, on: connection)
            }
            let number = past?.action ?? action
            // A grant costs no one anything and ends with its customer.
            try endGrants(purchases, number, now: now, on: connection)
            let known = try FactTable.load(purchases, on: connection)
            let digest = try OwnerSalt().digest(on: connection)
            let owners = zip(purchases, known).map { key, facts in
                let owner = Owner.anonymousID(
                    for: key, account: Purchase(folding: facts, key: key)?.appTransactionID, deletion: number,
                    digest: digest)
                return (key: key, owner: owner)
            }
            try give(owners, accounts, number, now: now, on: connection)
            // What was written meanwhile noted them once more.
            try PurchaseLanes.remove(ids, on: connection)
            let theirs = Set(purchases)
            let former = Set(entries.flatMap(\.moved)).subtracting(theirs)
            let deletion = try DeletionTable.add(
                policy, Pseudonyms.random(for: ids), tokens: try nobodys(known, on: connection),
                owners.map { DeletionTable.Subject(key: $0.key, owner: $0.owner) }
                    + former.map { DeletionTable.Subject(key: $0, owner: nil) },
                action: action, number: number, by: origin, now: now, on: connection)
            return Deletion(id: deletion, appUserIDs: ids, purchases: purchases)
        }
    }

    /// Gives purchases to their anonymous owners, and has the accounts judged.
    private func give(
        _ owners: [(key: PurchaseKey, owner: String)], _ accounts: Set<AccountKey>, _ number: Int64, now: Int64,
        on connection: PostgresConnection
    ) throws {
        try CustomerTable.makeOfAccounts(Set(owners.map(\.owner)), now: now, on: connection)
        let claims = try assign(owners, number, now: now, on: connection)
        let kept = try AccountTable.members(Array(claims.keys), on: connection)
        _ = try settlement.settle(
            claims.filter { kept[$0.key] != nil }, of: accounts, tells: false, by: origin, now: now, on: connection)
    }

    /// What is owned under these ids: by its record, or by what was posted and is not applied yet.
    private func belongings(of ids: [String], on connection: PostgresConnection) throws -> [PurchaseKey] {
        let owned = try PurchaseTable.owned(by: ids, on: connection)
        let named = Set(try ActionTable.entries(naming: ids, on: connection).flatMap(\.moved)).subtracting(owned)
        let waiting = zip(named, try PurchaseTable.owners(Array(named), on: connection)).filter { $1 == nil }.map(\.0)
        let given = zip(waiting, try FactTable.load(waiting, on: connection)).filter { _, facts in
            facts.posts.contains { ids.contains($0.appUserID) }
                || facts.assignments.newest.map { ids.contains($0.owner) } ?? false
        }
        return owned + given.map(\.0)
    }

    /// Writes down whose purchases are, whatever was signed or posted until then; it outlasts the ids in the log. Their lanes are
    /// held. Returns what they claim now.
    func assign(
        _ owners: [(key: PurchaseKey, owner: String)], _ action: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> [PurchaseKey: PurchaseClaims] {
        try FactTable.insert(
            owners.map { key, owner in
                FactTable.New(
                    key: key, seq: SequenceGenerator.least(at: now),
                    fact: FactRow(OwnerAssignment(owner: owner, at: now, action: action)))
            }, on: connection)
        let claims = try OwnerSettlement.claims(of: owners.map(\.key), on: connection)
        // What was granted is in no account.
        try PurchaseTable.setOwners(owners.filter { claims[$0.key] == nil }, now: now, on: connection)
        return claims
    }

    private func removeRows(of ids: [String], on connection: PostgresConnection) throws {
        for (table, column, _) in try PersonalDataMap.ofCustomers(on: connection) {
            _ = try connection.query(
                "DELETE FROM entitled.\(table) WHERE \(column) = ANY($1::text[])", [.texts(ids)])
        }
    }

    /// The account tokens of these purchases that name no customer, now that their owner is gone.
    private func nobodys(_ facts: [PurchaseFacts], on connection: PostgresConnection) throws -> Set<String> {
        let tokens = Set(
            facts.flatMap { $0.transactions.compactMap(\.appAccountToken) + $0.renewals.compactMap(\.appAccountToken) }
                .filter { !AppUserID.isNobody(token: $0) })
        return tokens.subtracting(try CustomerTable.find(tokens, on: connection).keys)
    }
}
