import Base
import Database
import Postgres
import TestSupport
import Testing

/// Changing the key that seals, with hosts whose lists of keys differ.
@Suite struct SealingKeyTests {
    private static func key(_ byte: UInt8) -> Redacted<[UInt8]> { Redacted([UInt8](repeating: byte, count: 32)) }

    private let bench = Result { try Bench() }
    private let old = SecretSealer(keys: [key(1)])
    private let both = SecretSealer(keys: [key(2), key(1)])
    private let new = SecretSealer(keys: [key(2)])

    private func add(_ sealer: SecretSealer) throws -> String {
        try EndpointTable.add(
            url: "https://example.com", authorization: "Bearer x", environments: [], events: [], apps: [],
            headers: [try CustomHeader(parsing: "X-Key: y")], isAsymmetric: true, sealer: sealer, now: Bench.now,
            on: try bench.get().connection
        ).id
    }

    /// How many endpoints can be sent to with these keys.
    private func sendable(_ sealer: SecretSealer) throws -> Int {
        try EndpointTable.load(sealer: sealer, now: Bench.now, on: try bench.get().connection)
            .filter(\.isSendable).count
    }

    private func rewrap(
        _ sealer: SecretSealer, isForced: Bool = false, now: Int64 = Bench.now
    ) throws -> SecretRewrap.RewrapResult {
        try SecretRewrap.run(
            with: sealer, patience: 60_000, isForced: isForced, now: now, on: try bench.get().connection)
    }

    private func check(_ sealer: SecretSealer) throws {
        try SealingKeyRegister.check(sealer, now: Bench.now, on: try bench.get().connection)
    }

    private func setWorker(_ host: String, keys: [String], secondsAgo: Int = 0) throws {
        try bench.get().database.execute(
            """
            INSERT INTO entitled.worker (id, host, seen_at, sealing_keys)
            VALUES (gen_random_uuid(), $1, clock_timestamp() - $3 * interval '1 second', $2)
            """, [.text(host), .texts(keys), .int8(Int64(secondsAgo))])
    }

    @Test func `a host that has a new key first goes on sealing with the one in use`() throws {
        try check(old)
        _ = try add(old)
        try check(both)
        _ = try add(both)
        #expect(try sendable(old) == 2)
        #expect(try SealingKeyRegister.inUse(on: bench.get().connection) == old.fingerprint)
    }

    @Test func `sealed anew, everything opens with the new key alone`() throws {
        try check(old)
        let ids = try [add(old), add(old)]
        _ = try EndpointSecrets.rotate(of: ids[0], sealer: old, now: Bench.now, on: bench.get().connection)
        let before = try EndpointTable.load(sealer: old, now: Bench.now, on: bench.get().connection)
        let first = try rewrap(both)
        #expect(first.sealed == 10 && first.changed == 10 && first.unreadable.isEmpty)
        let after = try EndpointTable.load(sealer: new, now: Bench.now, on: bench.get().connection)
        #expect(after.map(\.secrets) == before.map(\.secrets))
        #expect(after.map(\.signingKeys) == before.map(\.signingKeys))
        #expect(
            after.map(\.authorization) == before.map(\.authorization) && after.map(\.headers) == before.map(\.headers))
        #expect(after.allSatisfy { $0.isSendable })
        let second = try rewrap(both)
        #expect(second.sealed == 10 && second.changed == 0)
    }

    @Test func `afterwards a host without the new key says so, and seals nothing`() throws {
        try check(old)
        let id = try add(old)
        _ = try rewrap(both)
        let missing = #expect(throws: SealingKeyRegister.Missing.self) { try check(old) }
        #expect(missing?.fingerprint == new.fingerprint)
        #expect(throws: SealingKeyRegister.Missing.self) { try add(old) }
        #expect(throws: SealingKeyRegister.Missing.self) {
            try EndpointSecrets.rotate(of: id, sealer: old, now: Bench.now, on: try bench.get().connection)
        }
        try check(new)
        _ = try add(SecretSealer(keys: [Self.key(1), Self.key(2)]))
        #expect(try sendable(new) == 2)
    }

    @Test func `a worker that lacks the new key keeps it from being used, unless that is wanted`() throws {
        try check(old)
        _ = try add(old)
        try setWorker("ready", keys: both.fingerprints)
        try setWorker("late", keys: old.fingerprints)
        try setWorker("older", keys: [])
        try setWorker("gone", keys: old.fingerprints, secondsAgo: 120)
        let unprepared = #expect(throws: SecretRewrap.Unprepared.self) { try rewrap(both) }
        #expect(unprepared?.hosts == ["late", "older"])
        #expect(try sendable(old) == 1)
        #expect(try SealingKeyRegister.inUse(on: bench.get().connection) == old.fingerprint)
        #expect(try rewrap(both, isForced: true).changed == 4)
    }

    @Test func `what no key opens is named, and the rest is sealed anew`() throws {
        try check(old)
        let ids = try [add(old), add(old)]
        let stranger = SecretSealer(keys: [Self.key(7)])
        try bench.get().database.execute(
            "UPDATE entitled.endpoint SET authorization_sealed = $2 WHERE id = $1",
            [.text(ids[1]), .bytea(try stranger.seal([1], for: ids[1]))])
        let outcome = try rewrap(both)
        #expect(outcome.sealed == 7 && outcome.changed == 7)
        #expect(outcome.unreadable.map { "\($0.endpoint) \($0.what)" } == ["\(ids[1]) authorization"])
        #expect(try sendable(new) == 1)
    }

    @Test func `a secret that is made while everything is sealed anew has the new key, or is sealed anew too`() throws {
        try check(old)
        _ = try add(old)
        let database = try bench.get().database
        let connection = try bench.get().connection
        let (both, keys) = (both, old)
        let rewrapping = try connection.transaction {
            _ = try EndpointTable.add(
                url: "https://example.com", authorization: nil, environments: [], events: [], apps: [], sealer: keys,
                now: Bench.now, on: connection)
            let rewrapping = TestThread {
                try SecretRewrap.run(
                    with: both, patience: 60_000, now: Bench.now,
                    on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            return rewrapping
        }
        #expect(try rewrapping.value().changed == 5)
        #expect(try sendable(new) == 2)
    }

    @Test func `secrets that have ended are forgotten instead`() throws {
        try check(old)
        let id = try add(old)
        _ = try EndpointSecrets.rotate(
            of: id, overlap: .seconds(60), sealer: old, now: Bench.now, on: bench.get().connection)
        #expect(try rewrap(both, now: Bench.now + 60_000).sealed == 4)
    }

    @Test func `a former key can be taken into use again`() throws {
        try check(old)
        _ = try add(old)
        _ = try rewrap(both)
        #expect(try rewrap(SecretSealer(keys: [Self.key(1), Self.key(2)])).changed == 4)
        #expect(try sendable(old) == 1)
        try check(old)
    }

    @Test func `another key is refused, also while nothing is sealed yet`() throws {
        try check(old)
        #expect(throws: SealingKeyRegister.Missing.self) { try check(new) }
        #expect(throws: SealingKeyRegister.Missing.self) { try rewrap(new) }
        try check(both)
    }

    @Test func `where the key is lost, everything can be given anew`() throws {
        try check(old)
        let id = try add(old)
        #expect(try rewrap(new, isForced: true).unreadable.count == 4)
        try check(new)
        let connection = try bench.get().connection
        _ = try EndpointSecrets.rotate(of: id, overlap: .zero, sealer: new, now: Bench.now + 1, on: connection)
        #expect(try sendable(new) == 0)
        var changes = EndpointEdit()
        changes.authorization = .set(Redacted("Bearer new"))
        changes.headers = [try CustomHeader(parsing: "X-Key: new")]
        let outcome = try EndpointUpdate.run(changes, of: id, sealer: new, now: Bench.now, on: connection)
        #expect(outcome == .changed)
        #expect(try sendable(new) == 1)
    }

    @Test func `who stands still while an endpoint is changed loses it`() throws {
        let bench = try Bench()
        let id = try bench.addEndpoint()
        let patience = try bench.connection.transaction {
            _ = try EndpointSecrets.rotate(of: id, sealer: bench.sealer, now: Bench.now, on: bench.connection)
            return try bench.connection.query("SHOW idle_in_transaction_session_timeout").one().text(0)
        }
        #expect(patience == "5s")
    }
}
