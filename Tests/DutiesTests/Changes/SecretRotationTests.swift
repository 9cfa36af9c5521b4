import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// A new secret of an endpoint, for the one who asked and for nobody who reads the database.
struct SecretRotationTests {
    private let fixture: ChangeFixture
    private let worker: PostgresConnection
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    private let work: ChangeWork

    init() throws {
        fixture = try ChangeFixture()
        worker = try fixture.worker()
        let sealer = self.sealer
        work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), keys: { sealer }, clock: SystemClock())
    }

    private func rotate(
        _ key: AnswerKey, overlap: Int64 = 3_600_000, as user: String = "integrator", named name: String = "1",
        given: String? = nil, by work: ChangeWork? = nil
    ) throws -> (change: Change, ending: ChangeEnding?) {
        let id = try fixture.ask(
            ChangeFixture.request(
                .endpointRotateSecret, "ep_1",
                .object([
                    "overlap": .int(overlap), ChangeVersions.answerKey: .string(Hex.encode(key.publicKey)),
                    SecretIntake.member: given.map { .string($0) },
                ]), as: user, key: name))
        let ending = try (work ?? self.work).next(on: worker)?.ending
        return (try fixture.change(id), ending)
    }

    private func secret(_ change: Change, _ key: AnswerKey) throws -> String? {
        let outcome = try JSON(parsing: Array((change.outcome ?? "{}").utf8))
        let sealed = outcome[Change.sealed]?.stringValue.flatMap(Hex.decode)
        return sealed.flatMap { key.open($0, context: change.sealingContext) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Secrets of the endpoint, as its worker opens them.
    private func secrets() throws -> [String] {
        try worker.query(
            "SELECT sealed FROM entitled.endpoint_secret WHERE endpoint = 'ep_1' AND kind = 0 ORDER BY created_ms"
        ).map { row in
            String(decoding: sealer.open(try row.bytes("sealed"), for: "ep_1") ?? [], as: UTF8.self)
        }
    }

    @Test func `the process that asked opens it, and nothing in the database says it`() throws {
        let (key, other) = (try AnswerKey(), try AnswerKey())
        let (change, ending) = try rotate(key)
        #expect(ending?.outcome == .done, "\(String(describing: ending))")
        let secret = try #require(try secret(change, key))
        #expect(secret.hasPrefix("whsec_"))
        #expect(try secrets() == [secret])
        #expect(try self.secret(change, other) == nil)
        // Jobs, audit and log, whole, as the console reads them.
        let rows = try fixture.console().query(
            "SELECT row_to_json(j)::text AS row FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        ).map { try $0.text("row") }
        #expect(rows.count == 2)
        let parts = [secret, String(secret.dropFirst(6)), Hex.encode(Array(secret.utf8)), Hex.encode(key.publicKey)]
        for row in rows { for part in parts { #expect(!row.contains(part), "\(row)") } }
        #expect(throws: PostgresError.self) {
            _ = try fixture.console().query("SELECT sealed FROM entitled.endpoint_secret")
        }
    }

    @Test func `one that the consumer has already comes in sealed, for this endpoint at its URL, and stands nowhere`()
        throws
    {
        try SealingKeyRegister.check(sealer, now: 1, on: worker)
        #expect(try SecretIntake.publish(sealer, on: worker))
        let intake = try #require(try SecretIntake.publicKey(on: fixture.console()))
        let secret = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 24))
        let given = try GivenSecrets(authorization: nil, headers: [], secret: secret)
        let url = try fixture.database.texts("SELECT url FROM entitled.endpoint WHERE id = 'ep_1'").first ?? ""
        func seal(_ kind: ChangeKind, _ endpoint: String, _ url: String) throws -> String {
            try SecretIntake.seal(given, to: intake, kind, endpoint, url: url)
        }
        let key = try AnswerKey()
        let wrong = [
            try seal(.endpointChange, "ep_1", url), try seal(.endpointRotateSecret, "ep_2", url),
            try seal(.endpointRotateSecret, "ep_1", "https://elsewhere.invalid/"), "x",
        ]
        for (number, sealed) in wrong.enumerated() {
            let ending = try rotate(key, named: "wrong \(number)", given: sealed).ending
            #expect(ending?.message?.contains("does not open for this endpoint") == true, "\(number)")
        }
        #expect(try secrets().isEmpty)
        let (change, ending) = try rotate(key, given: try seal(.endpointRotateSecret, "ep_1", url))
        #expect(ending?.outcome == .done, "\(String(describing: ending))")
        #expect(try secrets() == [secret])
        // The one who gave it has it.
        #expect(change.outcome?.contains(Change.sealed) == false && change.outcome?.contains("ep_1") == true)
        let rows = try fixture.console().query(
            "SELECT row_to_json(j)::text AS row FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        ).map { try $0.text("row") }
        for row in rows { #expect(!row.contains(secret) && !row.contains("\"given\""), "\(row)") }
    }

    @Test func `what was sealed goes after five minutes`() throws {
        let key = try AnswerKey()
        let (change, _) = try rotate(key)
        try ChangeTable.emptySealed(on: worker)
        #expect(try secret(try fixture.change(change.id), key) != nil)
        try fixture.database.execute("UPDATE entitled.job SET finished_ms = finished_ms - 300001")
        try ChangeTable.emptySealed(on: worker)
        let left = try fixture.change(change.id)
        #expect(left.outcome?.contains(Change.sealed) == false && left.outcome?.contains("ep_1") == true)
    }

    @Test func `former secrets keep their end, and too many, or a key that is not here, change nothing`() throws {
        let key = try AnswerKey()
        for number in 1...EndpointSecrets.limit { _ = try rotate(key, named: "\(number)") }
        #expect(try secrets().count == EndpointSecrets.limit)
        let many = try rotate(key, named: "many")
        #expect(many.ending?.message?.contains("10 secrets of the endpoint are valid already") == true)
        let stranger = SecretSealer(keys: [Redacted([UInt8](repeating: 9, count: 32))])
        let elsewhere = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), keys: { stranger }, clock: SystemClock())
        #expect(try rotate(key, named: "key", by: elsewhere).ending?.message?.contains("cannot seal") == true)
        let long = try rotate(key, overlap: EndpointSecrets.overlapLimit.milliseconds + 1, named: "long")
        #expect(long.ending?.outcome == .refused)
        #expect(try rotate(key, as: "support", named: "role").ending?.message?.contains("it needs one of") == true)
        #expect(try secrets().count == EndpointSecrets.limit)
        // No overlap ends them all.
        let last = try rotate(key, overlap: 0, named: "none")
        let new = try #require(try secret(last.change, key))
        #expect(try secrets() == [new])
    }
}
