import Base
import Database
import Subscriptions
import TestSupport
import Testing

/// What came, and what became of what was told, as it is read back.
@Suite struct ArrivalQueryTests {
    private let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000")

    private func row(_ kind: FactRow.Kind, signed: Int64, _ payload: JSON) -> FactRow {
        FactRow(
            kind: kind, signedDate: signed, header: nil, signature: kind == .notification ? nil : [1],
            payload: payload.bytes)
    }

    private func transaction(_ id: String, signed: Int64) -> FactRow {
        row(
            .transaction, signed: signed,
            .object([
                "transactionId": .string(id), "originalTransactionId": .string("2000"),
                "productId": .string("pro_monthly"),
                "purchaseDate": .int(1000), "signedDate": .int(signed),
            ]))
    }

    private func notification(_ uuid: String, signed: Int64) -> FactRow {
        let fact = NotificationFact(uuid: uuid, type: "DID_RENEW", signedDate: signed)
        return FactRow(kind: .notification, signedDate: signed, header: nil, signature: nil, payload: fact.payload)
    }

    @Test func `facts come back as arrivals, in the order in which they came, each with its instant and cause`() throws
    {
        let bench = try Bench()
        let clock = ManualClock(Bench.now)
        let generator = SequenceGenerator(clock: clock, node: 9)
        let other = PurchaseKey(app: "other", environment: .sandbox, originalTransactionID: "3000")
        let first = generator.next()
        clock.advance(by: .seconds(5))
        let (second, third) = (generator.next(), generator.next())
        // The one that came last was signed first.
        let facts = [
            (key, third, transaction("2002", signed: 5)), (key, first, transaction("2000", signed: 100)),
            (key, first, notification("a", signed: 100)), (key, second, transaction("2001", signed: 50)),
            (key, second, notification("b", signed: 50)), (key, second, transaction("2000", signed: 100)),
            (other, second, transaction("3000", signed: 7)),
        ].map { FactTable.New(key: $0, seq: $1, fact: $2) }
        try FactTable.insert(facts, on: bench.connection)
        let empty = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "2000")
        let found = try ArrivalQuery.arrivals(of: [key, empty, other], on: bench.connection)
        #expect(found.map(\.count) == [3, 0, 1])
        #expect(found[0].map(\.arrived) == [Bench.now, Bench.now + 5000, Bench.now + 5000])
        #expect(found[0].map { $0.facts.transactions.map(\.transactionID) } == [["2000"], ["2001"], ["2002"]])
        let uuids = found[0].map { arrival in
            if case .notification(let fact) = arrival.cause { fact.uuid } else { "none" }
        }
        #expect(uuids == ["a", "b", "none"])
        #expect(found[0].last?.cause == .observation(id: String(third)))
    }
}

@Suite struct EventTraceQueryTests {
    private func names(_ events: [NewEvent]) -> [EventTraceQuery.EventName] {
        events.map { EventTraceQuery.EventName(lane: $0.lane, id: UUIDText.upper($0.id)) }
    }

    @Test func `an event is found with its reason and the state of each of its deliveries`() throws {
        let bench = try Bench()
        let endpoints = try (0..<4).map { _ in try bench.addEndpoint() }.sorted()
        let event = Bench.event(1, body: #"{"event":{"cancel_reason":"UNSUBSCRIBE"}}"#)
        let made = try bench.insert([event]).sorted { $0.endpoint < $1.endpoint }
        try bench.settle(made[0], .delivered, attempts: 2, status: 200, started: Bench.now + 100)
        try bench.settle(made[1], .dead, attempts: 6, status: 500, reason: "status")
        try bench.settle(made[2], .pending, attempts: 1, wait: 3_600_000, status: 503)
        _ = try EndpointTable.remove(endpoints[1], now: Bench.now, on: bench.connection)
        let traces = try EventTraceQuery.traces(of: names([event, Bench.event(7)]), on: bench.connection)
        #expect(traces.count == 1)
        let trace = try #require(traces.values.first)
        #expect(traces.keys.first == UUIDText.upper(event.id))
        #expect(trace.made == Bench.now)
        #expect(trace.reason == "UNSUBSCRIBE")
        #expect(trace.deliveries.map(\.endpoint) == endpoints)
        #expect(trace.deliveries.map(\.state) == ["delivered", "dead", "pending", "pending"])
        #expect(trace.deliveries.map(\.attempts) == [2, 6, 1, 0])
        #expect(trace.deliveries.map(\.lastStatus) == [200, 500, 503, nil])
        #expect(trace.deliveries.map(\.delivered) == [Bench.now + 112, nil, nil, nil])
        #expect(trace.deliveries.map(\.next) == [nil, nil, Bench.now + 3_600_000, Bench.now])
    }

    @Test func `the role that only reads may read it`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let event = Bench.event(1)
        try bench.insert([event])
        let reader = try bench.database.connect(role: "entitled_api")
        #expect(try EventTraceQuery.traces(of: names([event]), on: reader).values.first?.deliveries.count == 1)
        #expect(try ArrivalQuery.arrivals(of: [], on: reader).isEmpty)
    }

    @Test func `an event that no endpoint wanted has no deliveries`() throws {
        let bench = try Bench()
        let event = Bench.event(1, body: #"{"event":{}}"#)
        try bench.insert([event])
        let traces = try EventTraceQuery.traces(of: names([event]), on: bench.connection)
        #expect(traces.values.first == EventTrace(made: Bench.now, reason: nil, deliveries: []))
        #expect(try EventTraceQuery.traces(of: [], on: bench.connection).isEmpty)
    }
}
