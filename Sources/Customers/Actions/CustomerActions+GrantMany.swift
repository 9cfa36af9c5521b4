import Base
import Crypto
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// Grants the same to many customers, each as `grant` does, in a transaction of the caller's.
    ///
    /// The ids of the grants follow from the salt and from the ids that were given. So a customer who is named by several ids, or
    /// becomes one with another, is recognised however much later, and gets the grant once.
    ///
    /// - Parameters:
    ///   - salt: of this granting alone.
    ///   - isMeant: whether the id names the customer whom it named when it was asked for.
    /// - Throws: `Rejection` where nothing can be granted for that time.
    package func grant(
        _ entitlement: String, toEach ids: [String], _ term: GrantTerm, salt: Int64,
        isMeant: (String) throws -> Bool, on connection: PostgresConnection
    ) throws -> BulkDone {
        // All at once, in the order in which everybody locks them: lanes, then customers.
        _ = try Fence.hold(Set(ids.map { CustomerActions.grantKey($0, salt).lane }), on: connection)
        let roots = try CustomerTable.lock(ids, on: connection)
        let customers = try CustomerTable.load(Set(ids), on: connection)
        var (done, seen) = (BulkDone(), Set<String>())
        for (id, root) in zip(ids, roots) {
            guard let root, let customer = customers[id], try isMeant(id) else {
                done.skip(.unknown)
                continue
            }
            guard seen.insert(root.originalAppUserID).inserted else {
                done.skip(.sameCustomer)
                continue
            }
            let keys = Set(customer.appUserIDs + [root.originalAppUserID]).sorted().map {
                CustomerActions.grantKey($0, salt)
            }
            guard try PurchaseTable.owners(keys, on: connection).allSatisfy({ $0 == nil }) else {
                done.skip(.sameCustomer)
                continue
            }
            let granting = try grant(
                entitlement, to: id, term, under: CustomerActions.grantKey(id, salt).originalTransactionID,
                makesCustomer: false, on: connection)
            if granting.isNew { done.queued += 1 } else { done.skip(.repeated) }
        }
        return done
    }

    private static func grantKey(_ id: String, _ salt: Int64) -> PurchaseKey {
        let text = JSON.array([.int(salt), .string(id)]).text
        return Grant.key(Hex.encode(Array(Digest.sha256(Array(text.utf8)).prefix(16))))
    }
}
