import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport

/// A database whose lanes belong to one worker, and shorthands for putting into it what is old.
final class RetentionFixture {
    static let day: Int64 = 86_400_000

    let database: TestDatabase
    /// With the worker's role.
    let connection: PostgresConnection
    let owner: PostgresConnection
    let now = SystemClock().now()
    let log = LogTape()
    let metrics = Metrics()
    private let worker = [UInt8](repeating: 1, count: 16)
    var leadership: Leadership { Leadership(worker: worker, lease: .seconds(10)) }
    private(set) var round: RetentionRun
    let times: RetentionTimes

    /// - Parameters:
    ///   - emptyCustomers: days, as all of these; nil: they stay.
    ///   - behind: how far this host's clock is behind the server's.
    init(
        notifications: Int64 = 400, attempts: Int64 = 90, events: Int64 = 400, emptyCustomers: Int64? = nil,
        audit: Int64 = 400, behind: Int64 = 0
    ) throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        connection = try database.connect(role: "entitled_worker")
        owner = try database.connect()
        func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
        times = RetentionTimes(
            notifications: days(notifications), attempts: days(attempts), events: days(events),
            emptyCustomers: emptyCustomers.map(days), audit: days(audit))
        round = RetentionRun(
            times: times, clock: ManualClock(now - behind * RetentionFixture.day), logger: log.logger, metrics: metrics)
        try own(worker)
    }

    /// Makes somebody the owner of all lanes.
    func own(_ worker: [UInt8]) throws {
        try owner.query(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour'", [.uuid(worker)])
    }

    /// One run, without what is done once a day and was done.
    func runOnce(isDraining: @escaping () -> Bool = { false }) throws -> Bool {
        try round.take(leadership, on: connection, isDraining: isDraining)
    }

    /// The next run does what is done once a day, too.
    func hurry() { round.hurry() }

    /// All that is to do now, the daily part included.
    func runRetention() throws {
        hurry()
        while try round.take(leadership, on: connection) {}
    }

    func today(_ daysAgo: Int64 = 0) -> Day { Day(of: now).adding(-daysAgo) }

    // MARK: - Notifications

    static func uuid(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }

    static func notification(_ number: Int) throws -> NewNotification {
        let header = Array("eyJhbGciOiJFUzI1NiIsIng1YyI6WyJBQUFBIiwiQkJCQiIsIkNDQ0MiXX0".utf8)
        let id = StoredJWS.headerID(header)
        let packed = try HeaderDictionaries().compress(Array("{\"number\":\(number)}".utf8), header: header, id: id)
        return NewNotification(
            identity: NotificationIdentity(app: "demo", environment: .production, uuid: uuid(number)), type: "TEST",
            subtype: nil, originalTransactionID: "2000\(number)", signedDate: 1, source: .store, header: header,
            stored: StoredJWS(headerID: id, payload: packed, signature: [UInt8](repeating: 7, count: 64)))
    }

    /// Takes a notification as the endpoint did so many days ago; it waits to be applied.
    @discardableResult
    func receive(_ number: Int, daysAgo: Int64) throws -> NotificationInserter.InsertResult {
        let clock = ManualClock(now - daysAgo * RetentionFixture.day)
        var inserter = NotificationInserter(sequence: SequenceGenerator(clock: clock, node: 1), clock: clock)
        let ingest = try database.connect(role: "entitled_ingest")
        return try inserter.insert([try RetentionFixture.notification(number)], on: ingest)[0]
    }

    /// The same, applied since, in the partition of its day.
    func receiveAndApply(_ number: Int, daysAgo: Int64) throws {
        try receive(number, daysAgo: daysAgo)
        try owner.query("DELETE FROM entitled.pending")
        _ = try DayPartitions.notifications.make(today(daysAgo), on: connection)
    }

    func pending() throws -> [PendingNotification] {
        try PendingNotification.read(from: Lane.all, eachAtMost: 100, atMost: 1000, on: connection)
    }

    func list(_ state: NotificationState? = nil) throws -> [String] {
        try NotificationQuery.list(.init(state: state), .init(limit: 100), on: connection).rows
            .map(\.identity.uuid)
    }

    // MARK: - What is there

    /// The days that have a partition, as how many days ago.
    func days(_ table: String) throws -> [Int64] {
        let today = today()
        return try owner.query(
            """
            SELECT to_date(right(relname, 8), 'YYYYMMDD') - DATE '1970-01-01' FROM pg_class
            WHERE relkind = 'r' AND relname ~ ('^' || $1 || '_[0-9]{8}$') ORDER BY 1 DESC
            """, [.text(table)]
        ).map { today.number - (try $0.int(0)) }
    }

    func state(_ sql: String, on connection: PostgresConnection) -> String? {
        do {
            _ = try connection.query(sql)
            return nil
        } catch {
            return error.sqlstate ?? "no state"
        }
    }
}
