import Base
import Crypto
import Daemon
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

@Suite struct EventRetentionTests {
    private static let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])

    @discardableResult
    private func addEndpoint(_ bench: RetentionFixture) throws -> String {
        try EndpointTable.add(
            url: "https://example.com/hooks", authorization: nil, environments: [], events: [], apps: [],
            sealer: Self.sealer, now: bench.now - 600 * RetentionFixture.day, on: bench.connection
        ).id
    }

    private static func event(_ number: UInt8, body: String = #"{"event":{}}"#) -> NewEvent {
        NewEvent(
            lane: Lane(number: Int16(number)), id: [UInt8](repeating: number, count: 16), type: "RENEWAL", app: "demo",
            environment: .production, originalTransactionID: "2000", body: Array(body.utf8))
    }

    @discardableResult
    private func insert(_ event: NewEvent, daysAgo: Int64, _ bench: RetentionFixture) throws -> [DueDelivery] {
        try bench.connection.transaction {
            try EventTable.insert([event], now: bench.now - daysAgo * RetentionFixture.day, on: bench.connection)
        }
    }

    private func settle(_ deliveries: [DueDelivery], _ state: DeliveryState, daysAgo: Int64, _ bench: RetentionFixture)
        throws
    {
        let then = bench.now - daysAgo * RetentionFixture.day
        try DeliveryTable.settle(
            deliveries.map {
                DeliveryTable.Settlement(
                    of: $0, state: state, attempts: 1, wait: 0, status: 200, reason: nil,
                    attempt: DeliveryTable.AttemptRecord(
                        number: 1, started: then, milliseconds: 5, outcome: "status", detail: nil, response: []))
            }, now: then, on: bench.connection)
    }

    /// First bytes of the events that still have a body.
    private func whole(_ bench: RetentionFixture) throws -> [String] {
        try bench.database.texts("SELECT left(id::text, 2) FROM entitled.event WHERE body <> '' ORDER BY 1")
    }

    @Test func `an event goes with its deliveries when all is over for long enough`() throws {
        let bench = try RetentionFixture()
        _ = try (addEndpoint(bench), addEndpoint(bench))
        try settle(insert(Self.event(1), daysAgo: 500, bench), .delivered, daysAgo: 500, bench)
        try settle(insert(Self.event(2), daysAgo: 500, bench), .dead, daysAgo: 401, bench)
        try settle(insert(Self.event(3), daysAgo: 399, bench), .delivered, daysAgo: 399, bench)
        try bench.runRetention()
        #expect(try whole(bench) == ["03"])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery") == 2)
        let metrics = bench.metrics.exposition()
        #expect(metrics.contains(#"entitled_retention_rows_cleaned_total{table="event"} 2"#))
        #expect(metrics.contains(#"entitled_retention_rows_cleaned_total{table="delivery"} 4"#))
        #expect(metrics.contains(#"entitled_retention_kept{reason="unfinished",table="event"} 0"#))
    }

    @Test func `an event without deliveries goes too`() throws {
        let bench = try RetentionFixture()
        try insert(Self.event(1), daysAgo: 401, bench)
        try bench.runRetention()
        #expect(try whole(bench) == [])
    }

    @Test func `an id that went is never made again`() throws {
        let bench = try RetentionFixture()
        let endpoint = try addEndpoint(bench)
        try settle(insert(Self.event(1), daysAgo: 500, bench), .delivered, daysAgo: 500, bench)
        try bench.runRetention()
        #expect(try insert(Self.event(1, body: "another"), daysAgo: 0, bench).isEmpty)
        #expect(try whole(bench) == [])
        let due = try DeliveryTable.dueInGroups(room: [endpoint: 10], now: bench.now, on: bench.connection)
        #expect(due.isEmpty)
        let id = UUIDText.upper([UInt8](repeating: 1, count: 16))
        let name = EventTraceQuery.EventName(lane: Lane(number: 1), id: id)
        let trace = try EventTraceQuery.traces(of: [name], on: bench.connection).values.first
        #expect(trace?.isKept == false)
        #expect(trace?.made == bench.now - 500 * RetentionFixture.day)
    }

    @Test(arguments: [DeliveryState.pending, .held])
    func `what is not delivered keeps its event, however old, and it is told`(state: DeliveryState) throws {
        let bench = try RetentionFixture()
        _ = try (addEndpoint(bench), addEndpoint(bench))
        let made = try insert(Self.event(1), daysAgo: 500, bench)
        try settle([made[0]], .delivered, daysAgo: 500, bench)
        try settle([made[1]], state, daysAgo: 500, bench)
        try bench.runRetention()
        #expect(try whole(bench) == ["01"])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery") == 2)
        #expect(bench.metrics.exposition().contains(#"entitled_retention_kept{reason="unfinished",table="event"} 1"#))
        #expect(bench.log.text.contains("events kept too long"))
    }

    @Test(arguments: [DeliveryState.delivered, .dead])
    func `what was sent again of late keeps its event`(state: DeliveryState) throws {
        let bench = try RetentionFixture()
        try addEndpoint(bench)
        let made = try insert(Self.event(1), daysAgo: 500, bench)
        try settle(made, .dead, daysAgo: 490, bench)
        _ = try DeliveryRepair.resend(made[0].id, now: bench.now - 100 * RetentionFixture.day, on: bench.connection)
        let again = try DeliveryTable.dueInGroups(
            room: [made[0].endpoint: 1], now: bench.now, on: bench.connection)
        try settle(again, state, daysAgo: 100, bench)
        try bench.runRetention()
        #expect(try whole(bench) == ["01"])
        // Its first attempt went, it itself is shown with the second.
        let shown = try #require(try DeliveryQuery.show(made[0].id, on: bench.connection))
        #expect(shown.delivery.state == state)
        #expect(!shown.body.isEmpty)
    }

    @Test func `a resend that meets the clean-up is either sent or refused`() throws {
        let bench = try RetentionFixture()
        let one = try addEndpoint(bench)
        try addEndpoint(bench)
        let made = try insert(Self.event(1), daysAgo: 500, bench)
        try settle(made, .delivered, daysAgo: 500, bench)
        let command = try bench.database.connect(role: "entitled_worker")
        try command.query("BEGIN")
        try command.query("UPDATE entitled.delivery SET state = 0 WHERE endpoint = $1", [.text(one)])
        let database = bench.database
        let cleaning = TestThread { [bench = UncheckedFixture(bench)] in try bench.bench.runRetention() }
        try database.untilBlocked()
        try command.query("COMMIT")
        try cleaning.value()
        #expect(try whole(bench) == ["01"])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0") == 1)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 1") == 1)
    }

    /// Used by one thread at a time.
    private struct UncheckedFixture: @unchecked Sendable {
        let bench: RetentionFixture

        init(_ bench: RetentionFixture) {
            self.bench = bench
        }
    }
}
