import Base
import Glibc
import Postgres
import Synchronization

/// Reading for a decision: all of what the coordinator says is there.
///
/// A server that dies within a commit in two phases has not got, when it is back, what the coordinator has, until Citus commits it
/// there (`citus.recover_2pc_interval`). Whatever was new with it is not seen before; the rows of `owner_lane` and `account_lane` are.
/// So a lane in which nothing is found is looked at twice: after everything that its server had prepared has ended. Purchases may
/// have left such a lane, too, which costs the same. A second purchase of one owner and account in the same lane is not waited for.
extension PurchaseLanes {
    /// What is found about purchases of these owners; on a cluster in the lanes that are noted for them, which the statement takes as
    /// its last parameter. Where something is decided by it, their customers are locked, and `awaitGiven` was called.
    ///
    /// - Parameter place: the owner and the lane of what a row tells.
    /// - Returns: nil where the owners have no lane, and there was nothing to ask.
    /// - Throws: `PostgresError`, also as `awaitCommits`.
    package static func query(
        _ sql: String, _ values: [PostgresValue], ofOwners ids: some Collection<String>,
        on connection: PostgresConnection, place: (PostgresRow) throws -> OwnerPlace
    ) throws -> PostgresRows? {
        guard connection.isCluster else { return try connection.query(sql, values) }
        let noted = try connection.query(selectOfOwners, [.texts(ids.sorted())]).map {
            OwnerPlace(owner: try $0.text("owner"), lane: try $0.value("lane"))
        }
        return try query(sql, values, noted, lane: \.lane, on: connection, place: place)
    }

    /// The same of accounts, by their numbers, which are held.
    ///
    /// - Parameter held: places where nothing need be found, since the lanes are locked: they are not, before a server has committed.
    static func query(
        _ sql: String, _ values: [PostgresValue], ofAccounts numbers: some Collection<Int64>,
        held: Set<AccountPlace> = [], on connection: PostgresConnection,
        place: (PostgresRow) throws -> AccountPlace?
    ) throws -> PostgresRows? {
        guard connection.isCluster else { return try connection.query(sql, values) }
        let noted = try connection.query(selectOfAccounts, [.int8s(numbers.sorted())]).map {
            AccountPlace(account: try $0.int("account"), lane: try $0.value("lane"))
        }
        return try query(sql, values, noted, held, lane: \.lane, on: connection, place: place)
    }

    private static let selectOfOwners =
        "SELECT owner, lane FROM entitled.owner_lane WHERE owner = ANY($1::text[])"
    private static let selectOfAccounts =
        "SELECT account, lane FROM entitled.account_lane WHERE account = ANY($1::int8[])"

    private static func query<Place: Hashable>(
        _ sql: String, _ values: [PostgresValue], _ noted: [Place], _ held: Set<Place> = [], lane: (Place) -> Lane,
        on connection: PostgresConnection, place: (PostgresRow) throws -> Place?
    ) throws -> PostgresRows? {
        guard !noted.isEmpty else { return nil }
        let values = values + [.int2s(Set(noted.map(lane)).sorted().map(\.number))]
        let rows = try connection.query(sql, values)
        let unseen = Set(noted).subtracting(try rows.compactMap(place)).subtracting(held)
        guard !unseen.isEmpty else { return rows }
        try awaitCommits(in: unseen.map(lane), on: connection)
        return try connection.query(sql, values)
    }

    // MARK: - What a server has prepared

    /// Of one lane, and by functions alone, in the database that the lane's server knows: what is asked of several servers, and what a
    /// view or a subquery says, the coordinator answers.
    private static let selectPrepared = """
        SELECT x.gid FROM entitled.lane l, pg_catalog.pg_prepared_xact() AS x,
            pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS a
        WHERE l.lane = $1 AND starts_with(x.gid, 'citus_') AND x.dbid = a.datid
        """

    /// For how long commits are waited for, where nothing has died.
    private static let commitTime = Duration.milliseconds(500)
    private static let lookEvery: UInt32 = 5000

    /// What was waited for in vain, by its name, and until when it is not waited for again.
    private static let overdue = Mutex<[String: ContinuousClock.Instant]>([:])
    private static let overdueKept = Duration.seconds(120)

    /// Waits until the servers of these lanes have ended all commits that they had begun.
    ///
    /// - Throws: `PostgresError` of a server that is away (08007) where one takes longer: it died in that commit, or the coordinator did.
    private static func awaitCommits(in lanes: [Lane], on connection: PostgresConnection) throws {
        let end = ContinuousClock.now + commitTime
        let groups = connection.laneGroups
        var asked: Set<Int> = []
        for part in groups.split(lanes) where !asked.contains(part.group) {
            asked.formUnion(groups.neighbours(of: part.group))
            guard let lane = part.elements.first else { continue }
            var open = try prepared(lane, on: connection)
            while !open.isEmpty {
                guard ContinuousClock.now < end, !isOverdue(open) else {
                    overdue.withLock { overdue in
                        overdue = overdue.filter { $0.value > .now }
                        for name in open { overdue[name] = overdue[name] ?? .now + overdueKept }
                    }
                    throw PostgresError(
                        .query,
                        "a server of the cluster has not committed yet what the coordinator has (lane \(lane.number)); "
                            + "Citus does that within citus.recover_2pc_interval",
                        sqlstate: "08007")
                }
                usleep(lookEvery)
                open.formIntersection(try prepared(lane, on: connection))
            }
        }
    }

    private static func isOverdue(_ names: Set<String>) -> Bool {
        overdue.withLock { overdue in names.contains { overdue[$0].map { $0 > .now } ?? false } }
    }

    private static func prepared(_ lane: Lane, on connection: PostgresConnection) throws -> Set<String> {
        Set(try connection.query(selectPrepared, [.int2(lane.number)]).map { try $0.text("gid") })
    }
}
