import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct EndpointTableTests {
    private func load(_ bench: Bench, _ id: String, now: Int64 = Bench.now) throws -> Endpoint {
        try #require(
            try EndpointTable.load(id: id, sealer: bench.sealer, now: now, on: bench.connection).first)
    }

    @Test func `a new endpoint comes back with its filters and secrets`() throws {
        let bench = try Bench()
        let added = try EndpointTable.add(
            url: "https://example.com/x", authorization: "Bearer ü", environments: [.sandbox], events: ["RENEWAL"],
            apps: ["demo"], sealer: bench.sealer, now: Bench.now, on: bench.connection)
        let endpoint = try load(bench, added.id)
        #expect(endpoint.url == "https://example.com/x")
        #expect(endpoint.authorization?.exposed == "Bearer ü")
        #expect(endpoint.environments == [.sandbox] && endpoint.events == ["RENEWAL"] && endpoint.apps == ["demo"])
        #expect(endpoint.secrets == [added.secret])
        #expect(endpoint.isEnabled)
        #expect(added.secret.bytes.exposed.count == WebhookSecret.length)
    }

    @Test func `no secret is in the database as it is`() throws {
        let bench = try Bench()
        let added = try EndpointTable.add(
            url: "https://example.com", authorization: "Bearer 0123456789", environments: [], events: [], apps: [],
            sealer: bench.sealer, now: 1, on: bench.connection)
        let sealed = try bench.connection.query("SELECT sealed FROM entitled.endpoint_secret").one().bytes(0)
        let authorization = try bench.connection.query("SELECT authorization_sealed FROM entitled.endpoint").one()
        #expect(!sealed.contains(added.secret.plaintext) && !sealed.contains(added.secret.bytes.exposed))
        #expect(try !authorization.bytes(0).contains(Array("0123456789".utf8)))
    }

    @Test func `for the api's role endpoints have nothing secret`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint(authorization: "Bearer x")
        let listed = try EndpointTable.list(on: try bench.database.connect(role: "entitled_api"))
        #expect(listed.map(\.id) == [id])
        #expect(listed.first?.authorization == nil && listed.first?.secrets.isEmpty == true)
    }

    @Test func `disabling holds what is open and enabling sends it`() throws {
        let bench = try Bench()
        let (a, b) = (try bench.addEndpoint(), try bench.addEndpoint())
        try bench.insert([Bench.event(1), Bench.event(2)])
        let delivered = try #require(try bench.due([a: 10]).first)
        try bench.settle(delivered, .delivered, status: 200)
        #expect(try EndpointTable.disable(a, reason: "410", on: bench.connection))
        try bench.followEndpoints()
        #expect(try Set(bench.deliveries(of: a).map(\.state)) == [.delivered, .held])
        #expect(try bench.deliveries(of: b).allSatisfy { $0.state == .pending })
        #expect(try load(bench, a).disabledReason == "410")
        #expect(try bench.due([a: 10]).isEmpty)
        #expect(try EndpointTable.enable(a, on: bench.connection))
        try bench.followEndpoints(now: Bench.now + 50)
        let due = try bench.due([a: 10], now: Bench.now + 50)
        #expect(due.count == 1)
        #expect(due.first?.id != delivered.id)
    }

    @Test func `removing makes what is open dead and forgets the secrets`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        try bench.insert([Bench.event(1), Bench.event(2)])
        #expect(try EndpointTable.remove(id, now: Bench.now, on: bench.connection))
        try bench.followEndpoints()
        let deliveries = try bench.deliveries(of: id)
        #expect(deliveries.count == 2)
        #expect(deliveries.allSatisfy { $0.state == .dead && $0.reason == "endpoint removed" })
        #expect(try bench.database.count("SELECT count(*) FROM entitled.endpoint_secret") == 0)
        #expect(try EndpointTable.list(on: bench.connection).isEmpty)
        for done in [
            try EndpointTable.remove(id, now: 1, on: bench.connection),
            try EndpointTable.enable(id, on: bench.connection),
            try EndpointTable.disable(id, reason: "x", on: bench.connection),
        ] {
            #expect(!done)
        }
    }

    @Test func `an event of a disabled endpoint is held for it`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        #expect(try EndpointTable.disable(id, reason: "by hand", on: bench.connection))
        #expect(try bench.insert([Bench.event(1)]).isEmpty)
        #expect(try bench.deliveries(of: id).map(\.state) == [.held])
    }

    @Test func `an event that is being written while its endpoint is disabled is held`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        let database = bench.database
        let disabling = try bench.connection.transaction {
            let sent = try EventTable.insert([Bench.event(1)], now: Bench.now, on: bench.connection)
            #expect(sent.count == 1)
            let disabling = TestThread {
                try EndpointTable.disable(id, reason: "410", on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            return disabling
        }
        #expect(try disabling.value())
        try bench.followEndpoints()
        #expect(try bench.deliveries(of: id).map(\.state) == [.held])
    }

    @Test func `an event that comes while its endpoint is being disabled is held`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        let database = bench.database
        let inserting = try bench.connection.transaction {
            _ = try bench.connection.query(
                "UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = $1", [.text(id)])
            let inserting = TestThread {
                let connection = try database.connect(role: "entitled_worker")
                return try connection.transaction {
                    try EventTable.insert([Bench.event(1)], now: Bench.now, on: connection).count
                }
            }
            try database.untilBlocked()
            return inserting
        }
        #expect(try inserting.value() == 0)
        #expect(try bench.deliveries(of: id).map(\.state) == [.held])
    }

    @Test func `a pause only ever moves later`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        for until in [500, 900, 700] { try EndpointTable.pause([id: Int64(until)], on: bench.connection) }
        #expect(try load(bench, id).pausedUntil == 900)
    }
}
