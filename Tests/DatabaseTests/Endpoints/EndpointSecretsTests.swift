import Base
import Crypto
import Database
import Postgres
import TestSupport
import Testing

@Suite struct EndpointSecretsTests {
    private static let hour: Int64 = 3_600_000
    private let bench: Bench
    private let id: String
    private let first: WebhookSecret

    init() throws {
        bench = try Bench()
        let added = try EndpointTable.add(
            url: "https://example.com", authorization: nil, environments: [], events: [], apps: [],
            sealer: bench.sealer, now: Bench.now, on: bench.connection)
        (id, first) = (added.id, added.secret)
    }

    private func rotate(_ overlap: Duration, at hours: Int64) throws -> WebhookSecret {
        let rotated = try EndpointSecrets.rotate(
            of: id, overlap: overlap, sealer: bench.sealer, now: Bench.now + hours * Self.hour, on: bench.connection)
        return try #require(rotated).secret
    }

    private func endpoint(at hours: Int64) throws -> Endpoint {
        let now = Bench.now + hours * Self.hour
        return try #require(
            try EndpointTable.load(id: id, sealer: bench.sealer, now: now, on: bench.connection).first)
    }

    private func live(at hours: Int64) throws -> [WebhookSecret] { try endpoint(at: hours).secrets }

    @Test func `the former secret signs too until the overlap is over, the newest comes first`() throws {
        let second = try rotate(.seconds(86_400), at: 1)
        #expect(try live(at: 1) == [second, first])
        #expect(try live(at: 24) == [second, first])
        #expect(try live(at: 25) == [second])
    }

    @Test func `rotated twice in a day, each former secret keeps its own end`() throws {
        let second = try rotate(.seconds(86_400), at: 0)
        let third = try rotate(.seconds(86_400), at: 6)
        #expect(try live(at: 23) == [third, second, first])
        #expect(try live(at: 24) == [third, second])
        #expect(try live(at: 29) == [third, second])
        #expect(try live(at: 30) == [third])
    }

    @Test func `a shorter overlap ends former secrets earlier, a longer one none later`() throws {
        let second = try rotate(.seconds(30 * 86_400), at: 0)
        let third = try rotate(.seconds(3600), at: 1)
        #expect(try live(at: 1) == [third, second, first])
        #expect(try live(at: 2) == [third])
        let fourth = try rotate(.seconds(10 * 3600), at: 3)
        let fifth = try rotate(.seconds(30 * 86_400), at: 4)
        #expect(try live(at: 12) == [fifth, fourth, third])
        #expect(try live(at: 13) == [fifth, fourth])
    }

    @Test func `after a leak all former secrets end at once`() throws {
        _ = try rotate(.seconds(86_400), at: 0)
        _ = try rotate(.seconds(86_400), at: 1)
        let newest = try rotate(.zero, at: 2)
        #expect(try live(at: 2) == [newest])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.endpoint_secret") == 1)
    }

    @Test func `a sender sees by one number that there are other secrets`() throws {
        func version() throws -> Int64 { try EndpointSecrets.version(on: bench.connection) }
        var seen = [try version()]
        #expect(try version() == seen[0])
        // Made by a host whose clock is behind, and as many as before.
        _ = try rotate(.zero, at: -1)
        seen.append(try version())
        _ = try rotate(.seconds(86_400), at: 1)
        seen.append(try version())
        // The former ones end, and as many are made.
        _ = try rotate(.seconds(60), at: 2)
        seen.append(try version())
        _ = try bench.connection.query("DELETE FROM entitled.endpoint_secret")
        seen.append(try version())
        #expect(Set(seen).count == 5)
    }

    @Test func `ten secrets live at most, and none is lost when one more is refused`() throws {
        for hours in 0..<9 { _ = try rotate(.seconds(86_400), at: Int64(hours)) }
        let before = try live(at: 9)
        #expect(before.count == 10)
        let refusal = #expect(throws: EndpointSecrets.TooMany.self) { try rotate(.seconds(86_400), at: 9) }
        #expect(refusal?.firstEnd == Bench.now + 24 * Self.hour)
        #expect(try live(at: 9) == before)
        #expect(try rotate(.zero, at: 9) == live(at: 9).first)
        #expect(try live(at: 9).count == 1)
    }

    @Test func `a clock that stands still, or goes back, keeps the order`() throws {
        let second = try rotate(.seconds(86_400), at: 0)
        let third = try rotate(.seconds(86_400), at: -1)
        #expect(try live(at: 0) == [third, second, first])
    }

    @Test func `a key pair is rotated with the secret`() throws {
        var changes = EndpointEdit()
        changes.isAsymmetric = true
        _ = try EndpointUpdate.run(changes, of: id, sealer: bench.sealer, now: Bench.now, on: bench.connection)
        let before = try #require(endpoint(at: 0).signingKeys.first).exposed
        let rotated = try #require(
            try EndpointSecrets.rotate(of: id, sealer: bench.sealer, now: Bench.now + 1, on: bench.connection))
        let keys = try endpoint(at: 1).signingKeys.map(\.exposed)
        #expect(keys.count == 2 && keys.last == before)
        #expect(Ed25519Key(seed: keys[0])?.publicKey == rotated.publicKey)
        let shown = try EndpointSecrets.list(
            of: id, now: Bench.now + 1, on: try bench.database.connect(role: "entitled_api"))
        #expect(shown.keyPairs.map(\.publicKey) == keys.map { Ed25519Key(seed: $0)?.publicKey })
        #expect(shown.secrets.map(\.expires) == [nil, Bench.now + 1 + 24 * Self.hour])
        #expect(try endpoint(at: 25).signingKeys.map(\.exposed) == [keys[0]])
    }

    @Test func `nobody else's secrets are touched, and who is not there has none`() throws {
        let other = try bench.addEndpoint()
        _ = try rotate(.zero, at: 1)
        let secrets = try EndpointSecrets.list(of: other, now: Bench.now + Self.hour, on: bench.connection).secrets
        #expect(secrets.count == 1 && secrets[0].expires == nil)
        let nobody = try EndpointSecrets.rotate(of: "we_0", sealer: bench.sealer, now: 1, on: bench.connection)
        #expect(nobody?.secret == nil)
    }
}
