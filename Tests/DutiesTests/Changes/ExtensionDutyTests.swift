import AppStoreAPI
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

/// Extensions of renewal dates, which Apple is asked for once.
struct ExtensionDutyTests {
    private let fixture: ChangeFixture
    private let run: DutyRun
    private let asked = Monitor<[String]>([])
    private let log = LogTape()
    private static let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "2000000000000777")

    init() throws {
        fixture = try ChangeFixture()
        run = DutyRun(
            session: PostgresSession(fixture.database.target(role: "entitled_worker")),
            leadership: Leadership(worker: SecureRandom.bytes(16), lease: .seconds(10)))
        try fixture.database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew, version,
                updated_ms) VALUES ($1, 'demo', 1, $2, 'anna', 'monthly', true, 1, 1000)
            """, [.int2(Self.key.lane.number), .text(Self.key.originalTransactionID)])
    }

    private static func parameters(days: Int64 = 7, app: String = "demo") -> JSON {
        .object([
            "app": .string(app), "environment": .string("Sandbox"), "days": .int(days),
            "apple_reason": .string("outage"), ChangeVersions.requestID: .string("req-1"),
        ])
    }

    private func ask(_ parameters: JSON = Self.parameters(), as user: String = "support", key: String = "1") throws
        -> Int64
    {
        try fixture.ask(
            ChangeFixture.request(
                .purchaseExtend, Self.key.originalTransactionID, parameters, as: user, key: key))
    }

    private func work(_ answer: Result<ExtensionDuty.Answer, ServerAPIError>) throws {
        let duty = ExtensionDuty(
            askers: [
                "demo": { [asked] purchase, wanted in
                    asked.change {
                        $0.append(
                            "\(purchase.originalTransactionID) \(purchase.environment) \(wanted.days) \(wanted.reason.word)"
                                + " \(wanted.requestIdentifier)")
                    }
                    return answer
                }
            ], logger: log.logger)
        _ = try duty.run(run)
    }

    @Test func `Apple is asked, and the outcome says until when`() throws {
        let job = try ask()
        try work(.success(.init(isDone: true, expires: 1_800_000_000_000)))
        #expect(asked.read { $0 } == ["2000000000000777 sandbox 7 outage req-1"])
        let change = try fixture.change(job)
        #expect(change.state == .done && change.outcome?.contains("2027-01-15T08:00:00Z") == true, "\(change)")
        #expect(try fixture.audit() == ["support purchase_extend 2000000000000777 done 1"])
        #expect(log.text.contains("change finished"))
        try work(.failure(.cancelled))
        #expect(asked.read { $0.count } == 1)
    }

    @Test func `a worker that ended while it asked leaves it unknown, and none asks again`() throws {
        let job = try ask()
        let worker = try fixture.worker()
        try worker.transaction {
            let change = try #require(try ChangeTable.take(isOfApple: true, on: worker))
            try ChangeTable.mark(change, for: 60_000, on: worker)
        }
        // It may be asking at this moment.
        try work(.failure(.cancelled))
        #expect(try fixture.change(job).state == .running)
        try fixture.database.execute("UPDATE entitled.job SET lease_until = now()")
        try work(.failure(.cancelled))
        #expect(asked.read { $0.isEmpty })
        let change = try fixture.change(job)
        #expect(change.state == .failed && change.error?.contains("It is not known whether") == true, "\(change)")
    }

    @Test func `what Apple refuses is refused, and where it did not answer that is said`() throws {
        let jobs = [try ask(key: "1"), try ask(key: "2"), try ask(key: "3")]
        try fixture.database.execute(
            "UPDATE entitled.job SET lease_until = 'infinity' WHERE id <> $1", [.int8(jobs[0])])
        try work(.success(.init(isDone: false, expires: nil)))
        try fixture.database.execute(
            "UPDATE entitled.job SET lease_until = '-infinity' WHERE id = $1", [.int8(jobs[1])])
        try work(.failure(.invalid("no such id")))
        try fixture.database.execute(
            "UPDATE entitled.job SET lease_until = '-infinity' WHERE id = $1", [.int8(jobs[2])])
        try work(.failure(.unreachable("no route")))
        let errors = try jobs.map { try fixture.change($0).error ?? "" }
        #expect(errors[0] == "Apple did not extend it and gave no reason.")
        #expect(errors[1] == "Apple did not extend it. no such id.")
        #expect(errors[2].contains("no route") && errors[2].contains("It is not known"), "\(errors)")
        #expect(try fixture.audit().map { $0.split(separator: " ")[3] } == ["refused", "refused", "failed"])
    }

    /// A server that failed may have done it before.
    @Test(
        arguments: [
            (409, 4_030_004, false), (404, 4_040_001, false), (429, nil, false), (408, nil, true),
            (500, 5_000_000, true),
            (503, nil, true),
        ] as [(Int, Int64?, Bool)])
    func `only what Apple refuses by a code was not done for certain`(
        status: Int, code: Int64?, isUnknown: Bool
    ) throws {
        let job = try ask()
        try work(.failure(.refused(ServerAPIRejection(status: status, rawCode: code))))
        let error = try fixture.change(job).error ?? ""
        #expect(error.contains("It is not known") == isUnknown, "\(error)")
        #expect(error.hasPrefix("Apple did not extend it") != isUnknown, "\(error)")
    }

    @Test func `a second extension is no other than the one that was shown`() throws {
        func plan() throws -> JSON {
            let worker = try fixture.worker()
            let digest = try ChangeVersions.digest(
                .purchaseExtend, Self.key.originalTransactionID, Self.parameters(), on: worker)
            return .object(
                (Self.parameters().members ?? []) + [
                    JSON.Member(name: ChangeVersions.member, value: .string(Hex.encode(digest)))
                ])
        }
        let shown = try plan()
        func named(_ id: String) -> JSON {
            .object(
                (shown.members ?? []).filter { $0.name != ChangeVersions.requestID } + [
                    JSON.Member(name: ChangeVersions.requestID, value: .string(id))
                ])
        }
        let jobs = [try ask(named("one"), key: "1"), try ask(named("two"), key: "2")]
        try work(.success(.init(isDone: true, expires: 1)))
        #expect(asked.read { $0.count } == 1)
        #expect(try fixture.change(jobs[0]).state == .done)
        #expect(try fixture.change(jobs[1]).error == ChangeVersions.changed)
    }

    @Test func `one that was asked for before an hour is not begun`() throws {
        let job = try ask()
        try fixture.database.execute("UPDATE entitled.job SET created_ms = created_ms - 3600000")
        try work(.success(.init(isDone: true, expires: 1)))
        #expect(asked.read { $0.isEmpty })
        #expect(try fixture.change(job).error?.contains("within an hour") == true)
    }

    @Test func `one that always fails keeps no other waiting`() throws {
        let bad = try ask(.object((Self.parameters().members ?? []) + [JSON.Member(name: "plan", value: .string("x"))]))
        // The target is none that a statement takes.
        try fixture.database.execute(
            "UPDATE entitled.job SET parameters = replace(parameters, '\"demo\"', '\"a\\u0000\"') WHERE id = $1",
            [.int8(bad)])
        let good = try ask(key: "2")
        for _ in 0..<20 where try fixture.change(good).state == .running {
            try fixture.database.execute(
                "UPDATE entitled.job SET updated_ms = 0 WHERE id = $1", [.int8(bad)])
            _ = try? work(.success(.init(isDone: true, expires: 1)))
        }
        #expect(try fixture.change(good).state == .done)
        #expect(try fixture.change(bad).error?.contains("before Apple was asked") == true)
    }

    @Test func `roles, apps without a key, and other purchases are refused before Apple is asked`() throws {
        let cases: [(JSON, String, String)] = [
            (Self.parameters(), "integrator", "it needs one of"), (Self.parameters(app: "other"), "support", "no key"),
            (Self.parameters(days: 91), "support", "no days and reason"),
            (.object([:]), "support", "names no purchase"),
        ]
        for (number, (parameters, user, message)) in cases.enumerated() {
            let job = try ask(parameters, as: user, key: "\(number)")
            try work(.failure(.cancelled))
            #expect(try fixture.change(job).error?.contains(message) == true, "\(message)")
        }
        try fixture.database.execute("DELETE FROM entitled.purchase")
        let job = try ask(key: "gone")
        try work(.failure(.cancelled))
        #expect(try fixture.change(job).error?.contains("no such purchase") == true)
        #expect(asked.read { $0.isEmpty })
    }
}
