import Base
import Postgres
import Subscriptions

/// Apple accounts in the database, with what their purchases claim.
package enum AccountTable {
    /// A purchase as its record has it.
    package struct Member: Sendable {
        package let key: PurchaseKey
        package let owner: String
        /// Nil where the record has none that this program reads.
        package let claims: PurchaseClaims?
        /// Whether the record is of before there were claims.
        let isFound: Bool
        /// When its first event is told at the latest, in ms; nil: events named its owner.
        package let tell: Int64?
        /// The id under which events named the owner, where that is another one of the same customer.
        let told: String?
        /// Whether its account judges activity.
        package let judgesActivity: Bool

        var isTold: Bool { tell == nil }

        var account: String? { claims?.account }
    }

    private static let make = """
        INSERT INTO entitled.account (number) SELECT * FROM unnest($1::int8[]) ORDER BY 1
        ON CONFLICT DO NOTHING RETURNING number
        """

    /// What an account's row says of it.
    struct State: Sendable, Equatable {
        /// Whether some act was judged by whether a subscription was active.
        var judgesActivity = false
        /// Whether owners that an upgrade found are others than the rules say.
        var rulesDiffer = false
    }

    private static let hold = """
        SELECT number, judges_activity, rules_differ FROM entitled.account WHERE number = ANY($1::int8[])
        ORDER BY number FOR NO KEY UPDATE
        """

    /// Locks these accounts until the end of the transaction, in the order of their numbers; those that are not there are made.
    static func lock(
        _ accounts: Set<AccountKey>, on connection: PostgresConnection
    ) throws -> [AccountKey: State] {
        guard !accounts.isEmpty else { return [:] }
        var missing = Set(accounts.map(\.number))
        try PurchaseLanes.hold(accounts: missing, on: connection)
        var states: [Int64: State] = [:]
        // One that was there may be removed before it could be locked.
        while !missing.isEmpty {
            missing.subtract(try connection.query(make, [.int8s(missing.sorted())]).map { try $0.int("number") })
            guard !missing.isEmpty else { break }
            for row in try connection.query(hold, [.int8s(missing.sorted())]) {
                let number = try row.int("number")
                states[number] = State(
                    judgesActivity: try row.bool("judges_activity"), rulesDiffer: try row.bool("rules_differ"))
                missing.remove(number)
            }
        }
        return accounts.reduce(into: [:]) { $0[$1] = states[$1.number] }
    }

    private static let setStates = """
        UPDATE entitled.account a SET judges_activity = t.judges, rules_differ = t.differ, id = t.id, app = t.app,
            environment = t.environment
        FROM unnest($1::int8[], $2::bool[], $3::bool[], $4::text[], $5::text[], $6::int2[])
            AS t(number, judges, differ, id, app, environment)
        WHERE a.number = t.number
        """

    static func set(_ states: [AccountKey: State], on connection: PostgresConnection) throws {
        guard !states.isEmpty else { return }
        let accounts = states.keys.sorted()
        let named = accounts.map { states[$0]?.rulesDiffer == true ? $0 : nil }
        _ = try connection.query(
            setStates,
            [
                .int8s(accounts.map(\.number)), .bools(accounts.map { states[$0]?.judgesActivity ?? false }),
                .bools(named.map { $0 != nil }), .texts(named.map { $0?.id }), .texts(named.map { $0?.app }),
                .int2s(accounts.map(\.environment.code)),
            ])
    }

    private static let selectDiffering = """
        SELECT id, app, environment FROM entitled.account WHERE rules_differ ORDER BY app, environment, id LIMIT $1
        """

    /// Accounts of which an upgrade keeps owners that the rules would not give.
    package static func differing(atMost limit: Int, on connection: PostgresConnection) throws -> [AccountKey] {
        try connection.query(selectDiffering, [.int8(Int64(limit))]).map { row in
            AccountKey(
                id: try row.text("id"), app: try row.text("app"), environment: try row.value("environment"))
        }
    }

    private static let remove = "DELETE FROM entitled.account WHERE number = ANY($1::int8[])"

    /// Removes accounts that no purchase has.
    static func remove(_ accounts: Set<AccountKey>, on connection: PostgresConnection) throws {
        guard !accounts.isEmpty else { return }
        _ = try connection.query(remove, [.int8s(accounts.map(\.number).sorted())])
    }

    // MARK: - Purchases

    private static let columns = """
        p.app, p.environment, p.original_transaction_id, p.owner, p.claims, p.tell_ms, p.told_owner, p.account,
        /* cluster: false for: */coalesce((
            SELECT a.judges_activity FROM entitled.account a WHERE a.number = p.account), false)/* end */ AS judges_activity
        """

    /// Apart on a cluster, where accounts lie elsewhere than purchases.
    private static let judging =
        "SELECT number FROM entitled.account WHERE number = ANY($1::int8[]) AND judges_activity"

    private static let selectMembers = """
        SELECT \(columns) FROM entitled.purchase p
        WHERE p.account = ANY($1::int8[]) /* cluster: AND p.lane = ANY($2::int2[]) */
        """

    private static let selectPurchases = """
        SELECT \(columns) FROM \(PurchaseKeys.unnest)
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p"))
        """

    /// All purchases of these accounts that have records.
    package static func members(
        of accounts: Set<AccountKey>, on connection: PostgresConnection
    ) throws -> [PurchaseKey: Member] {
        guard !accounts.isEmpty else { return [:] }
        return try members(of: Set(accounts.map(\.number)), on: connection).filter { key, member in
            member.claims == nil || accounts.contains(AccountKey(of: key, account: member.account))
        }
    }

    private static func members(
        of numbers: Set<Int64>, on connection: PostgresConnection
    ) throws -> [PurchaseKey: Member] {
        let rows = try PurchaseLanes.query(
            selectMembers, [.int8s(numbers.sorted())], ofAccounts: numbers, on: connection
        ) { row in
            try row.optionalInt("account").map {
                PurchaseLanes.AccountPlace(account: $0, lane: try PurchaseKey(row).lane)
            }
        }
        return try rows.map { try read($0, on: connection) } ?? [:]
    }

    /// The records of these purchases.
    package static func members(
        _ keys: some Collection<PurchaseKey>, on connection: PostgresConnection
    ) throws -> [PurchaseKey: Member] {
        guard !keys.isEmpty else { return [:] }
        return try read(try connection.query(selectPurchases, PurchaseKeys(keys).parameters), on: connection)
    }

    private static func read(_ rows: PostgresRows, on connection: PostgresConnection) throws -> [PurchaseKey: Member] {
        var members: [PurchaseKey: Member] = [:]
        var judges: Set<Int64> = []
        if connection.isCluster {
            let accounts = Set(try rows.compactMap { try $0.optionalInt("account") })
            judges = Set(
                try connection.query(judging, [.int8s(accounts.sorted())]).map { try $0.int("number") })
        }
        for row in rows {
            let key = try PurchaseKey(row)
            let claims = try row.optionalBytes("claims")
            members[key] = Member(
                key: key, owner: try row.text("owner"), claims: claims.flatMap(PurchaseClaims.init(bytes:)),
                isFound: claims == nil, tell: try row.optionalInt("tell_ms"), told: try row.optionalText("told_owner"),
                judgesActivity: try row.bool("judges_activity")
                    || row.optionalInt("account").map(judges.contains) ?? false)
        }
        return members
    }

    /// The accounts with these numbers that have purchases.
    static func accounts(_ numbers: Set<Int64>, on connection: PostgresConnection) throws -> Set<AccountKey> {
        guard !numbers.isEmpty else { return [] }
        return Set(try members(of: numbers, on: connection).map { AccountKey(of: $0, account: $1.account) })
    }

    private static let selectWithoutClaims = """
        SELECT app, environment, original_transaction_id FROM entitled.purchase
        WHERE claims IS NULL AND app <> '$promotional' ORDER BY lane, original_transaction_id LIMIT $1 OFFSET $2
        """

    /// Records of before there were claims.
    ///
    /// - Parameter skipped: so many of them are passed over.
    package static func withoutClaims(
        atMost limit: Int, skipping skipped: Int, on connection: PostgresConnection
    ) throws -> Set<PurchaseKey> {
        Set(
            try connection.query(selectWithoutClaims, [.int8(Int64(limit)), .int8(Int64(skipped))]).map {
                try PurchaseKey($0)
            })
    }

    private static let setOwners = """
        UPDATE entitled.purchase p SET owner = t.owner, account = t.account, claims = t.claims,
            told_owner = t.told, version = p.version + 1, updated_ms = $9
        FROM \(PurchaseKeys.unnest("owner text", "account int8", "claims bytea", "told text"))
        WHERE \(PurchaseKeys.equal("p"))
        """

    private static let holdPurchases = """
        SELECT 1 FROM \(PurchaseKeys.unnest)
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p"))
        ORDER BY p.lane, p.original_transaction_id, p.app, p.environment FOR NO KEY UPDATE OF p
        """

    /// What is written into a record.
    struct Written {
        let key: PurchaseKey
        let owner: String
        let claims: PurchaseClaims
        let told: String?
    }

    /// Writes owners and claims into records. Their accounts are locked; their lanes need not be held.
    static func write(_ written: [Written], now: Int64, on connection: PostgresConnection) throws {
        guard !written.isEmpty else { return }
        let places = PurchaseKeys(written.map(\.key)).parameters
        try PurchaseLanes.note(
            Set(written.map { PurchaseLanes.OwnerPlace(owner: $0.owner, lane: $0.key.lane) }),
            Set(written.map { PurchaseLanes.AccountPlace(of: $0.key, account: $0.claims.account) }), on: connection)
        if written.count > 1 {
            for part in connection.laneGroups.split(written, by: \.key.lane) {
                _ = try connection.query(holdPurchases, PurchaseKeys(part.elements.map(\.key)).parameters)
            }
        }
        _ = try connection.query(
            setOwners,
            places + [
                .texts(written.map(\.owner)),
                .int8s(written.map { AccountKey(of: $0.key, account: $0.claims.account).number }),
                .byteas(written.map(\.claims.bytes)), .texts(written.map(\.told)), .int8(now),
            ])
    }
}

extension AccountKey {
    fileprivate init(id: String, app: String, environment: StoreEnvironment) {
        (self.id, self.app, self.environment) = (id, app, environment)
    }
}
