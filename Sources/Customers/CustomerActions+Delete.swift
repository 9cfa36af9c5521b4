import Base
import Postgres
import Queue
import Records
import Subscriptions

extension CustomerActions {
    package struct Deletion: Sendable {
        /// The ids that name nobody any more.
        package let appUserIDs: [String]
        /// What they had bought; it has anonymous owners now, who cannot be told from the ids.
        package let purchases: [PurchaseKey]
    }

    /// Deletes a customer with every id. Apple goes on charging for subscriptions, so their records stay, without the
    /// person; what was granted ends. No consumer is told.
    ///
    /// - Throws: `Refusal` where the id names nobody.
    package func delete(_ id: String, on connection: PostgresConnection) throws -> Deletion {
        try holding(
            { try PurchaseStore.owned(by: try ids(of: id, on: connection), on: connection) }, on: connection
        ) { purchases, now in
            let root = try root(of: id, on: connection)
            let ids = try CustomerStore.delete(root, on: connection)
            // Whoever gave them a purchase held the customer or the id, and is through now.
            guard Set(try PurchaseStore.owned(by: ids, on: connection)) == Set(purchases) else { throw Overtaken() }
            var action: Int64 = 0
            for id in ids {
                action = try ActionLog.add(
                    ActionLog.New(.delete, id, other: root.originalAppUserID), by: origin, now: now, on: connection)
            }
            // Nobody pays for what was granted.
            try endGrants(purchases, action, now: now, on: connection)
            let owners = try zip(purchases, FactStore.load(purchases, on: connection)).map { key, facts in
                let account = Purchase(folding: facts, key: key)?.appTransactionID
                let owner = Owner.anonymousID(
                    for: key, account: account, deletion: action, digest: CustomerActions.digest)
                return (key: key, owner: owner)
            }
            try CustomerStore.make(Set(owners.map(\.owner)), now: now, on: connection)
            try assign(owners, action, now: now, on: connection)
            return Deletion(appUserIDs: ids, purchases: purchases)
        }
    }
}
