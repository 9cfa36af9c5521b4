import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct EndpointUpdateTests {
    private let bench: Bench
    private let id: String

    init() throws {
        bench = try Bench()
        id = try EndpointTable.add(
            url: "https://example.com/old", authorization: "Bearer old", environments: [.sandbox],
            events: ["RENEWAL"], apps: ["demo"], retrySchedule: try RetrySchedule(parsing: "1m,2m"),
            headers: [try CustomHeader(parsing: "X-One: 1"), try CustomHeader(parsing: "X-Two: 2")],
            isAsymmetric: true, sealer: bench.sealer, now: Bench.now, on: bench.connection
        ).id
    }

    private func load() throws -> Endpoint {
        try #require(
            try EndpointTable.load(id: id, sealer: bench.sealer, now: Bench.now, on: bench.connection).first)
    }

    /// Runs it with these changes.
    @discardableResult
    private func update(
        _ sealer: SecretSealer? = nil, _ body: (inout EndpointEdit) throws -> Void
    ) throws -> EndpointUpdate.UpdateResult {
        var changes = EndpointEdit()
        try body(&changes)
        return try EndpointUpdate.run(
            changes, of: id, sealer: sealer ?? bench.sealer, now: Bench.now, on: bench.connection)
    }

    private func headers() throws -> [String] { try load().headers.map { "\($0.name)=\($0.value.exposed)" } }

    @Test func `an endpoint comes back with all that it was made with`() throws {
        let endpoint = try load()
        #expect(endpoint.retrySchedule?.waits == [60_000, 120_000])
        #expect(endpoint.headerNames == ["X-One", "X-Two"])
        #expect(try headers() == ["X-One=1", "X-Two=2"])
        #expect(endpoint.hasAuthorization && endpoint.signingKeys.count == 1 && endpoint.isSendable)
        #expect(endpoint.format == .revenuecat)
    }

    @Test func `what is not given stays as it is`() throws {
        let before = try load()
        try update { $0.url = "https://example.com/new" }
        let after = try load()
        #expect(after.url == "https://example.com/new")
        #expect(after.authorization == before.authorization && after.environments == before.environments)
        #expect(after.events == before.events && after.apps == before.apps)
        #expect(after.retrySchedule == before.retrySchedule && after.headers == before.headers)
        #expect(after.secrets == before.secrets && after.signingKeys == before.signingKeys)
        #expect(after.isSendable)
    }

    @Test func `nothing secret goes along to another server where that is not wanted`() throws {
        let other = "https://other.example.com/"
        let wants: [(inout EndpointEdit) throws -> Void] = [
            { _ in }, { $0.authorization = .clear }, { $0.authorization = .set(Redacted("Bearer new")) },
            { $0.withoutHeaders = ["x-one", "X-Two"] },
            { ($0.authorization, $0.withoutHeaders) = (.clear, ["X-One"]) },
        ]
        for want in wants {
            let result = try update { changes in
                (changes.url, changes.keepsNoSecrets) = (other, true)
                try want(&changes)
            }
            #expect(result == .isElsewhere)
        }
        #expect(try load().url == "https://example.com/old")
        let result = try update { changes in
            (changes.url, changes.keepsNoSecrets) = (other, true)
            (changes.authorization, changes.withoutHeaders) = (.clear, ["X-One"])
            changes.headers = [try CustomHeader(parsing: "x-two: 3")]
        }
        #expect(result == .changed)
        #expect(try load().url == other && !load().hasAuthorization && headers() == ["x-two=3"])
    }

    @Test func `each setting can be changed, and given up where it may be absent`() throws {
        let before = try load()
        try update {
            $0.environments = [.production]
            $0.events = []
            $0.apps = ["a", "b"]
            $0.authorization = .set(Redacted("Bearer new"))
            $0.retrySchedule = .set(try RetrySchedule(parsing: "none"))
        }
        let changed = try load()
        #expect(changed.environments == [.production] && changed.events.isEmpty && changed.apps == ["a", "b"])
        #expect(changed.authorization?.exposed == "Bearer new")
        #expect(changed.retrySchedule?.waits == [])
        try update {
            $0.authorization = .clear
            $0.retrySchedule = .clear
            $0.isAsymmetric = false
        }
        let cleared = try load()
        #expect(cleared.authorization == nil && !cleared.hasAuthorization && cleared.retrySchedule == nil)
        #expect(cleared.signingKeys.isEmpty && cleared.secrets == before.secrets && cleared.isSendable)
    }

    @Test func `a header takes the place of the one with its name, and others stay`() throws {
        try update {
            $0.headers = [try CustomHeader(parsing: "x-one: 3"), try CustomHeader(parsing: "X-Three: 4")]
        }
        #expect(try headers() == ["X-Two=2", "x-one=3", "X-Three=4"])
        try update { $0.withoutHeaders = ["X-ONE", "x-two"] }
        #expect(try headers() == ["X-Three=4"])
        try update { $0.withoutHeaders = ["x-three"] }
        #expect(try load().headerNames.isEmpty && load().isSendable)
    }

    @Test func `an endpoint has 64 headers at most, whether given at once or one after the other`() throws {
        let outcome = try update {
            $0.headers = try (0..<63).map { try CustomHeader(name: "x-\($0)", value: "v") }
        }
        #expect(outcome == .tooManyHeaders)
        #expect(try headers().count == 2)
    }

    @Test func `a second key pair is not made where there is one`() throws {
        let before = try load().signingKeys
        try update { $0.isAsymmetric = true }
        #expect(try load().signingKeys == before)
    }

    @Test func `what waits stays where and when it waits`() throws {
        try bench.insert([Bench.event(1, environment: .sandbox)])
        let due = try #require(try bench.due([id: 5]).first)
        try bench.settle(due, .pending, attempts: 1, wait: 60_000)
        let before = try bench.deliveries(of: id).map { "\($0.state) \($0.next)" }
        try update {
            $0.url = "https://example.com/new"
            $0.environments = [.production]
            $0.retrySchedule = .set(try RetrySchedule(parsing: "5s"))
        }
        #expect(try bench.deliveries(of: id).map { "\($0.state) \($0.next)" } == before)
    }

    @Test func `headers that do not open are not lost by a change of others, but can be given anew`() throws {
        let other = SecretSealer(keys: [Redacted([UInt8](repeating: 9, count: 32))])
        try bench.database.execute(
            "UPDATE entitled.endpoint SET headers_sealed = $1",
            [.bytea(try other.seal(Array("X-One:1\nX-Two:2\n".utf8), for: SecretSealer.headers(of: id)))])
        #expect(try !load().isSendable)
        #expect(try update { $0.headers = [try CustomHeader(parsing: "X-One: 5")] } == .headersUnreadable)
        #expect(try update { $0.url = "https://example.com" } == .changed)
        #expect(try load().headerNames == ["X-One", "X-Two"])
        let mended = try update {
            $0.headers = [try CustomHeader(parsing: "X-One: 5")]
            $0.withoutHeaders = ["X-Two"]
        }
        #expect(mended == .changed)
        #expect(try headers() == ["X-One=5"] && load().isSendable)
    }

    @Test func `who is not there is not changed`() throws {
        #expect(try EndpointTable.remove(id, now: Bench.now, on: bench.connection))
        #expect(try update { $0.url = "https://example.com" } == .notFound)
        let left = try bench.database.count(
            """
            SELECT count(*) FROM entitled.endpoint
            WHERE authorization_sealed IS NOT NULL OR headers_sealed IS NOT NULL
            """)
        #expect(left == 0)
    }

    @Test func `values of headers are in the database neither as they are nor for the api's role`() throws {
        let sealed = try bench.connection.query("SELECT headers_sealed FROM entitled.endpoint").one().bytes(0)
        #expect(!sealed.contains(Array("X-Two:2".utf8)))
        let api = try bench.database.connect(role: "entitled_api")
        #expect(try EndpointTable.list(on: api).first?.headerNames == ["X-One", "X-Two"])
        for column in ["e.headers_sealed", "e.authorization_sealed", "s.sealed"] {
            #expect(throws: PostgresError.self) {
                try api.query("SELECT \(column) FROM entitled.endpoint e, entitled.endpoint_secret s")
            }
        }
    }
}
