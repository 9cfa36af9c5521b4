import Base
import Daemon
import Database
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Lanes that lie in four groups, as on a cluster: each transaction stays within one of them, the results are those of one Postgres,
/// and what fails in one group stops no other.
@Suite struct LaneGroupTests {
    /// Three notifications of each of several subscribers: the first of all, then the second ones, then the third ones.
    private func stages(_ seed: UInt64, lives: Int) -> [[StoreNotification]] {
        var lives = (0..<lives).map { SubscriberLife(app: Installation.app, seed: seed, number: UInt64($0)) }
        return [
            lives.indices.map { lives[$0].start(at: Installation.start) },
            lives.indices.map { lives[$0].autoRenewOff(at: Installation.start + StoreProduct.day) },
            lives.indices.map { lives[$0].autoRenewOn(at: Installation.start + 2 * StoreProduct.day) },
        ]
    }

    private func notifications(_ seed: UInt64, lives: Int = 40) -> [StoreNotification] {
        stages(seed, lives: lives).flatMap { $0 }
    }

    /// How many of the purchases are in each group.
    private func applied(_ installation: Installation) throws -> [Int: Int64] {
        let group = TestGroups.four(of: "lane")
        let rows = try installation.database.connect().query(
            "SELECT \(group)::int8 AS number, count(*) AS count FROM entitled.purchase GROUP BY 1")
        return Dictionary(uniqueKeysWithValues: try rows.map { (Int(try $0.int("number")), try $0.int("count")) })
    }

    private func waiting(_ installation: Installation) throws -> [Int64] {
        try installation.database.connect().query(
            "SELECT DISTINCT \(TestGroups.four(of: "lane"))::int8 AS number FROM entitled.pending ORDER BY 1"
        ).map { try $0.int("number") }
    }

    // MARK: - Results

    private struct Outcome: Equatable {
        let purchases: [String]
        let events: [String]
        let sent: Set<String>
    }

    private func outcome(of stages: [[StoreNotification]], _ groups: LaneGroups) throws -> Outcome {
        let installation = try Installation(groups: groups)
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        _ = try installation.addEndpoint(consumer, path: "/ordered", ordering: .purchase)
        let workers = try [RunningWorker(installation), RunningWorker(installation)]
        var count = 0
        for stage in stages {
            try installation.postAll(stage)
            count += stage.count
            try installation.untilApplied(Int64(count))
        }
        let events = try installation.database.texts(
            "SELECT lane || ' ' || id || ' ' || type FROM entitled.event ORDER BY 1")
        try installation.untilDeliveries(Int64(2 * events.count), .delivered)
        for worker in workers { worker.stop() }
        let requests = try consumer.wait(2 * events.count)
        consumer.stop()
        #expect(try installation.heldReasons() == [])
        #expect(try installation.database.count("SELECT count(*) FROM entitled.lane WHERE owner IS NOT NULL") == 0)
        return Outcome(
            purchases: try installation.purchaseRows(), events: events, sent: Set(requests.map { $0.path + $0.id }))
    }

    @Test func `four groups come to the same records, events and webhooks as one`() throws {
        let stages = stages(101, lives: 40)
        let one = try outcome(of: stages, .one)
        let four = try outcome(of: stages, TestGroups.four)
        #expect(one.purchases.count == 40 && one.events.count == 120)
        #expect(four.purchases == one.purchases)
        #expect(four.events == one.events)
        #expect(four.sent == one.sent && four.sent.count == 240)
    }

    /// The guard is worth something only if it finds a transaction over two groups.
    @Test func `a transaction that changes lanes of two groups is found`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.guardFourGroups()
        let connection = try database.connect(role: "entitled_worker")
        let (one, other) = (TestGroups.four.lanes(of: 0)[0].number, TestGroups.four.lanes(of: 1)[0].number)
        let insert = "INSERT INTO entitled.pending (lane, seq) VALUES ($1, 1), ($2, 2)"
        #expect(throws: PostgresError.self) { try connection.query(insert, [.int2(one), .int2(other)]) }
        #expect(try database.crossings() == 1)
        // With the lanes held it may.
        try connection.transaction {
            _ = try Fence.hold([Lane(number: one), Lane(number: other)], on: connection)
            try connection.query(insert, [.int2(one), .int2(other)])
        }
        #expect(try database.crossings() == 1)
    }

    // MARK: - Faults

    enum Fault: CaseIterable, Sendable {
        /// The coordinator says that the group's server is away.
        case away
        /// The group's server says that it has no more room.
        case full
        /// Another session keeps the rows of the group's lanes locked.
        case locked

        func begin(in installation: Installation) throws -> any Sendable {
            switch self {
            case .away: try installation.database.breakGroup(2, on: "fact", sqlstate: "08006")
            case .full: try installation.database.breakGroup(2, on: "fact", sqlstate: "53100")
            case .locked:
                let holder = try installation.database.connect()
                try holder.query("BEGIN")
                try holder.query(
                    "SELECT 1 FROM entitled.lane WHERE \(TestGroups.four(of: "lane")) = 2 FOR UPDATE")
                return Holder(connection: holder)
            }
            return 0
        }

        func end(_ begun: any Sendable, in installation: Installation) throws {
            if let holder = begun as? Holder {
                try holder.connection.query("ROLLBACK")
            } else {
                try installation.database.mendGroup(on: "fact")
            }
        }
    }

    /// `@unchecked Sendable`: used by the thread of the test alone.
    private struct Holder: @unchecked Sendable {
        let connection: PostgresConnection
    }

    @Test(arguments: Fault.allCases)
    func `a group in which nothing can be applied stops none of the others`(fault: Fault) throws {
        let installation = try Installation(groups: TestGroups.four)
        let worker = try RunningWorker(installation, lease: .seconds(4))
        defer { worker.stop() }
        try worker.log.wait(for: "lanes gained")
        try eventually("all lanes are owned") {
            try installation.database.count("SELECT count(*) FROM entitled.lane WHERE owner IS NOT NULL") == 256
        }
        let begun = try fault.begin(in: installation)
        let first = notifications(102)
        try installation.postAll(first)
        try eventually("the other groups are applied") { try waiting(installation) == [2] }
        // What comes while it lasts is applied, too, time and again.
        for round in 0..<3 {
            try installation.postAll(notifications(103 + UInt64(round), lives: 12))
            try eventually("the other groups are applied again") { try waiting(installation) == [2] }
        }
        #expect(try applied(installation).keys.sorted() == [0, 1, 3])
        // Nothing that the group is at fault for is held.
        #expect(try installation.heldReasons() == [])
        try fault.end(begun, in: installation)
        try installation.untilApplied(Int64(first.count + 3 * 36))
        #expect(try applied(installation).keys.sorted() == [0, 1, 2, 3])
    }

    @Test func `while a group's server is away its notifications alone are answered 503`() throws {
        let installation = try Installation(groups: TestGroups.four)
        try installation.database.breakGroup(1, on: "pending")
        let notifications = notifications(110, lives: 60)
        func post(_ all: [StoreNotification]) throws -> [(lane: Lane, status: Int)] {
            let bodies = try all.map { try Installation.signer.sign($0).body }
            let threads = (0..<16).map { part in
                TestThread {
                    stride(from: part, to: bodies.count, by: 16).map {
                        (place: $0, status: installation.post(bodies[$0]).status)
                    }
                }
            }
            return try threads.flatMap { try $0.value() }.map { answer in
                (try installation.lane(of: all[answer.place]), answer.status)
            }
        }
        let answers = try post(notifications)
        #expect(answers.count == notifications.count)
        for (lane, status) in answers {
            #expect(status == (TestGroups.four.group(of: lane) == 1 ? 503 : 200))
        }
        #expect(Set(answers.map(\.status)) == [200, 503])
        let stored = try installation.database.count("SELECT count(*) FROM entitled.notification")
        #expect(Int(stored) == answers.count { $0.status == 200 })
        try installation.database.mendGroup(on: "pending")
        try eventually("the group is there again") { try post(notifications).allSatisfy { $0.status == 200 } }
        for table in ["notification", "notification_key", "pending"] {
            #expect(
                try installation.database.count("SELECT count(*) FROM entitled.\(table)") == Int64(notifications.count))
        }
    }

    /// As where the server of the group hangs.
    @Test func `while the log of a group is locked its notifications alone are stored beside it`() throws {
        let installation = try Installation(groups: TestGroups.four)
        let notifications = notifications(111, lives: 24)
        func isLocked(_ notification: StoreNotification) throws -> Bool {
            TestGroups.four.group(of: try installation.lane(of: notification)) == 2
        }
        let locked = try notifications.filter(isLocked)
        let holder = try installation.database.connect()
        try holder.query("BEGIN")
        for notification in locked {
            let read = try installation.read(notification)
            try holder.query(
                "INSERT INTO entitled.notification_key (key, app, environment, lane, seq) VALUES ($1, $2, $3, $4, 1)",
                [
                    .uuid(read.identity.key), .text(read.identity.app), .int2(read.identity.environment.code),
                    .int2(read.lane.number),
                ])
        }
        try installation.postAll(notifications)
        func count(_ table: String) throws -> Int {
            Int(try installation.database.count("SELECT count(*) FROM entitled.\(table)"))
        }
        #expect(try count("diverted_notification") == locked.count)
        #expect(try count("notification") == notifications.count - locked.count)
        #expect(!locked.isEmpty)
        try holder.query("ROLLBACK")
    }

    @Test func `results of deliveries are written down after two groups failed again and again`() throws {
        let installation = try Installation(groups: TestGroups.four)
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.database.breakGroup(1, 2, on: "attempt")
        let notifications = notifications(140)
        try installation.postAll(notifications)
        try installation.untilApplied(Int64(notifications.count))
        let events = try installation.database.count("SELECT count(*) FROM entitled.event")
        _ = try consumer.wait(Int(events))
        try eventually("both groups are tried several times") { try installation.database.failures() >= 12 }
        try installation.database.mendGroup(on: "attempt")
        try installation.untilDeliveries(events, .delivered)
        consumer.stop()
        #expect(consumer.requests.count == events)
    }

    // MARK: - Price

    /// Statements that write down a notification that came alone.
    @Test(arguments: [1, 4])
    func `a notification is stored by exactly one statement`(count: Int) throws {
        let groups = TestGroups.of(count)
        let database = try TestCluster.shared.makeMigratedDatabase()
        let log = try StatementLog(database)
        let installation = try Installation(database: database, groups: groups)
        let notifications = notifications(120, lives: 2)
        // The first one brings the header.
        #expect(try installation.post(notifications[0]).status == 200)
        let mark = try log.mark()
        #expect(try installation.post(notifications[1]).status == 200)
        // Beside what says that the process is there, that the database takes commits, and that a connection was opened.
        let statements = try log.statements(since: mark).filter {
            $0 != "SELECT 1" && !$0.contains("entitled.listening") && !$0.contains("pg_logical_emit_message")
                && !$0.contains("pg_dist_partition")
        }
        #expect(statements.count == 1, "\(statements)")
        #expect(statements.allSatisfy { $0.contains("entitled.notification_key") })
    }

    @Test(arguments: [1, 4])
    func `what waits is applied by one transaction for each group that it is in`(count: Int) throws {
        let groups = TestGroups.of(count)
        let database = try TestCluster.shared.makeMigratedDatabase()
        let log = try StatementLog(database)
        let installation = try Installation(database: database, groups: groups)
        let notifications = notifications(121, lives: 60)
        try installation.postAll(notifications)
        installation.drain()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.untilApplied(Int64(notifications.count))
        let statements = try log.statements(since: 0)
        let fences = statements.filter { $0.contains("FOR NO KEY UPDATE OF l") }
        // All are read at once: 180 are fewer than a turn takes.
        #expect(fences.count == groups.count, "\(fences.count)")
    }
}
