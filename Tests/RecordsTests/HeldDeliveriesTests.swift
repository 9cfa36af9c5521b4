import Base
import Postgres
import Queue
import Records
import TestSupport
import Testing

@Suite struct HeldDeliveriesTests {
    @Test func `those of one endpoint are given up, but for those that were made later`() throws {
        let bench = try Bench()
        let (endpoint, other) = (try bench.addEndpoint(), try bench.addEndpoint())
        for id in [endpoint, other] { _ = try EndpointStore.disable(id, reason: "test", on: bench.connection) }
        try bench.insert((0..<20).map { Bench.event($0, lane: Int16($0)) })
        try bench.insert([Bench.event(20)], now: Bench.now + 1)
        #expect(try HeldDeliveries.count(of: endpoint, on: bench.connection) == 21)
        func drop() throws -> Int {
            try HeldDeliveries.drop(
                of: endpoint, madeUntil: Bench.now, now: Bench.now + 5, on: bench.connection)
        }
        #expect(try drop() == 20)
        #expect(try drop() == 0)
        #expect(try HeldDeliveries.count(of: endpoint, on: bench.connection) == 1)
        #expect(try HeldDeliveries.count(of: other, on: bench.connection) == 21)
        let reasons = try bench.database.texts("SELECT DISTINCT reason FROM entitled.delivery WHERE state = 2")
        #expect(reasons == ["dropped when the endpoint was enabled"])
        // Retention counts from then on.
        #expect(
            try bench.database.count(
                "SELECT count(*) FROM entitled.delivery WHERE next_ms = $1", [.int8(Bench.now + 5)])
                == 20)
    }
}
