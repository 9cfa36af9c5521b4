import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct HeldDeliveriesTests {
    @Test func `those of one endpoint are given up, but for those that were made later`() throws {
        let bench = try Bench()
        let (endpoint, other) = (try bench.addEndpoint(), try bench.addEndpoint())
        for id in [endpoint, other] { _ = try EndpointTable.disable(id, reason: "test", on: bench.connection) }
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

    @Test func `what is blocked behind held ones is given up with them, and what came later is the first then`() throws
    {
        let bench = try Bench()
        let endpoint = try bench.addEndpoint(ordering: .purchase)
        try bench.insert([1, 2, 3].map { Bench.event($0) })
        try bench.insert([4, 5].map { Bench.event($0, purchase: "2001", lane: 6) })
        _ = try EndpointTable.disable(endpoint, reason: "test", on: bench.connection)
        try bench.followEndpoints()
        try bench.insert([6, 7].map { Bench.event($0) }, now: Bench.now + 1)
        #expect(try HeldDeliveries.count(of: endpoint, on: bench.connection) == 7)
        func drop() throws -> Int {
            try HeldDeliveries.drop(of: endpoint, madeUntil: Bench.now, now: Bench.now + 5, on: bench.connection)
        }
        #expect(try drop() == 5)
        #expect(try drop() == 0)
        try bench.followEndpoints()
        #expect(try HeldDeliveries.count(of: endpoint, on: bench.connection) == 2)
        _ = try EndpointTable.enable(endpoint, on: bench.connection)
        try bench.followEndpoints()
        let next = try #require(try bench.due([endpoint: 9]).first)
        #expect(next.sequence == 4)
        #expect(try bench.settle(next, .delivered).map(\.sequence) == [5])
    }

    @Test func `a drop holds the lanes of what is in order, and no others`() throws {
        let bench = try Bench()
        let (ordered, free) = (try bench.addEndpoint(ordering: .purchase), try bench.addEndpoint())
        try bench.insert([1, 2].map { Bench.event($0) })
        for id in [ordered, free] { _ = try EndpointTable.disable(id, reason: "test", on: bench.connection) }
        try bench.followEndpoints()
        let database = bench.database
        let drop = try bench.connection.transaction {
            try Fence.lock([Lane(number: 5)], on: bench.connection)
            #expect(
                try HeldDeliveries.drop(
                    of: free, madeUntil: Bench.now, now: Bench.now, on: try database.connect(role: "entitled_worker"))
                    == 2)
            let drop = TestThread {
                try HeldDeliveries.drop(
                    of: ordered, madeUntil: Bench.now, now: Bench.now,
                    on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            _ = try EventTable.insert([Bench.event(3)], now: Bench.now + 1, on: bench.connection)
            return drop
        }
        #expect(try drop.value() == 2)
        try bench.followEndpoints()
        #expect(
            try database.texts(
                "SELECT state::text FROM entitled.delivery WHERE endpoint = $1 ORDER BY sequence", [.text(ordered)])
                == ["2", "2", "3"])
    }
}
