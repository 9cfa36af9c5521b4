import Base
import Postgres
import Subscriptions

/// Ids that are one customer because of what an account bought, in the database.
package enum AccountJoins {
    private static let select = """
        SELECT j.account, j.app, j.environment, j.one, j.other, j.at_ms
        FROM unnest($1::text[], $2::text[], $3::int2[]) AS t(id, app, environment)
        JOIN entitled.account_join j ON j.account = t.id AND j.app = t.app AND j.environment = t.environment
        """

    package typealias Joins = [AccountKey: Set<AccountOwners.Join>]

    /// Those of these accounts.
    package static func of(_ accounts: Set<AccountKey>, on connection: PostgresConnection) throws -> Joins {
        guard !accounts.isEmpty else { return [:] }
        let sorted = accounts.sorted()
        return try read(
            try connection.query(
                select,
                [.texts(sorted.map(\.id)), .texts(sorted.map(\.app)), .int2s(sorted.map(\.environment.code))]))
    }

    private static let selectNaming = """
        SELECT account, app, environment, one, other, at_ms FROM entitled.account_join WHERE one = ANY($1::text[])
        UNION SELECT account, app, environment, one, other, at_ms FROM entitled.account_join WHERE other = ANY($1::text[])
        """

    /// Those that name one of these ids, of any account.
    static func naming(_ ids: Set<String>, on connection: PostgresConnection) throws -> Joins {
        guard !ids.isEmpty else { return [:] }
        return try read(try connection.query(selectNaming, [.texts(ids.sorted())]))
    }

    /// The accounts that made one of these ids an alias.
    package static func accounts(
        naming ids: Set<String>, on connection: PostgresConnection
    ) throws -> Set<AccountKey> {
        Set(try naming(ids, on: connection).keys)
    }

    private static func read(_ rows: some Sequence<PostgresRow>) throws -> Joins {
        var joins: Joins = [:]
        for row in rows {
            let (app, environment) = (try row.text("app"), try row.value("environment", as: StoreEnvironment.self))
            let scope = PurchaseKey(app: app, environment: environment, originalTransactionID: "")
            let account = AccountKey(of: scope, account: try row.text("account"))
            joins[account, default: []].insert(
                AccountOwners.Join(one: try row.text("one"), other: try row.text("other"), at: try row.int("at_ms")))
        }
        return joins
    }

    private static let insert = """
        INSERT INTO entitled.account_join (account, app, environment, one, other, at_ms)
        SELECT * FROM unnest($1::text[], $2::text[], $3::int2[], $4::text[], $5::text[], $6::int8[])
        ON CONFLICT (one, other, account, app, environment) DO UPDATE SET at_ms = excluded.at_ms
        """

    private static let delete = """
        DELETE FROM entitled.account_join j
        USING unnest($1::text[], $2::text[], $3::int2[], $4::text[], $5::text[])
            AS t(account, app, environment, one, other)
        WHERE j.one = t.one AND j.other = t.other AND j.account = t.account AND j.app = t.app
            AND j.environment = t.environment
        """

    /// Writes what changed. The accounts are locked.
    static func write(
        removed: [(AccountKey, AccountOwners.Join)], added: [(AccountKey, AccountOwners.Join)],
        on connection: PostgresConnection
    ) throws {
        func parameters(_ joins: [(AccountKey, AccountOwners.Join)]) -> [PostgresValue] {
            [
                .texts(joins.map(\.0.id)), .texts(joins.map(\.0.app)), .int2s(joins.map(\.0.environment.code)),
                .texts(joins.map(\.1.one)), .texts(joins.map(\.1.other)),
            ]
        }
        if !removed.isEmpty { _ = try connection.query(delete, parameters(removed)) }
        guard !added.isEmpty else { return }
        _ = try connection.query(insert, parameters(added) + [.int8s(added.map(\.1.at))])
    }
}
