import Base
import Database
import Postgres
import TestSupport
import Testing

/// What a replay locks beside workers.
struct ReplayLockTests {
    @Test func `a replay and a worker lock deliveries in one order`() throws {
        let bench = try Bench()
        let endpoint = try bench.addEndpoint()
        // Those that Postgres meets first are locked last.
        let made = try bench.insert((1...20).map { Bench.event($0) })
        let ids = made.map(\.id).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let first = try #require(ids.first)
        let rest = Array(ids.dropFirst().reversed())
        try bench.database.execute("UPDATE entitled.delivery SET state = 2")
        let events = Dictionary(uniqueKeysWithValues: made.map { ($0.id, $0) })
        let known = (rest + [first]).map { id in
            DeliveryReplay.Ended(
                id: id, event: events[id].map { DeliveryReplay.EventKey(lane: id.lane, id: $0.event) })
        }
        let worker = try bench.database.connect(role: "entitled_worker")
        let lock = "SELECT 1 FROM entitled.delivery WHERE lane = $1 AND id = $2 FOR UPDATE"
        _ = try worker.query("BEGIN")
        _ = try worker.query(lock, [.int2(first.lane.number), .uuid(first.bytes)])
        let database = bench.database
        let replay = TestThread {
            let connection = try database.connect(role: "entitled_worker")
            return try connection.transaction { () -> Int in
                guard let locked = try EndpointTable.lock(endpoint, on: connection) else {
                    throw TestFailure("no endpoint")
                }
                return try DeliveryReplay.queue(
                    known: known, in: [.dead], new: [], to: locked, now: Bench.now, on: connection
                ).queued
            }
        }
        try database.untilBlocked()
        // The replay has none of the others yet: they are free at once, and neither waits for the other.
        _ = try worker.query("SET LOCAL lock_timeout = '2s'")
        for id in rest.reversed() { _ = try worker.query(lock, [.int2(id.lane.number), .uuid(id.bytes)]) }
        _ = try worker.query("COMMIT")
        #expect(try replay.value() == ids.count)
    }
}
