import Base
import Database
import Duties
import Postgres
import TestSupport
import Testing

@Suite struct WebhookReplayTests {
    @Test func `what was given up is due again, each once, and nothing else is touched`() throws {
        let bench = try ReplayFixture()
        let (endpoint, other) = (try bench.addEndpoint(), try bench.addEndpoint())
        let dead = try bench.insert(0..<40)
        try bench.settle(dead, .dead)
        try bench.settle(bench.insert(40..<50).filter { $0.endpoint == endpoint }, .delivered)
        let before = try bench.database.texts("SELECT id::text FROM entitled.delivery WHERE state = 0 ORDER BY 1")
        #expect(try bench.dryRun(bench.replay(endpoint, .failed)) == JobCounts(matched: 40, queued: 40))
        let job = try bench.run(bench.replay(endpoint, .failed))
        #expect(job.state == .done)
        #expect(job.counts == JobCounts(matched: 40, queued: 40))
        let due = try bench.consume(endpoint)
        #expect(Set(due.map(\.id)) == Set(dead.filter { $0.endpoint == endpoint }.map(\.id)))
        #expect(due.allSatisfy { $0.attempts == 1 && $0.roundStart == 1 && !$0.body.isEmpty })
        #expect(try bench.count(other, .dead) == 40)
        #expect(
            try bench.database.texts("SELECT id::text FROM entitled.delivery WHERE state = 0 ORDER BY 1") == before)
        #expect(try bench.run(bench.replay(endpoint, .failed)).counts == JobCounts())
    }

    @Test func `what an endpoint never had is made for it once its filters want it`() throws {
        let bench = try ReplayFixture()
        let endpoint = try bench.addEndpoint(events: ["RENEWAL"])
        try bench.settle(bench.insert(0..<10), .delivered)
        try bench.insert(10..<30, type: "EXPIRATION")
        #expect(try bench.run(bench.replay(endpoint, .missing)).counts == JobCounts())
        try bench.database.execute("UPDATE entitled.endpoint SET events = '{}'")
        #expect(try bench.dryRun(bench.replay(endpoint, .missing)) == JobCounts(matched: 20, queued: 20))
        #expect(try bench.run(bench.replay(endpoint, .missing)).counts == JobCounts(matched: 20, queued: 20))
        let due = try bench.consume(endpoint)
        #expect(Set(due.map(\.event)) == Set((10..<30).map { ReplayFixture.event($0).id }))
        #expect(try bench.run(bench.replay(endpoint, .missing)).counts == JobCounts())
    }

    @Test func `all of them are reopened or made, but for those that are on their way`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<5)
        let endpoint = try bench.addEndpoint()
        let made = try bench.insert(5..<20)
        try bench.settle(Array(made[0..<5]), .delivered)
        try bench.settle(Array(made[5..<10]), .dead)
        #expect(try bench.dryRun(bench.replay(endpoint, .all)) == JobCounts(matched: 20, queued: 15))
        #expect(try bench.run(bench.replay(endpoint, .all)).counts == JobCounts(matched: 20, queued: 15))
        #expect(try bench.count(endpoint, .pending) == 20)
        #expect(
            try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0 AND round_start = 1") == 10
        )
    }

    @Test func `times, types, tests and copies`() throws {
        let bench = try ReplayFixture()
        let first = try bench.addEndpoint()
        let copied = try #require(try bench.insert([1], ago: 5_000).first)
        try bench.insert([2], ago: 10_000)
        try bench.insert([3], type: "EXPIRATION", ago: 5_000)
        try bench.insert([4], type: "TEST", ago: 5_000)
        guard
            case .sent = try EventCopy.send(
                copied.id, as: [UInt8](repeating: 9, count: 16), now: bench.now - 5_000, on: bench.connection)
        else { throw TestFailure("it was not copied") }
        #expect(try bench.count(first, .pending) == 5)
        let late = try bench.addEndpoint()
        func matched(_ replay: WebhookReplay) throws -> Int64? { try bench.dryRun(replay)?.matched }
        #expect(try matched(bench.replay(late, .missing)) == 3)
        #expect(try matched(bench.replay(late, .missing, since: 7_000)) == 2)
        #expect(try matched(bench.replay(late, .missing, until: 7_000)) == 1)
        #expect(try matched(bench.replay(late, .missing, since: 5_000)) == 2, "the beginning is within")
        #expect(try matched(bench.replay(late, .missing, until: 10_000)) == 0, "the end is not")
        #expect(try matched(bench.replay(late, .missing, types: ["EXPIRATION"])) == 1)
        #expect(try bench.run(bench.replay(late, .missing, types: ["EXPIRATION"])).counts.queued == 1)
    }

    @Test func `thousands in one millisecond and in none go in line once each`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<1500, ago: 5_000)
        for number in 1500..<1700 { try bench.insert([number], ago: Int64(number) * 40_000) }
        let endpoint = try bench.addEndpoint()
        let replay = bench.replay(endpoint, .missing)
        #expect(try bench.dryRun(replay)?.queued == 1700)
        #expect(try bench.run(replay).counts == JobCounts(matched: 1700, queued: 1700))
        try bench.consume(endpoint)
        #expect(try bench.count(endpoint, .delivered) == 1700)
        try bench.database.execute("UPDATE entitled.delivery SET state = 2, created_ms = 7 WHERE lane < 200")
        let dead = try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 2")
        let again = WebhookReplay(endpoint: endpoint, mode: .failed, since: 0, until: nil, types: [])
        #expect(try bench.dryRun(again)?.queued == dead)
        #expect(try bench.run(again).counts.queued == dead)
    }

    @Test func `few are due at a time, and more only when those have gone`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<700)
        let endpoint = try bench.addEndpoint()
        var most: Int64 = 0
        var waits = 0
        let job = try bench.open(bench.replay(endpoint, .missing))
        let end = try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
            on: bench.connection, rest: { _ in }
        ) { _, isWaiting in
            most = max(most, try bench.count(endpoint, .pending))
            if isWaiting {
                waits += 1
                try bench.consume(endpoint, atMost: 30)
            }
            return false
        }
        #expect(end.counts.queued == 700)
        #expect(most == 64)
        #expect(waits >= 700 / 64)
    }

    @Test func `a rate is kept`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<60)
        let endpoint = try bench.addEndpoint()
        let begun = ContinuousClock.now
        let job = try bench.open(bench.replay(endpoint, .missing), rate: 50)
        var last: Int64 = 0
        var most: Int64 = 0
        let end = try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
            on: bench.connection, rest: { _ in }
        ) { job, isWaiting in
            most = max(most, job.counts.queued - last)
            last = job.counts.queued
            if isWaiting { try bench.consume(endpoint) }
            return false
        }
        #expect(end.counts.queued == 60)
        #expect(most == 5)
        #expect(ContinuousClock.now - begun >= .milliseconds(55 * 1000 / 50))
    }

    @Test func `an event whose transaction began before the endpoint was there is waited for`() throws {
        let bench = try ReplayFixture()
        let late = try bench.database.connect(role: "entitled_worker")
        try late.query("BEGIN")
        // As each that makes events.
        let event = ReplayFixture.event(1)
        _ = try Fence.hold([event.lane], on: late)
        _ = try EventTable.insert([event], now: bench.now - 1000, on: late)
        let endpoint = try bench.addEndpoint()
        let job = try bench.open(bench.replay(endpoint, .missing))
        var looks = 0
        let end = try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
            on: bench.connection, rest: { _ in }
        ) { job, _ in
            looks += 1
            if looks == 3 {
                #expect(job.cursor.isEmpty)
                try late.query("COMMIT")
            }
            return false
        }
        #expect(end.counts == JobCounts(matched: 1, queued: 1))
    }
}
