import Base
import Postgres
import Subscriptions

/// Accounts that a worker judges again soon, because customers became one or parted elsewhere: what joins customers holds these,
/// and must not wait for accounts.
package enum AccountDue {
    private static let noteAll = """
        INSERT INTO entitled.account_due (account) SELECT account FROM (
            SELECT p.account FROM entitled.purchase p WHERE p.owner = ANY($1::text[])
            UNION SELECT * FROM unnest($2::int8[])
            UNION
            SELECT p.account
            FROM \(PurchaseKeys.unnest(from: 3))
            JOIN entitled.purchase p ON \(PurchaseKeys.equal("p", from: 3))
        ) AS found WHERE account IS NOT NULL AND account <> ALL($7::int8[])
        """

    private static let selectOwned = """
        SELECT DISTINCT owner, lane, account FROM entitled.purchase
        WHERE owner = ANY($1::text[]) /* cluster: AND lane = ANY($2::int2[]) */
        """

    private static let selectMoved = """
        SELECT DISTINCT p.account FROM \(PurchaseKeys.unnest)
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p"))
        WHERE p.account IS NOT NULL
        """

    /// Notes the accounts in which these ids have something, or had: all ids of customers who changed.
    ///
    /// - Parameter judged: accounts that are judged already.
    package static func note(
        _ ids: Set<String>, except judged: Set<AccountKey> = [], on connection: PostgresConnection
    ) throws {
        guard !ids.isEmpty else { return }
        let joining = try AccountJoins.accounts(naming: ids, on: connection)
        let moved = Set(try ActionTable.entries(naming: ids.sorted(), on: connection).flatMap(\.moved)).filter {
            !$0.isGrant
        }.sorted { ($0.lane.number, $0.originalTransactionID) < ($1.lane.number, $1.originalTransactionID) }
        guard connection.isCluster else {
            _ = try connection.query(
                noteAll,
                [.texts(ids.sorted()), .int8s(joining.map(\.number).sorted())] + PurchaseKeys(moved).parameters
                    + [.int8s(judged.map(\.number).sorted())])
            return
        }
        // Step by step, since accounts that are due lie elsewhere than purchases.
        try PurchaseLanes.awaitGiven(to: ids.sorted(), on: connection)
        var numbers = Set(joining.map(\.number))
        let owned = try PurchaseLanes.query(
            selectOwned, [.texts(ids.sorted())], ofOwners: ids, on: connection, place: PurchaseLanes.OwnerPlace.init)
        numbers.formUnion(try owned?.compactMap { try $0.optionalInt("account") } ?? [])
        if !moved.isEmpty {
            for row in try connection.query(selectMoved, PurchaseKeys(moved).parameters) {
                numbers.insert(try row.int("account"))
            }
        }
        try add(numbers.subtracting(judged.map(\.number)), on: connection)
    }

    private static let insert = "INSERT INTO entitled.account_due (account) SELECT * FROM unnest($1::int8[])"

    static func add(_ accounts: Set<AccountKey>, on connection: PostgresConnection) throws {
        try add(Set(accounts.map(\.number)), on: connection)
    }

    private static func add(_ numbers: Set<Int64>, on connection: PostgresConnection) throws {
        guard !numbers.isEmpty else { return }
        _ = try connection.query(insert, [.int8s(numbers.sorted())])
    }

    private static let putOff = """
        UPDATE entitled.account_due SET seq = DEFAULT WHERE seq = (SELECT min(seq) FROM entitled.account_due)
        """

    /// Puts the oldest behind all others.
    package static func postpone(on connection: PostgresConnection) throws { _ = try connection.query(putOff) }

    private static let take = """
        DELETE FROM entitled.account_due WHERE seq IN (
            SELECT seq FROM entitled.account_due ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED
        ) RETURNING account
        """

    /// Takes the oldest of them; they are judged in the same transaction.
    ///
    /// - Returns: how many were taken, and the accounts.
    package static func take(
        atMost limit: Int, on connection: PostgresConnection
    ) throws -> (count: Int, accounts: Set<AccountKey>) {
        let numbers = try connection.query(take, [.int8(Int64(limit))]).map { try $0.int("account") }
        // Whatever noted one of them wrote of its purchases, too.
        try PurchaseLanes.hold(accounts: Set(numbers), on: connection)
        return (numbers.count, try AccountTable.accounts(Set(numbers), on: connection))
    }

    /// Whether any is waiting.
    package static func isAny(on connection: PostgresConnection) throws -> Bool {
        try connection.query("SELECT EXISTS (SELECT FROM entitled.account_due)").one().bool("exists")
    }
}
