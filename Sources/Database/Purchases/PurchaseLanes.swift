import Base
import Postgres
import Subscriptions

/// In which lanes the purchases of an owner and of an Apple account lie. A cluster keeps it on its coordinator, beside customers and
/// accounts, so that a question about one of them asks only the servers that have something of it: the others may be away.
///
/// Rows are written together with the purchases and stay when these go elsewhere, so there may be lanes without a purchase, and never
/// a purchase without its lane. On one Postgres all of this does nothing.
package enum PurchaseLanes {
    // MARK: - Asking

    private static let selectOfOwners =
        "SELECT DISTINCT lane FROM entitled.owner_lane WHERE owner = ANY($1::text[]) ORDER BY lane"
    private static let selectOfAccounts =
        "SELECT DISTINCT lane FROM entitled.account_lane WHERE account = ANY($1::int8[]) ORDER BY lane"

    /// What a statement about the purchases of these owners takes beside its other parameters: on a cluster their lanes, on one
    /// Postgres nothing. Nil: they have no purchase, and there is nothing to ask.
    package static func values(
        ofOwners ids: some Collection<String>, on connection: PostgresConnection
    ) throws -> [PostgresValue]? {
        try values(selectOfOwners, .texts(ids.sorted()), on: connection)
    }

    /// Lanes in which there may be purchases of these owners; none on one Postgres.
    package static func lanes(
        ofOwners ids: some Collection<String>, on connection: PostgresConnection
    ) throws -> Set<Lane> {
        guard connection.isCluster else { return [] }
        return Set(try connection.query(selectOfOwners, [.texts(ids.sorted())]).map { try $0.value("lane") })
    }

    private static let selectOfCustomers = """
        SELECT named.id, o.lane FROM entitled.app_user_id named
        JOIN entitled.app_user_id every ON every.original_app_user_id = named.original_app_user_id
        JOIN entitled.owner_lane o ON o.owner = every.id
        WHERE named.id = ANY($1::text[])
        """

    /// Lanes in which there may be purchases of the customers whom these ids name, by the ids; none on one Postgres.
    package static func lanes(
        ofCustomers ids: some Collection<String>, on connection: PostgresConnection
    ) throws -> [String: Set<Lane>] {
        guard connection.isCluster else { return [:] }
        return try connection.query(selectOfCustomers, [.texts(ids.sorted())]).reduce(into: [:]) { lanes, row in
            lanes[try row.text("id"), default: []].insert(try row.value("lane"))
        }
    }

    /// The same for accounts, by their numbers.
    static func values(
        ofAccounts numbers: some Collection<Int64>, on connection: PostgresConnection
    ) throws -> [PostgresValue]? {
        try values(selectOfAccounts, .int8s(numbers.sorted()), on: connection)
    }

    private static func values(
        _ sql: String, _ names: PostgresValue, on connection: PostgresConnection
    ) throws -> [PostgresValue]? {
        guard connection.isCluster else { return [] }
        let lanes = try connection.query(sql, [names]).map { Int16(clamping: try $0.int("lane")) }
        return lanes.isEmpty ? nil : [.int2s(lanes)]
    }

    // MARK: - Writing

    private static let addOwners = """
        INSERT INTO entitled.owner_lane (owner, lane)
        SELECT t.owner, t.lane FROM unnest($1::text[], $2::int2[]) AS t(owner, lane)
        ON CONFLICT DO NOTHING
        """
    private static let addAccounts = """
        INSERT INTO entitled.account_lane (account, lane)
        SELECT t.account, t.lane FROM unnest($1::int8[], $2::int2[]) AS t(account, lane)
        ON CONFLICT DO NOTHING
        """
    private static let missingOwners = """
        SELECT t.place FROM unnest($1::text[], $2::int2[]) WITH ORDINALITY AS t(owner, lane, place)
        WHERE NOT EXISTS (SELECT FROM entitled.owner_lane o WHERE o.owner = t.owner AND o.lane = t.lane) ORDER BY t.place
        """
    private static let missingAccounts = """
        SELECT t.place FROM unnest($1::int8[], $2::int2[]) WITH ORDINALITY AS t(account, lane, place)
        WHERE NOT EXISTS (SELECT FROM entitled.account_lane a WHERE a.account = t.account AND a.lane = t.lane)
        ORDER BY t.place
        """

    /// A lane in which a purchase of the owner lies.
    package struct OwnerPlace: Hashable {
        let owner: String
        let lane: Lane

        init(owner: String, lane: Lane) { (self.owner, self.lane) = (owner, lane) }

        /// - Throws: `PostgresError` where the row has no column of these.
        package init(_ row: PostgresRow) throws {
            self.init(owner: try row.text("owner"), lane: try row.value("lane"))
        }
    }

    /// A lane in which a purchase of the account lies, or one that goes on as another one.
    struct AccountPlace: Hashable {
        let account: Int64
        let lane: Lane

        init(account: Int64, lane: Lane) { (self.account, self.lane) = (account, lane) }

        /// - Parameter account: as claims have it; nil: the purchase is an account of its own.
        init(of purchase: PurchaseKey, account: String?) {
            self.account = AccountKey(of: purchase, account: account).number
            lane = purchase.lane
        }

        /// Where a purchase lies that another one goes on as, under that one's account of its own.
        init(continuing former: String, as purchase: PurchaseKey) {
            let key = PurchaseKey(
                app: purchase.app, environment: purchase.environment, originalTransactionID: former)
            account = AccountKey(of: key, account: nil).number
            lane = purchase.lane
        }
    }

    /// Notes where these records lie. One without claims keeps its owner, and what is noted of it.
    package static func note(_ records: [PurchaseRecord], on connection: PostgresConnection) throws {
        guard connection.isCluster else { return }
        let given = records.filter { $0.claims != nil || $0.key.isGrant }
        guard !given.isEmpty else { return }
        try note(Set(given.map(place)), Set(given.compactMap(accountPlace)), on: connection)
    }

    private static func place(_ record: PurchaseRecord) -> OwnerPlace {
        OwnerPlace(owner: record.owner, lane: record.key.lane)
    }

    private static func accountPlace(_ record: PurchaseRecord) -> AccountPlace? {
        record.claims.map { AccountPlace(of: record.key, account: $0.account) }
    }

    /// Notes all of these, also those without claims.
    package static func noteAll(of records: [PurchaseRecord], on connection: PostgresConnection) throws {
        guard !records.isEmpty else { return }
        try note(Set(records.map(place)), Set(records.compactMap(accountPlace)), on: connection)
    }

    /// Those of these records that would not be found by their owner or account.
    package static func unnoted(
        _ records: [PurchaseRecord], on connection: PostgresConnection
    ) throws -> [PurchaseRecord] {
        let (owners, accounts) = try missing(
            Set(records.map(place)), Set(records.compactMap(accountPlace)), on: connection)
        guard !owners.isEmpty || !accounts.isEmpty else { return [] }
        let (missing, unknown) = (Set(owners), Set(accounts))
        return records.filter { record in
            missing.contains(place(record)) || accountPlace(record).map(unknown.contains) ?? false
        }
    }

    /// Names of purchases that say that these are how others go on, where that would not be found; by their places.
    package static func unnoted(
        continuations names: [(identifier: String, key: PurchaseKey)], on connection: PostgresConnection
    ) throws -> Set<Int> {
        guard connection.isCluster else { return [] }
        let places = names.map { name, key in
            PurchaseTable.continued(by: name).map { AccountPlace(continuing: $0, as: key) }
        }
        let missing = Set(try missing([], Set(places.compactMap { $0 }), on: connection).1)
        return Set(names.indices.filter { places[$0].map(missing.contains) ?? false })
    }

    /// Notes where purchases lie that others go on as: of names of purchases, those that say so.
    static func note(
        continuations names: [(identifier: String, key: PurchaseKey)], on connection: PostgresConnection
    ) throws {
        guard connection.isCluster else { return }
        let places = names.compactMap { name, key in
            PurchaseTable.continued(by: name).map { AccountPlace(continuing: $0, as: key) }
        }
        guard !places.isEmpty else { return }
        try note([], Set(places), on: connection)
    }

    /// Notes that purchases of these owners and accounts lie in these lanes, in the transaction that writes the purchases.
    ///
    /// Nearly always all of it is known: then nothing is written, and the transaction changes one server alone.
    static func note(
        _ owners: Set<OwnerPlace>, _ accounts: Set<AccountPlace>, on connection: PostgresConnection
    ) throws {
        guard connection.isCluster else { return }
        try holdShared(owners.map(\.owner), on: connection)
        let (missing, unknown) = try missing(owners, accounts, on: connection)
        if !missing.isEmpty {
            _ = try connection.query(
                addOwners, [.texts(missing.map(\.owner)), .int2s(missing.map(\.lane.number))])
        }
        if !unknown.isEmpty {
            _ = try connection.query(
                addAccounts, [.int8s(unknown.map(\.account)), .int2s(unknown.map(\.lane.number))])
        }
    }

    /// Those of them that are not noted, in the order in which all transactions add them.
    static func missing(
        _ owners: Set<OwnerPlace>, _ accounts: Set<AccountPlace>, on connection: PostgresConnection
    ) throws -> ([OwnerPlace], [AccountPlace]) {
        guard connection.isCluster else { return ([], []) }
        let owners = owners.sorted { ($0.owner, $0.lane) < ($1.owner, $1.lane) }
        let accounts = accounts.sorted { ($0.account, $0.lane) < ($1.account, $1.lane) }
        func pick<Place>(_ sql: String, _ places: [Place], _ names: PostgresValue, _ lanes: [Lane]) throws -> [Place] {
            guard !places.isEmpty else { return [] }
            let rows = try connection.query(sql, [names, .int2s(lanes.map(\.number))])
            return try rows.map { Int(try $0.int("place")) - 1 }.filter(places.indices.contains).map { places[$0] }
        }
        return (
            try pick(missingOwners, owners, .texts(owners.map(\.owner)), owners.map(\.lane)),
            try pick(missingAccounts, accounts, .int8s(accounts.map(\.account)), accounts.map(\.lane))
        )
    }

    private static let remove = "DELETE FROM entitled.owner_lane WHERE owner = ANY($1::text[])"

    /// Forgets ids that name no customer any more.
    package static func remove(_ ids: [String], on connection: PostgresConnection) throws {
        guard connection.isCluster else { return }
        _ = try connection.query(remove, [.texts(ids)])
    }

    // MARK: - What is committed on the coordinator only

    // A transaction over several servers is committed on the coordinator first: from then on no row lock keeps others waiting, and the
    // servers commit a moment later. These locks last until they have, unless a server dies in that moment: then its part of the
    // transaction keeps the rows and lanes that it wrote locked until it is committed, and decisions wait for it (`query`).

    private static let holdAccounts = "SELECT entitled.hold_accounts($1::int8[])"
    private static let holdOwners = "SELECT entitled.hold_owners($1::text[], $2)"

    /// Waits until what other transactions wrote of these accounts can be read on all servers, and keeps others waiting in turn until
    /// this one can be. To be called before the accounts are locked.
    static func hold(accounts numbers: some Collection<Int64>, on connection: PostgresConnection) throws {
        guard connection.isCluster else { return }
        for part in parts(numbers) { _ = try connection.query(holdAccounts, [.int8s(part)]) }
    }

    /// Waits until every purchase that was given to these ids can be read. To be called by a transaction that locked their customers.
    package static func awaitGiven(to ids: [String], on connection: PostgresConnection) throws {
        guard connection.isCluster else { return }
        for part in parts(Set(ids)) { _ = try connection.query(holdOwners, [.texts(part), .bool(false)]) }
    }

    private static func holdShared(_ ids: some Collection<String>, on connection: PostgresConnection) throws {
        for part in parts(Set(ids)) { _ = try connection.query(holdOwners, [.texts(part), .bool(true)]) }
    }

    /// As many as one call takes.
    private static let most = 2000

    private static func parts<Name: Comparable>(_ names: some Collection<Name>) -> [[Name]] {
        let sorted = names.sorted()
        return stride(from: 0, to: sorted.count, by: most).map { Array(sorted[$0...].prefix(most)) }
    }
}
