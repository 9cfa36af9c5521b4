import Base
import Database
import Postgres
import TestSupport
import Testing

/// One endpoint that gets the events of a purchase one after the other.
@Suite struct DeliveryOrderTests {
    private func makeBench() throws -> (bench: Bench, endpoint: String) {
        let bench = try Bench()
        return (bench, try bench.addEndpoint(ordering: .purchase))
    }

    /// As the database keeps them, by their numbers: 4 is blocked.
    private func states(_ bench: Bench, of endpoint: String) throws -> [Int64] {
        try bench.database.connect().query(
            "SELECT state FROM entitled.delivery WHERE endpoint = $1 ORDER BY sequence, id", [.text(endpoint)]
        ).map { try $0.int(0) }
    }

    private func delivery(_ number: UInt8, _ endpoint: String) -> DeliveryID {
        DeliveryID(lane: Lane(number: 5), event: [UInt8](repeating: number, count: 16), endpoint: endpoint)
    }

    /// The numbers of what is due.
    private func due(_ bench: Bench, _ endpoint: String, now: Int64 = Bench.now) throws -> [UInt8] {
        try bench.due([endpoint: 100], now: now).map { $0.event[0] }.sorted()
    }

    @Test func `of events that are made together only the first may be sent, and the next when it arrived`() throws {
        let (bench, endpoint) = try makeBench()
        var sent = try bench.insert([9, 3, 7].map { Bench.event($0) })
        for number in [9, 3, 7] as [UInt8] {
            #expect(sent.map { $0.event[0] } == [number])
            #expect(try due(bench, endpoint) == [number])
            sent = try bench.settle(try #require(sent.first), .delivered, status: 200)
        }
        #expect(sent.isEmpty)
        #expect(try states(bench, of: endpoint) == [1, 1, 1])
    }

    @Test func `what comes out of a settlement is what would be read as due`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1), Bench.event(2, body: "second")]).first)
        let released = try #require(try bench.settle(first, .delivered).first)
        let read = try #require(try bench.due([endpoint: 1]).first)
        #expect(released.id == read.id && released.event == read.event && released.eventType == read.eventType)
        #expect(released.body == read.body && released.body == Array("second".utf8))
        #expect(released.sequence == 2 && read.sequence == 2 && released.attempts == 0 && released.roundStart == 0)
    }

    @Test func `while an event is retried the next one waits, and goes when the first is given up`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1)]).first)
        #expect(try bench.settle(first, .pending, wait: 3_600_000, status: 500).isEmpty)
        #expect(try bench.insert([Bench.event(2)]).isEmpty)
        #expect(try due(bench, endpoint).isEmpty)
        #expect(try due(bench, endpoint, now: Bench.now + 3_600_000) == [1])
        let again = try #require(try bench.due([endpoint: 1], now: Bench.now + 3_600_000).first)
        #expect(try bench.settle(again, .dead, attempts: 2).map { $0.event[0] } == [2])
        #expect(try due(bench, endpoint) == [2])
    }

    @Test func `other purchases, other endpoints and events about no purchase go on`() throws {
        let (bench, endpoint) = try makeBench()
        let free = try bench.addEndpoint()
        let made = try bench.insert([
            Bench.event(1), Bench.event(2), Bench.event(3, purchase: "2001"), Bench.event(4, app: "other"),
            Bench.event(5, environment: .sandbox), Bench.event(6, purchase: nil), Bench.event(7, purchase: nil),
        ])
        #expect(made.filter { $0.endpoint == endpoint }.map { $0.event[0] }.sorted() == [1, 3, 4, 5, 6, 7])
        #expect(made.filter { $0.endpoint == free }.count == 7)
        #expect(
            try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE ordered_by IS NOT NULL") == 5)
    }

    @Test func `a settlement that is rolled back releases nothing`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1), Bench.event(2)]).first)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try bench.connection.transaction {
                #expect(try bench.settle(first, .delivered).count == 1)
                throw Stop()
            }
        }
        #expect(try states(bench, of: endpoint) == [0, 4])
    }

    @Test func `a late result of one that is blocked counts only where it arrived`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1), Bench.event(2), Bench.event(3)]).first)
        let second = try #require(try bench.settle(first, .dead).first)
        // Sent again: what comes behind it waits again, whatever is in flight.
        #expect(try DeliveryRepair.resend(first.id, now: Bench.now, on: bench.connection) == .reopened)
        #expect(try DeliveryRepair.resend(second.id, now: Bench.now, on: bench.connection) == .blocked)
        try bench.settle(second, .pending, status: 500)
        #expect(try states(bench, of: endpoint) == [0, 4, 4])
        try bench.settle(second, .delivered, attempts: 2)
        #expect(try states(bench, of: endpoint) == [0, 1, 4])
        let again = try #require(try bench.due([endpoint: 10]).first)
        #expect(try bench.settle(again, .delivered, attempts: 2).map { $0.event[0] } == [3])
    }

    @Test func `those that were given up and are sent again go in order among themselves`() throws {
        let (bench, endpoint) = try makeBench()
        var sent = try bench.insert([1, 2, 3].map { Bench.event($0) })
        while let next = sent.first { sent = try bench.settle(next, .dead) }
        let outcomes = try [2, 1, 3].map {
            try DeliveryRepair.resend(delivery($0, endpoint), now: Bench.now, on: bench.connection)
        }
        // The second one was free when it was asked for; that the first comes before it can no longer be had.
        #expect(outcomes == [.reopened, .reopened, .blocked])
        #expect(try due(bench, endpoint) == [1, 2])
        for next in try bench.due([endpoint: 10]) { try bench.settle(next, .delivered, attempts: 2) }
        #expect(try due(bench, endpoint) == [3])
    }

    @Test func `what is made while one is sent again waits for it`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1)]).first)
        try bench.settle(first, .dead)
        #expect(try DeliveryRepair.resend(first.id, now: Bench.now, on: bench.connection) == .reopened)
        #expect(try bench.insert([Bench.event(2)]).isEmpty)
        #expect(try due(bench, endpoint) == [1])
    }

    @Test func `a resend waits for the owner of the lane, so that nothing stays blocked behind nothing`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1), Bench.event(2)]).first)
        let second = try #require(try bench.settle(first, .dead).first)
        try bench.settle(second, .dead)
        #expect(try DeliveryRepair.resend(first.id, now: Bench.now, on: bench.connection) == .reopened)
        let again = try #require(try bench.due([endpoint: 10]).first)
        let (database, id) = (bench.database, second.id)
        let resend = try bench.connection.transaction {
            try Fence.lock([Lane(number: 5)], on: bench.connection)
            let resend = TestThread {
                let connection = try database.connect(role: "entitled_worker")
                return try DeliveryRepair.resend(id, now: Bench.now, on: connection)
            }
            try database.untilBlocked()
            #expect(try bench.settle(again, .delivered, attempts: 2).isEmpty)
            return resend
        }
        #expect(try resend.value() == .reopened)
        #expect(try states(bench, of: endpoint) == [1, 0])
    }

    @Test func `events of a disabled endpoint are held, and freed in order when it is enabled`() throws {
        let (bench, endpoint) = try makeBench()
        let first = try #require(try bench.insert([Bench.event(1), Bench.event(2)]).first)
        _ = try EndpointTable.disable(endpoint, reason: "x", on: bench.connection)
        try bench.followEndpoints()
        #expect(try bench.insert([Bench.event(3), Bench.event(4, purchase: "2001")]).isEmpty)
        #expect(try bench.insert([Bench.event(5, purchase: "2001")]).isEmpty)
        #expect(try bench.deliveries().allSatisfy { $0.state == .held })
        #expect(try due(bench, endpoint).isEmpty)
        // One that was in flight arrives: the next one takes its place, and is held too.
        #expect(try bench.settle(first, .delivered).map { $0.event[0] } == [2])
        try bench.followEndpoints()
        #expect(try due(bench, endpoint).isEmpty)
        _ = try EndpointTable.enable(endpoint, on: bench.connection)
        try bench.followEndpoints()
        #expect(try due(bench, endpoint) == [2, 4])
        for next in try bench.due([endpoint: 10]) { try bench.settle(next, .delivered) }
        #expect(try due(bench, endpoint) == [3, 5])
    }

    @Test func `a removed endpoint's blocked deliveries are given up with the others`() throws {
        let (bench, endpoint) = try makeBench()
        try bench.insert([Bench.event(1), Bench.event(2), Bench.event(3)])
        _ = try EndpointTable.remove(endpoint, now: Bench.now, on: bench.connection)
        try bench.followEndpoints()
        #expect(try states(bench, of: endpoint) == [2, 2, 2])
        #expect(Set(try bench.deliveries().map(\.reason)) == ["endpoint removed"])
    }

    @Test func `one whose body cannot be read is given up, and the next one goes`() throws {
        let (bench, endpoint) = try makeBench()
        try bench.insert([Bench.event(1), Bench.event(2)])
        try bench.database.execute("UPDATE entitled.event SET body = 'x' WHERE sequence = 1")
        #expect(try due(bench, endpoint).isEmpty)
        #expect(try due(bench, endpoint) == [2])
        #expect(try states(bench, of: endpoint) == [2, 0])
    }

    @Test func `who waits is shown as pending, since when, and for what`() throws {
        let (bench, endpoint) = try makeBench()
        try bench.insert([Bench.event(1)])
        try bench.insert([Bench.event(2)], now: Bench.now + 5)
        try bench.insert([Bench.event(3)], now: Bench.now + 9)
        let shown = try #require(try DeliveryQuery.show(delivery(3, endpoint), on: bench.connection))
        #expect(shown.delivery.state == .pending && shown.delivery.blockedSince == Bench.now + 9)
        #expect(shown.blockedBy == delivery(1, endpoint) && shown.sequence == 3)
        let first = try #require(try DeliveryQuery.show(delivery(1, endpoint), on: bench.connection))
        #expect(first.blockedBy == nil && first.delivery.blockedSince == nil)
        let api = try bench.database.connect(role: "entitled_api")
        #expect(
            try DeliveryQuery.list(.init(endpoint: endpoint, state: .pending), .init(limit: 9), on: api).rows.count == 3
        )
        #expect(try DeliveryQuery.list(.init(endpoint: endpoint, state: .held), .init(limit: 9), on: api).rows.isEmpty)
        #expect(try DeliveryOrder.blocked(of: endpoint, atMost: 1000, on: api) == 2)
        #expect(try DeliveryOrder.blocked(of: endpoint, atMost: 1, on: api) == 1)
        #expect(try DeliveryOrder.oldestBlocked(in: Lane.all, on: bench.connection) == Bench.now + 5)
        #expect(try DeliveryOrder.oldestBlocked(in: [Lane(number: 6)], on: bench.connection) == nil)
        _ = try EndpointTable.disable(endpoint, reason: "x", on: bench.connection)
        #expect(try DeliveryOrder.oldestBlocked(in: Lane.all, on: bench.connection) == nil)
        #expect(
            try DeliveryQuery.list(.init(endpoint: endpoint, state: .held), .init(limit: 9), on: api).rows.count == 2)
        #expect(try EndpointTable.list(on: api).map(\.ordering) == [.purchase])
    }

    /// Blocks of tables and indexes that a statement touched.
    private func blocks(_ bench: Bench, _ body: () throws -> Void) throws -> Int64 {
        func touched() throws -> Int64 {
            _ = try bench.connection.query("SELECT pg_stat_force_next_flush()")
            _ = try bench.connection.query("SELECT pg_stat_clear_snapshot()")
            return try bench.connection.query(
                """
                SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::int8
                FROM pg_statio_user_tables WHERE relname = 'delivery'
                """
            ).one().int(0)
        }
        let before = try touched()
        try body()
        return try touched() - before
    }

    @Test func `thousands that are blocked cost nothing when what is due is read`() throws {
        let (bench, endpoint) = try makeBench()
        // What it reads by itself would count.
        try bench.database.execute("ALTER TABLE entitled.delivery SET (autovacuum_enabled = false)")
        try bench.insert([Bench.event(1), Bench.event(2)])
        func look() throws {
            #expect(try bench.due([endpoint: 512]).count == 1)
            _ = try DeliveryTable.followEndpoints(in: Lane.all, now: Bench.now, on: bench.connection)
            _ = try DeliveryTable.pastDue(
                in: Lane.all, before: Bench.now + 1, now: Bench.now, eachAtMost: 100, on: bench.connection)
            _ = try DeliveryOrder.oldestBlocked(in: Lane.all, on: bench.connection)
        }
        try look()
        let few = try blocks(bench) { try look() }
        // What this connection touches is counted before the next look begins, not when its session has ended.
        let owner = try bench.database.connect()
        try owner.query(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms, ordered_by,
                sequence)
            SELECT lane, gen_random_uuid(), endpoint, event, event_type, 4, next_ms, created_ms, ordered_by, 2 + g
            FROM entitled.delivery, generate_series(1, 30000) AS g WHERE sequence = 2
            """)
        try owner.query("VACUUM ANALYZE entitled.delivery")
        try owner.query("SELECT pg_stat_force_next_flush()")
        try look()
        let many = try blocks(bench) { try look() }
        // A deeper index costs a block or two for each search.
        #expect(many <= few * 2, "\(many) blocks after \(few)")
        let first = try #require(try bench.due([endpoint: 1]).first)
        let released = try blocks(bench) { try bench.settle(first, .delivered) }
        #expect(try due(bench, endpoint) == [2])
        #expect(released < 60, "\(released) blocks to release the next")
    }
}
