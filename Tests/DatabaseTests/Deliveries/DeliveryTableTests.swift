import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct DeliveryTableTests {
    @Test func `each endpoint gets its own room`() throws {
        let bench = try Bench()
        let (busy, quiet) = (try bench.addEndpoint(events: ["RENEWAL"]), try bench.addEndpoint(events: ["TEST"]))
        try bench.insert((0..<20).map { Bench.event($0, lane: Int16($0 % 3)) })
        try bench.insert((20..<23).map { Bench.event($0, type: "TEST") })
        let due = try bench.due([busy: 4, quiet: 10])
        #expect(due.filter { $0.endpoint == busy }.count == 4)
        #expect(due.filter { $0.endpoint == quiet }.count == 3)
        #expect(try bench.due([quiet: 10]).count == 3)
        #expect(try bench.due([:]).isEmpty)
    }

    @Test func `what is due longest comes first, over all lanes`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        for number in UInt8(0)..<6 {
            try bench.insert([Bench.event(number, lane: Int16(number % 2))], now: Bench.now - Int64(number))
        }
        #expect(try bench.due([id: 2]).map { $0.event[0] }.sorted() == [4, 5])
    }

    @Test func `nothing is due before its time or in another's lane`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try bench.insert([Bench.event(1, lane: 9)])
        #expect(try bench.due([id: 5], now: Bench.now - 1).isEmpty)
        let others = Lane.all.filter { $0.number != 9 }
        #expect(
            try DeliveryTable.dueInGroups(room: [id: 5], lanes: others, now: Bench.now, on: bench.connection).isEmpty
        )
        #expect(try bench.due([id: 5]).count == 1)
    }

    @Test func `a failed attempt waits, and is written down`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        try bench.settle(delivery, .pending, wait: 3_600_000, status: 500, reason: "status 500")
        #expect(try bench.due([id: 5], now: Bench.now + 3_599_999).isEmpty)
        let again = try #require(try bench.due([id: 5], now: Bench.now + 3_600_000).first)
        #expect(again.attempts == 1 && again.body == delivery.body && again.event == delivery.event)
        let shown = try #require(try DeliveryQuery.show(delivery.id, on: bench.connection))
        #expect(shown.delivery.lastStatus == 500 && shown.delivery.state == .pending)
        #expect(shown.attempts.map(\.number) == [1])
        #expect(shown.attempts.first?.response == Array("answer".utf8))
        #expect(shown.body == delivery.body)
    }

    @Test(arguments: [
        (DeliveryState.held, DeliveryState.pending, DeliveryState.held), (.dead, .pending, .dead),
        (.held, .delivered, .delivered), (.dead, .delivered, .delivered), (.pending, .dead, .dead),
        (.delivered, .pending, .delivered),
    ])
    func `an attempt that ends late keeps the state that was set meanwhile, unless it arrived`(
        meanwhile: DeliveryState, settled: DeliveryState, after: DeliveryState
    ) throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        try bench.database.execute("UPDATE entitled.delivery SET state = $1", [.int2(meanwhile.rawValue)])
        try bench.settle(delivery, settled, reason: "late")
        #expect(try bench.deliveries().map(\.state) == [after])
        #expect(try bench.deliveries().map(\.attempts) == [1])
    }

    @Test func `a resend that is committed while an attempt is being settled stands`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        let database = bench.database
        let settling = try bench.connection.transaction {
            _ = try bench.connection.query(
                "UPDATE entitled.delivery SET round_start = 3, attempts = 3, next_ms = $1", [.int8(Bench.now)])
            let settling = TestThread {
                let connection = try database.connect(role: "entitled_worker")
                let settlement = DeliveryTable.Settlement(
                    of: delivery, state: .dead, attempts: 1, wait: 0, status: 500, reason: "late", attempt: nil)
                try DeliveryTable.settle([settlement], now: Bench.now, on: connection)
            }
            try database.untilBlocked()
            return settling
        }
        try settling.value()
        #expect(try bench.deliveries().map(\.state) == [.pending])
        #expect(try bench.due([id: 5]).map(\.roundStart) == [3])
    }

    @Test func `the same attempt written twice is there once`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        for _ in 0..<2 { try bench.settle(delivery, .delivered, status: 200) }
        #expect(try DeliveryQuery.show(delivery.id, on: bench.connection)?.attempts.count == 1)
    }
}

@Suite struct DeliveryRepairTests {
    @Test(arguments: [DeliveryState.delivered, .dead, .held, .pending])
    func `a resent delivery is due at once under the same event with the whole schedule before it`(
        state: DeliveryState
    ) throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        try bench.settle(delivery, state, attempts: 4, wait: 99_999_999, reason: "x")
        #expect(try DeliveryRepair.resend(delivery.id, now: Bench.now, on: bench.connection) == .reopened)
        let due = try #require(try bench.due([id: 5]).first)
        #expect(due.event == delivery.event && due.body == delivery.body)
        #expect(due.attempts == 4 && due.roundStart == 4)
    }

    @Test func `nothing is resent to an endpoint that is disabled or removed`() throws {
        let bench = try Bench()
        let (disabled, removed) = (try bench.addEndpoint(), try bench.addEndpoint())
        try bench.insert([Bench.event(1)])
        _ = try EndpointTable.disable(disabled, reason: "410", on: bench.connection)
        _ = try EndpointTable.remove(removed, now: Bench.now, on: bench.connection)
        func resend(_ endpoint: String) throws -> DeliveryRepair.RepairResult {
            let id = try #require(try bench.deliveries(of: endpoint).first?.id)
            return try DeliveryRepair.resend(id, now: Bench.now, on: bench.connection)
        }
        #expect(try resend(disabled) == .endpointDisabled("410"))
        #expect(try resend(removed) == .endpointDisabled("removed"))
        let unknown = DeliveryID(lane: Lane(number: 1), event: [1], endpoint: "we_0")
        #expect(try DeliveryRepair.resend(unknown, now: 1, on: bench.connection) == .notFound)
    }
}

@Suite struct AttemptLogStoreTests {
    @Test func `what is known of an attempt is read as it was written`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        var record = DeliveryTable.AttemptRecord(
            number: 1, started: Bench.now, milliseconds: 12, outcome: "status_5xx", detail: "status 500",
            response: [0xff, 0])
        record.status = 500
        record.timings = .init(lookup: 1, connect: 2, handshake: 3, firstByte: 4_000_000_000)
        record.peer = "2606:4700::1"
        (record.reused, record.truncated, record.version, record.head) = (true, true, 20, Array("HTTP/2 500".utf8))
        let plain = DeliveryTable.AttemptRecord(
            number: 2, started: Bench.now + 1, milliseconds: 1, outcome: "delivered", detail: nil, response: [])
        let sender = AttemptSender(worker: [UInt8](repeating: 0xab, count: 16), host: "worker-1")
        let connection = try bench.database.connect(role: "entitled_worker")
        for attempt in [record, plain] {
            let settlement = DeliveryTable.Settlement(
                of: delivery, state: .pending, attempts: 1, wait: 0, status: 500, reason: nil, attempt: attempt)
            try DeliveryTable.settle([settlement], by: sender, now: Bench.now, on: connection)
        }
        let reader = try bench.database.connect(role: "entitled_api")
        let attempts = try #require(try DeliveryQuery.show(delivery.id, on: reader)).attempts
        let (first, second) = (try #require(attempts.first), try #require(attempts.last))
        #expect(first.status == 500 && first.outcome == "status_5xx" && first.response == [0xff, 0])
        #expect(first.timings == .init(lookup: 1, connect: 2, handshake: 3, firstByte: Int64(Int32.max)))
        #expect(first.peer == "2606:4700::1" && first.reused && first.truncated && first.version == "2")
        #expect(first.head == Array("HTTP/2 500".utf8))
        #expect(first.host == "worker-1" && first.worker == String(repeating: "ab", count: 16))
        #expect(second.peer == nil && !second.reused && !second.truncated && second.head.isEmpty)
        #expect(second.timings == .init() && second.worker == first.worker)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.sender") == 1)
    }

    /// There is one for each notification, nearly.
    @Test func `an attempt that is delivered at once takes little room`() throws {
        let bench = try Bench()
        try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1)]).first)
        func width(_ record: DeliveryTable.AttemptRecord) throws -> Int64 {
            let settlement = DeliveryTable.Settlement(
                of: delivery, state: .delivered, attempts: 1, wait: 0, status: 200, reason: nil, attempt: record)
            let sender = AttemptSender(worker: [UInt8](repeating: 0xab, count: 16), host: "worker-1")
            try DeliveryTable.settle([settlement], by: sender, now: Bench.now, on: bench.connection)
            return try bench.database.count(
                "SELECT pg_column_size(a.*)::int8 FROM entitled.attempt a WHERE started_ms = $1",
                [.int8(record.started)])
        }
        func record(_ started: Int64) -> DeliveryTable.AttemptRecord {
            var record = DeliveryTable.AttemptRecord(
                number: 1, started: started, milliseconds: 12, outcome: "delivered", detail: nil, response: [])
            record.status = 200
            return record
        }
        var full = record(Bench.now + 1)
        full.timings.firstByte = 11
        (full.peer, full.reused, full.version) = ("203.0.113.7", true, 11)
        #expect(try width(full) - width(record(Bench.now)) <= 16)
    }
}
