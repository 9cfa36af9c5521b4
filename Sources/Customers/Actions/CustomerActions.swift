import Base
import Database
import Postgres
import Subscriptions

/// What people and apps do with customers. Each action is one transaction: it locks the lanes of the purchases that it
/// moves, then the customers, writes itself down in the log, and changes the records. Repeating one changes nothing.
///
/// Lanes are locked as their owners lock them, so that a worker is either before an action or after it.
package struct CustomerActions: Sendable {
    let origin: ActionTable.Origin
    let foldSettings: FoldSettings
    let settlement: OwnerSettlement

    package init(origin: ActionTable.Origin, foldSettings: FoldSettings) {
        self.origin = origin
        self.foldSettings = foldSettings
        settlement = OwnerSettlement(salt: OwnerSalt(), foldSettings: foldSettings)
    }

    /// Why an action is not done, for the caller.
    package enum Rejection: Error, Sendable, Equatable, CustomStringConvertible {
        case unknown(String)
        case unusable(id: String, why: String)
        case notTheirs(purchase: String, customer: String)
        /// An app, an operator or an import gave it to another customer.
        case taken(purchase: String, owner: String)
        case restore(String)
        /// A grant for that time; why not, to complete "the grant ".
        case ungrantable(String)
        /// What was granted stays with whom it was granted to.
        case grantStays(String)
        /// Both name persons, and the caller may not join them.
        case persons(String, String)
        /// The customer has as many ids as apps may give.
        case tooManyIDs(String)
        case busy
        /// Apple said nothing yet of what an app named, and nothing would remember to ask again.
        case unheard

        package var description: String {
            switch self {
            case .unknown(let id): "no customer has the id \(id)"
            case .unusable(let id, let why): "\(id) cannot name a customer: it \(why)"
            case .notTheirs(let purchase, let customer): "\(customer) has no purchase \(purchase)"
            case .taken(let purchase, let owner):
                "the purchase \(purchase) is \(owner)'s here: decide with `entitled customers alias` or `entitled"
                    + " customers transfer`"
            case .restore(let why): "the purchase stays where it is: \(why) (restore_behavior)"
            case .ungrantable(let why): "the grant \(why)"
            case .grantStays(let purchase):
                "\(purchase) is a grant, which stays with its customer: revoke it, and grant the entitlement to the"
                    + " other customer"
            case .persons(let one, let two): "\(one) and \(two) are two customers"
            case .tooManyIDs(let id):
                "\(id) would have more than \(CustomerActions.mostIDs) ids"
            case .busy: "the customer's purchases are changing too fast; try again"
            case .unheard: "Apple does not answer about the receipt now; try again"
            }
        }
    }

    // MARK: - Transactions

    /// Transactions that another one overtook are begun again so many times.
    private static let attempts = 10

    /// Ids of one customer that apps may give: each makes everything that is done with the customer dearer, and every copy of
    /// an app has its key.
    package static let mostIDs = 100

    /// What the action is about changed before it was locked: the transaction has to be begun again.
    struct Overtaken: Error {}

    /// Looks up what an action is about, locks its lanes, and looks again: the purchases may have changed until then.
    /// Begins again where they did, where the body finds so, and after a deadlock; in a transaction of the caller's, which has
    /// to be rolled back then, it is for the caller to begin again.
    ///
    /// - Parameters:
    ///   - purchases: the purchases that the action moves, read without a lock.
    ///   - body: what is done while no other transaction changes them. It locks customers, and takes its time from there.
    func holding<Result>(
        _ purchases: () throws -> [PurchaseKey], and others: () throws -> Set<Lane> = { [] },
        on connection: PostgresConnection, _ body: ([PurchaseKey]) throws -> Result
    ) throws -> Result {
        let isJoined = connection.isInTransaction
        for _ in 0..<(isJoined ? 1 : CustomerActions.attempts) {
            let lanes = Set(try purchases().map(\.lane)).union(try others())
            do {
                return try connection.joinedTransaction {
                    _ = try Fence.hold(lanes, on: connection)
                    let found = try purchases()
                    guard lanes.isSuperset(of: found.map(\.lane)) else { throw Overtaken() }
                    return try body(found)
                }
            } catch is Overtaken {
                continue
            } catch let error as PostgresError where error.isVictim && !isJoined {
                continue
            }
        }
        throw Rejection.busy
    }

    /// Customers who are locked, in the order of the ids that were asked for; nil for ids that name none.
    struct Locked {
        let roots: [CustomerTable.LockedCustomer?]
        /// The time of the action, in ms since 1970: read once the customers are locked, so that an action is later than those
        /// that it waited for (`ActionTable.nextTime`).
        let now: Int64

        var first: CustomerTable.LockedCustomer? { roots.first ?? nil }
        var last: CustomerTable.LockedCustomer? { roots.last ?? nil }
    }

    func lock(_ ids: [String], on connection: PostgresConnection) throws -> Locked {
        let roots = try CustomerTable.lock(ids, on: connection)
        let customers = Set(roots.compactMap { $0?.originalAppUserID })
        if connection.isCluster {
            let loaded = try CustomerTable.load(customers, on: connection)
            try PurchaseLanes.awaitGiven(to: loaded.values.flatMap(\.appUserIDs), on: connection)
        }
        return Locked(roots: roots, now: try ActionTable.nextTime(about: ids, of: customers, on: connection))
    }

    /// The same; the first id's customer is made where it names none.
    func lockOrMake(_ ids: [String], on connection: PostgresConnection) throws -> Locked {
        let found = try lock(ids, on: connection)
        guard found.first == nil, let id = ids.first else { return found }
        try CustomerTable.make([id], now: found.now, on: connection)
        let made = try lock(ids, on: connection)
        // Another transaction may have made it meanwhile, and a third one may have deleted it.
        if made.first == nil { throw Overtaken() }
        return made
    }

    /// The customer of an id, locked.
    ///
    /// - Throws: `Rejection` where the id names none.
    func lock(_ id: String, on connection: PostgresConnection) throws -> (
        root: CustomerTable.LockedCustomer, now: Int64
    ) {
        let found = try lock([id], on: connection)
        guard let root = found.first else { throw Rejection.unknown(id) }
        return (root, found.now)
    }

    /// All ids of the customer whom an id names.
    func ids(of id: String, on connection: PostgresConnection) throws -> [String] {
        try CustomerTable.load([id], on: connection)[id]?.appUserIDs ?? []
    }
}
