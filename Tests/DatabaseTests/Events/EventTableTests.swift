import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct EventTableTests {
    @Test func `an event has one delivery for each endpoint that wants it`() throws {
        let bench = try Bench()
        let (all, other) = (try bench.addEndpoint(), try bench.addEndpoint(apps: ["other"]))
        let sandbox = try bench.addEndpoint(environments: [.sandbox])
        let renewals = try bench.addEndpoint(events: ["RENEWAL"])
        let made = try bench.insert([Bench.event(1)])
        #expect(Set(made.map(\.endpoint)) == [all, renewals])
        #expect(try bench.deliveries(of: other).isEmpty)
        #expect(try bench.deliveries(of: sandbox).isEmpty)
    }

    @Test func `an event that is known keeps its body and makes no second delivery`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        #expect(try bench.insert([Bench.event(1, body: "first")]).count == 1)
        #expect(try bench.insert([Bench.event(1, body: "second")]).isEmpty)
        let due = try bench.due([id: 10])
        #expect(due.map { String(decoding: $0.body, as: UTF8.self) } == ["first"])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event") == 1)
    }

    @Test func `of the same event twice in a batch the first body counts`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let made = try bench.insert([Bench.event(1, body: "first"), Bench.event(1, body: "second")])
        #expect(made.map { String(decoding: $0.body, as: UTF8.self) } == ["first"])
        #expect(try bench.deliveries().count == 1)
    }

    @Test func `an endpoint added later does not get what was before`() throws {
        let bench = try Bench()
        try bench.insert([Bench.event(1)])
        let late = try bench.addEndpoint()
        #expect(try bench.insert([Bench.event(1)]).isEmpty)
        #expect(try bench.deliveries(of: late).isEmpty)
    }

    @Test func `an event for one endpoint goes there whatever its filters are, and nowhere else`() throws {
        let bench = try Bench()
        let (one, two) = (try bench.addEndpoint(events: ["RENEWAL"]), try bench.addEndpoint())
        let made = try bench.connection.transaction {
            try EventTable.insert([Bench.event(1, type: "TEST")], only: one, now: Bench.now, on: bench.connection)
        }
        #expect(made.map(\.endpoint) == [one])
        #expect(try bench.deliveries(of: two).isEmpty)
    }

    @Test func `an event that is rolled back leaves nothing`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try bench.connection.transaction {
                _ = try EventTable.insert([Bench.event(1)], now: Bench.now, on: bench.connection)
                throw Stop()
            }
        }
        #expect(try bench.deliveries().isEmpty)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event") == 0)
    }

    @Test(arguments: ["", "{}", #"{"event":{"type":"é\u0000"}}"#, String(repeating: "x", count: 200_000)])
    func `bodies come back byte for byte`(body: String) throws {
        let packed = try EventBodyCodec.compress(Array(body.utf8))
        #expect(try EventBodyCodec.restore(packed) == Array(body.utf8))
    }
}
