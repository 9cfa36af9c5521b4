import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// A replay and retention at the same old events.
@Suite struct RetentionMeetingTests {
    private static let worker = [UInt8](repeating: 1, count: 16)

    private func cleanOnce(_ bench: ReplayFixture, _ connection: PostgresConnection) throws {
        try bench.database.execute(
            "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour'",
            [.uuid(Self.worker)])
        func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
        var round = RetentionRun(
            times: RetentionTimes(notifications: days(400), attempts: days(90), events: days(400)),
            clock: SystemClock(), logger: .silent, metrics: Metrics())
        round.hurry()
        let leadership = Leadership(worker: Self.worker, lease: .seconds(10))
        while try round.take(leadership, on: connection) {}
    }

    private func bodies(_ bench: ReplayFixture) throws -> Int64 {
        try bench.database.count("SELECT count(*) FROM entitled.event WHERE octet_length(body) > 0")
    }

    @Test func `an event whose body is gone is counted and never sent`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<3, ago: 500 * ReplayFixture.day)
        try bench.insert(3..<5)
        try cleanOnce(bench, bench.connection)
        #expect(try bodies(bench) == 2)
        let endpoint = try bench.addEndpoint()
        let replay = bench.replay(endpoint, .missing, since: 600 * ReplayFixture.day)
        #expect(try bench.dryRun(replay) == JobCounts(matched: 2, queued: 2, skipped: 3))
        #expect(try bench.run(replay).counts == JobCounts(matched: 2, queued: 2, skipped: 3))
        #expect(try bench.consume(endpoint).count == 2)
    }

    @Test func `an event that a replay is putting in line keeps its body`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<3, ago: 500 * ReplayFixture.day)
        let endpoint = try bench.addEndpoint()
        try bench.connection.query("BEGIN")
        let put = try DeliveryReplay.queue(
            known: [], in: [], new: [DeliveryReplay.EventKey(lane: Lane(number: 1), id: ReplayFixture.event(1).id)],
            to: try bench.endpoint(endpoint), now: bench.now, on: bench.connection)
        #expect(put.queued == 1)
        let cleaner = TestThread { [bench = Sent(bench)] in
            try self.cleanOnce(bench.value, try bench.value.database.connect(role: "entitled_worker"))
        }
        try bench.database.untilBlocked()
        try bench.connection.query("COMMIT")
        try cleaner.value()
        #expect(try bodies(bench) == 1)
        let due = try bench.consume(endpoint)
        #expect(due.map(\.event) == [ReplayFixture.event(1).id])
        #expect(due.first?.body == ReplayFixture.event(1).body)
    }

    @Test func `an event that is emptied while a replay waits for it is skipped`() throws {
        let bench = try ReplayFixture()
        try bench.insert(0..<3)
        let endpoint = try bench.addEndpoint()
        let cleaner = try bench.database.connect(role: "entitled_worker")
        try cleaner.query("BEGIN")
        try cleaner.query("UPDATE entitled.event SET body = '' WHERE lane = 1")
        let job = try bench.openAlone(bench.replay(endpoint, .missing))
        let replay = TestThread { [bench = Sent(bench)] in
            try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(
                on: bench.value.connection, rest: { _ in }, isEnough: { _, _ in false })
        }
        try bench.database.untilBlocked()
        try cleaner.query("COMMIT")
        #expect(try replay.value().counts == JobCounts(matched: 2, queued: 2, skipped: 1))
        #expect(try bench.consume(endpoint).count == 2)
    }
}

/// For one thread after the other.
private struct Sent<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
