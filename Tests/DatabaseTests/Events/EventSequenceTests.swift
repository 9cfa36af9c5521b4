import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct EventSequenceTests {
    /// The numbers in the order in which the events were made; `-` for none.
    private func numbers(_ bench: Bench) throws -> [String] {
        try bench.database.texts("SELECT coalesce(sequence::text, '-') FROM entitled.event ORDER BY created_ms, id")
    }

    @Test func `the events of a purchase are numbered from 1 in the order in which they are made`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        // Their ids are in no order.
        let made = try bench.insert([9, 3, 7].map { Bench.event($0) })
        #expect(made.map(\.sequence) == [1, 2, 3])
        #expect(try bench.insert([Bench.event(1)]).map(\.sequence) == [4])
        let due = try bench.due([id: 10])
        #expect(due.sorted { ($0.sequence ?? 0) < ($1.sequence ?? 0) }.map { $0.event[0] } == [9, 3, 7, 1])
    }

    @Test func `a purchase is an app, an environment and an original id, each with numbers of its own`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let made = try bench.insert([
            Bench.event(1), Bench.event(2, app: "other"), Bench.event(3, environment: .sandbox),
            Bench.event(4, purchase: "2001"), Bench.event(5),
        ])
        #expect(made.map(\.sequence) == [1, 1, 1, 1, 2])
        #expect(try bench.insert([Bench.event(6, app: "other")]).map(\.sequence) == [2])
    }

    @Test func `events that are known, or come twice in one batch, take no number`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        #expect(try bench.insert([Bench.event(1), Bench.event(1), Bench.event(2)]).map(\.sequence) == [1, 2])
        #expect(try bench.insert([Bench.event(2), Bench.event(3), Bench.event(1)]).map(\.sequence) == [3])
        #expect(try numbers(bench) == ["1", "2", "3"])
    }

    @Test func `a batch that is rolled back and made again leaves no gap`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try bench.connection.transaction {
                _ = try EventTable.insert([Bench.event(1), Bench.event(2)], now: Bench.now, on: bench.connection)
                throw Stop()
            }
        }
        #expect(try bench.insert([Bench.event(1), Bench.event(2)]).map(\.sequence) == [1, 2])
    }

    @Test func `an event about no purchase has no number and takes none`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let made = try bench.insert([
            Bench.event(1), Bench.event(2, type: "TRANSFER", purchase: nil), Bench.event(3),
        ])
        #expect(made.map(\.sequence) == [1, nil, 2])
    }

    @Test func `numbers go on where bodies of events are gone`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        try bench.insert([Bench.event(1), Bench.event(2)])
        try bench.database.execute("DELETE FROM entitled.delivery")
        try bench.database.execute("UPDATE entitled.event SET body = ''")
        #expect(try bench.insert([Bench.event(3)]).map(\.sequence) == [3])
    }

    @Test func `what was made before there were numbers has none, and what comes after begins at 1`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try bench.insert([Bench.event(1)])
        try bench.database.execute("UPDATE entitled.event SET sequence = NULL")
        #expect(try bench.due([id: 10]).map(\.sequence) == [nil])
        #expect(try bench.insert([Bench.event(2), Bench.event(1)]).map(\.sequence) == [1])
    }

    @Test func `the number is the same at every attempt and when it is sent again`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try bench.insert([Bench.event(1)])
        let second = try #require(try bench.insert([Bench.event(2)]).first)
        try bench.settle(second, .dead, reason: "x")
        #expect(try DeliveryRepair.resend(second.id, now: Bench.now, on: bench.connection) == .reopened)
        #expect(try bench.due([id: 10]).first { $0.id == second.id }?.sequence == 2)
        #expect(try DeliveryQuery.show(second.id, on: bench.connection)?.sequence == 2)
    }

    @Test func `the last number is found by its index, however many events there are`() throws {
        let bench = try Bench()
        try bench.database.execute(
            """
            INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body,
                sequence)
            SELECT 5, gen_random_uuid(), 'RENEWAL', 'demo', 0, (g % 200)::text, g, '', 1 + g / 200
            FROM generate_series(1, 20000) AS g
            """)
        try bench.database.execute("ANALYZE entitled.event")
        let plan = try bench.database.texts(
            """
            EXPLAIN SELECT e.sequence FROM entitled.event e
            WHERE hashtext(e.original_transaction_id) = hashtext('7') AND e.sequence IS NOT NULL
                AND e.lane = 5 AND e.original_transaction_id = '7' AND e.app = 'demo' AND e.environment = 0
            ORDER BY e.sequence DESC LIMIT 1
            """)
        #expect(plan.joined().contains("event_sequence"), "\(plan)")
    }
}
