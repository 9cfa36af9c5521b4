import Base
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// Replays to an endpoint that gets the events of a purchase one after the other.
@Suite struct OrderedReplayTests {
    private let bench: ReplayFixture
    private let endpoint: String

    init() throws {
        bench = try ReplayFixture()
        endpoint = try bench.addEndpoint(ordering: .purchase)
    }

    /// Events of few purchases, whose ids say nothing about their order.
    private func event(_ number: Int, purchases: Int = 3) -> NewEvent {
        let event = ReplayFixture.event(number)
        let purchase = number % purchases
        return NewEvent(
            lane: Lane(number: Int16(purchase)), id: event.id, type: event.type, app: event.app,
            environment: event.environment, originalTransactionID: "2000\(purchase)", body: event.body)
    }

    private func insert(_ numbers: Range<Int>, ago: Int64 = 60_000) throws {
        try bench.insert(numbers.map { event($0) }, ago: ago)
    }

    /// Everything that may be sent, until there is nothing more: of each purchase the numbers, as they arrived.
    private func arrivals(_ state: DeliveryState = .delivered) throws -> [Lane: [Int64]] {
        var arrived: [Lane: [Int64]] = [:]
        while true {
            let due = try DeliveryTable.dueInGroups(
                room: [endpoint: 100], now: SystemClock().now() + 1000, on: bench.connection)
            guard !due.isEmpty else { return arrived }
            #expect(Set(due.map(\.id.lane)).count == due.count, "two of a purchase at once")
            for delivery in due { arrived[delivery.id.lane, default: []].append(delivery.sequence ?? 0) }
            try bench.settle(due, state)
        }
    }

    /// Steps of the job alone: nothing arrives before it is over.
    private func run(_ mode: WebhookReplay.Mode, types: [String] = []) throws -> Job {
        let job = try bench.openAlone(bench.replay(endpoint, mode, types: types))
        return try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
            on: bench.connection, rest: { _ in },
            isEnough: { _, isWaiting in
                if isWaiting { throw TestFailure("it waits for the consumer") }
                return false
            })
    }

    @Test(arguments: [DeliveryState.delivered, .dead])
    func `all of them arrive again in the order of each purchase, also what was made at once`(
        _ state: DeliveryState
    ) throws {
        for part in 0..<4 { try insert(part * 90..<part * 90 + 90, ago: Int64(60_000 - part)) }
        let first = try arrivals(state)
        #expect(first.count == 3 && first.values.allSatisfy { $0 == Array(1...120) })
        #expect(try run(.all).counts == JobCounts(matched: 360, queued: 360))
        #expect(try bench.count(endpoint, .pending) == 3)
        #expect(try arrivals() == first)
    }

    @Test func `an endpoint that is new gets what was before in order`() throws {
        try bench.database.execute("UPDATE entitled.endpoint SET ordering = 'none', events = '{EXPIRATION}'")
        try insert(0..<60)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery") == 0)
        try bench.database.execute("UPDATE entitled.endpoint SET ordering = 'purchase', events = '{}'")
        #expect(try run(.missing).counts == JobCounts(matched: 60, queued: 60))
        // What happens meanwhile comes behind.
        try insert(60..<66, ago: 0)
        let expected = Array(Int64(1)...22)
        #expect(try arrivals() == [0, 1, 2].reduce(into: [:]) { $0[Lane(number: $1)] = expected })
    }

    @Test func `those that were given up go before newer ones that wait, and none is left blocked`() throws {
        try insert(0..<6)
        _ = try arrivals(.dead)
        try insert(6..<12, ago: 1000)
        #expect(try bench.dryRun(bench.replay(endpoint, .failed)) == JobCounts(matched: 6, queued: 6))
        #expect(try run(.failed).counts == JobCounts(matched: 6, queued: 6))
        // The first of the newer ones was free when it was asked for, and may be in flight.
        let due = try DeliveryTable.dueInGroups(
            room: [endpoint: 100], now: SystemClock().now() + 1000, on: bench.connection)
        #expect(due.filter { $0.id.lane == Lane(number: 0) }.compactMap(\.sequence).sorted() == [1, 3])
        try bench.settle(due.filter { $0.sequence == 3 }, .delivered)
        #expect(try arrivals() == [0, 1, 2].reduce(into: [:]) { $0[Lane(number: $1)] = [1, 2, 4] })
        #expect(try bench.count(endpoint, .delivered) == 12)
    }

    @Test func `what is blocked is on its way already`() throws {
        try insert(0..<9)
        #expect(try bench.dryRun(bench.replay(endpoint, .all)) == JobCounts(matched: 9, queued: 0))
        #expect(try run(.all).counts == JobCounts(matched: 9, queued: 0))
    }

    @Test func `what was delivered without an order gets one, and loses it again`() throws {
        try bench.database.execute("UPDATE entitled.endpoint SET ordering = 'none'")
        try insert(0..<6)
        try bench.consume(endpoint)
        try bench.database.execute("UPDATE entitled.endpoint SET ordering = 'purchase'")
        #expect(try run(.all).counts.queued == 6)
        #expect(try arrivals() == [0, 1, 2].reduce(into: [:]) { $0[Lane(number: $1)] = [1, 2] })
        try bench.database.execute("UPDATE entitled.endpoint SET ordering = 'none'")
        #expect(try run(.all).counts.queued == 6)
        #expect(try bench.consume(endpoint).count == 6)
    }

    @Test func `it waits for the owner of a lane, and the others' endpoints for nobody`() throws {
        try insert(0..<3)
        _ = try arrivals(.dead)
        let other = try bench.addEndpoint()
        let owner = try bench.database.connect(role: "entitled_worker")
        try owner.query("BEGIN")
        try Fence.lock([Lane(number: 1)], on: owner)
        #expect(try bench.run(bench.openAlone(bench.replay(other, .missing)), consuming: other).counts.queued == 3)
        let job = try bench.openAlone(bench.replay(endpoint, .failed))
        let replay = TestThread { [database = bench.database] in
            let connection = try database.connect(role: "entitled_worker")
            return try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
                on: connection, rest: { _ in }, isEnough: { _, _ in false })
        }
        try bench.database.untilBlocked()
        // Before it has locked the endpoint: an owner that holds its lane gets that.
        #expect(try DeliveryReplay.lock(bench.endpoint(endpoint), lanes: [], on: owner) != nil)
        try owner.query("UPDATE entitled.endpoint SET created_ms = created_ms WHERE id = $1", [.text(endpoint)])
        try owner.query("COMMIT")
        #expect(try replay.value().counts == JobCounts(matched: 3, queued: 3))
    }

    @Test func `nothing is written where the order was changed meanwhile`() throws {
        let former = try bench.endpoint(endpoint)
        try bench.database.execute("UPDATE entitled.endpoint SET ordering = 'none'")
        let locked = try bench.connection.transaction {
            try DeliveryReplay.lock(former, lanes: [Lane(number: 1)], on: bench.connection)
        }
        #expect(locked == nil)
    }
}
