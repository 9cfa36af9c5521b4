import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct EndpointHealthTableTests {
    private func seen(_ id: String, _ body: (inout EndpointHealth.Observation) -> Void) -> EndpointHealth.Observation {
        var observation = EndpointHealth.Observation(endpoint: id)
        body(&observation)
        return observation
    }

    private func record(_ seen: [EndpointHealth.Observation], _ connection: PostgresConnection) throws {
        try connection.transaction { try EndpointHealthTable.record(seen, on: connection) }
    }

    @Test func `what is written is read back, for the api's role too`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try record(
            [
                seen(id) { seen in
                    seen.succeeded(at: 5)
                    seen.failed("status_500", at: 7)
                    seen.failed("timeout", at: 9)
                    for number in 0..<7 { seen.gaveUp("dlv_\(number)") }
                }
            ], bench.connection)
        let api = try bench.database.connect(role: "entitled_api")
        let health = try #require(try EndpointHealthTable.load(id: id, on: api)[id])
        #expect(health.streak == EndpointHealth.Streak(since: 7, failures: 2) && health.lastSuccess == 5)
        #expect(health.lastFailure == EndpointHealth.Failure(at: 9, outcome: "timeout"))
        let well = try bench.addEndpoint("https://example.com/well")
        _ = try bench.addEndpoint("https://example.com/new")
        try record([seen(well) { $0.succeeded(at: 5) }], bench.connection)
        #expect(try EndpointHealthTable.failures(on: bench.connection) == [id: 2, well: 0])
        try record([seen(id) { seen in for number in 7..<12 { seen.gaveUp("dlv_\(number)") } }], bench.connection)
        let concern = try #require(try EndpointHealthTable.concerns(on: bench.connection).first)
        #expect(concern.dead == 12 && concern.deadNewest == (2..<12).map { "dlv_\($0)" })
    }

    @Test func `workers that write the same endpoints at once lose nothing`() throws {
        let bench = try Bench()
        let ids = try (0..<5).map { _ in try bench.addEndpoint() }
        let database = bench.database
        let threads = (0..<4).map { worker in
            TestThread {
                let connection = try database.connect(role: "entitled_worker")
                for round in 0..<25 {
                    let seen = ids.shuffled().map { id in
                        var observation = EndpointHealth.Observation(endpoint: id)
                        observation.failed("timeout", at: Int64(1000 + worker * 100 + round))
                        return observation
                    }
                    try connection.transaction { try EndpointHealthTable.record(seen, on: connection) }
                }
            }
        }
        for thread in threads { try thread.value() }
        let health = try EndpointHealthTable.load(on: bench.connection)
        for id in ids { #expect(health[id]?.streak == EndpointHealth.Streak(since: 1000, failures: 100)) }
    }

    @Test func `an endpoint that is removed has no health, also when a worker writes late`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try record([seen(id) { $0.failed("timeout", at: 1) }], bench.connection)
        _ = try EndpointTable.remove(id, now: 2, on: bench.connection)
        try record([seen(id) { $0.failed("timeout", at: 3) }], bench.connection)
        #expect(try EndpointHealthTable.load(on: bench.connection).isEmpty)
    }

    @Test func `a reason of its own disables once, and only while the streak is the same`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try record([seen(id) { $0.failed("timeout", at: 10) }], bench.connection)
        #expect(try !EndpointTable.disable(id, because: .failing, failingSince: 9, on: bench.connection))
        #expect(try EndpointTable.disable(id, because: .failing, failingSince: 10, on: bench.connection))
        #expect(try !EndpointTable.disable(id, because: .gone, on: bench.connection))
        #expect(try EndpointHealthTable.disablings(on: bench.connection) == [id: .failing])
        #expect(try EndpointTable.disable(id, reason: "again", on: bench.connection))
        #expect(try EndpointTable.list(id: id, on: bench.connection).first?.disabledReason == "no success for too long")
        #expect(try !EndpointTable.disable("we_0", reason: "x", on: bench.connection))
    }

    @Test func `enabling begins a new streak`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try record([seen(id) { $0.failed("timeout", at: 10) }], bench.connection)
        try EndpointHealthTable.mark(.warned(2, since: 10), of: id, on: bench.connection)
        _ = try EndpointTable.disable(id, because: .failing, on: bench.connection)
        #expect(try EndpointTable.enable(id, on: bench.connection))
        #expect(try EndpointHealthTable.disablings(on: bench.connection).isEmpty)
        try record([seen(id) { $0.failed("timeout", at: 90) }], bench.connection)
        let health = try #require(try EndpointHealthTable.load(on: bench.connection)[id])
        #expect(health.streak == EndpointHealth.Streak(since: 90, failures: 1) && health.warned == 0)
        #expect(try !EndpointTable.enable("we_0", on: bench.connection))
    }

    @Test func `what was told is noted as it was read, and no more`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try record(
            [
                seen(id) {
                    $0.failed("timeout", at: 10); $0.gaveUp("dlv_1"); $0.gaveUp("dlv_2")
                }
            ], bench.connection)
        _ = try EndpointTable.disable(id, because: .asked, on: bench.connection)
        let concern = try #require(try EndpointHealthTable.concerns(on: bench.connection).first)
        let disabledAt = try #require(concern.disabledAt)
        #expect(concern.disabling == .asked && !concern.isDisablingTold)
        for mark: NoticeCandidate.Mark in [
            .warned(1, since: 11), .disabled(at: disabledAt + 1), .dead(1, at: 77), .recovered(at: 4),
        ] {
            try EndpointHealthTable.mark(mark, of: id, on: bench.connection)
        }
        let left = try #require(try EndpointHealthTable.concerns(on: bench.connection).first)
        #expect(left.health.warned == 0 && !left.isDisablingTold && left.dead == 1 && left.deadTold == 77)
        try EndpointHealthTable.mark(.disabled(at: disabledAt), of: id, on: bench.connection)
        try EndpointHealthTable.mark(.dead(1, at: 78), of: id, on: bench.connection)
        #expect(try EndpointHealthTable.concerns(on: bench.connection).isEmpty)
    }

    @Test func `the public role sees nothing of it`() throws {
        let bench = try Bench()
        let ingest = try bench.database.connect(role: "entitled_ingest")
        #expect(throws: PostgresError.self) { try ingest.query("SELECT endpoint FROM entitled.endpoint_health") }
    }
}

@Suite struct OperationsEndpointTests {
    private func keep(_ url: String?, _ bench: Bench, now: Int64 = Bench.now) throws -> Bool {
        try bench.connection.transaction {
            try OperationsEndpoint.keep(url: url, sealer: bench.sealer, now: now, on: bench.connection)
        }
    }

    private func loaded(_ bench: Bench) throws -> Endpoint? {
        try EndpointTable.load(
            id: OperationsEndpoint.id, sealer: bench.sealer, now: Bench.now + 5, on: bench.connection
        )
        .first
    }

    @Test func `it follows the configuration: made, moved with its secret, removed, made again`() throws {
        let bench = try Bench()
        #expect(try !keep(nil, bench))
        #expect(try keep("https://ops.example/a", bench) && !keep("https://ops.example/a", bench))
        let first = try #require(try loaded(bench))
        #expect(first.isSendable && first.isOperations && first.url == "https://ops.example/a")
        #expect(try keep("https://ops.example/b", bench))
        let moved = try #require(try loaded(bench))
        #expect(moved.url == "https://ops.example/b" && moved.secrets == first.secrets)
        #expect(try keep(nil, bench) && !keep(nil, bench))
        #expect(try loaded(bench) == nil)
        #expect(try keep("https://ops.example/a", bench, now: Bench.now + 1))
        let again = try #require(try loaded(bench))
        #expect(again.isEnabled && again.secrets.count == 1 && again.secrets != first.secrets)
    }

    @Test func `an operator's disabling survives another URL`() throws {
        let bench = try Bench()
        _ = try keep("https://ops.example/a", bench)
        _ = try EndpointTable.disable(OperationsEndpoint.id, reason: "by an operator", on: bench.connection)
        _ = try keep("https://ops.example/b", bench)
        #expect(try loaded(bench)?.isEnabled == false)
    }

    @Test func `it gets events of operations only, and nobody else gets them`() throws {
        let bench = try Bench()
        let consumer = try bench.addEndpoint()
        _ = try keep("https://ops.example/a", bench)
        let operations = OperationsEvent(.failing, cause: "x", at: 1, data: .object([]))
        try bench.insert([Bench.event(1), operations.event])
        #expect(try bench.deliveries(of: consumer).map(\.eventType) == ["RENEWAL"])
        #expect(try bench.deliveries(of: OperationsEndpoint.id).map(\.eventType) == ["endpoint.failing"])
        try bench.insert([operations.event])
        #expect(try bench.deliveries(of: OperationsEndpoint.id).count == 1)
        let id = try #require(try bench.deliveries(of: OperationsEndpoint.id).first?.id)
        let shown = try #require(try DeliveryQuery.show(id, on: bench.connection))
        let body = try JSON(parsing: shown.body)
        #expect(body["type"]?.stringValue == "endpoint.failing" && body["timestamp"]?.stringValue != nil)
        #expect(body["data"] != nil)
    }

    @Test func `nothing is told of itself`() throws {
        let bench = try Bench()
        _ = try keep("https://ops.example/a", bench)
        var seen = EndpointHealth.Observation(endpoint: OperationsEndpoint.id)
        seen.failed("timeout", at: 1)
        seen.gaveUp("dlv_1")
        try bench.connection.transaction { try EndpointHealthTable.record([seen], on: bench.connection) }
        #expect(try EndpointHealthTable.concerns(on: bench.connection).isEmpty)
    }
}
