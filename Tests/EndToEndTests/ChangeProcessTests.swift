import Base
import Crypto
import Daemon
import Database
import Glibc
import Postgres
import TestSupport
import Testing

/// What operators ask for, done by a worker's process that is killed around its commit.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ChangeProcessTests {
    @Test(arguments: [FailPoint.changeBeforeCommit, .changeAfterCommit])
    func `a change is done once, wherever its worker is killed`(point: FailPoint) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        try site.run("customers", "grant", "bob", "pro", "--duration", "weekly", "--create")
        let owner = try database.connect(role: "entitled_worker")
        _ = try ConsoleUserTable.add("carl", .support, now: 1, on: owner)
        let request = ChangeTable.Request(
            .grant, "bob", parameters: .object(["entitlement": .string("pro"), "duration": .string("yearly")]),
            reason: "ticket 77",
            by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
            idempotencyKey: "k1", fingerprint: [UInt8](repeating: 1, count: 32))
        let answer = try ChangeTable.ask(request, on: try database.connect(role: "entitled_console"))
        guard case .asked(let id) = answer else { throw TestFailure("\(answer)") }
        func count(_ condition: String) throws -> Int64 {
            try database.count("SELECT count(*) FROM entitled.\(condition)")
        }
        let doomed = try site.start("worker", environment: [FailPoint.variable: point.rawValue])
        #expect(try doomed.wait() == 128 + 9, "\(doomed.log)")
        let isCommitted: Int64 = point == .changeAfterCommit ? 1 : 0
        #expect(try count("action WHERE actor = 'carl'") == isCommitted)
        #expect(try count("audit WHERE outcome = 'done'") == isCommitted)
        #expect(try count("job WHERE state = 'done'") == isCommitted)
        let worker = try site.start("worker")
        defer { worker.kill(SIGTERM) }
        try eventually("the change is done") { try ChangeTable.find(id, on: owner)?.state == .done }
        #expect(try count("action WHERE actor = 'carl'") == 1)
        #expect(try count("audit WHERE outcome = 'done' AND actor = 'carl'") == 1)
        #expect(try site.run("customers", "show", "bob").text.contains("ticket 77"))
    }

    @Test(arguments: [FailPoint.changeBeforeCommit, .changeAfterCommit])
    func `an endpoint is added once, and a customer deleted once, wherever the worker is killed`(
        point: FailPoint
    ) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        try site.run("customers", "grant", "bob", "pro", "--duration", "weekly", "--create")
        let owner = try database.connect(role: "entitled_worker")
        _ = try ConsoleUserTable.add("carl", .operator, now: 1, on: owner)
        let console = try database.connect(role: "entitled_console")
        let (endpoint, key) = (EndpointTable.newID(), try AnswerKey())
        let wanted = JSON.object([
            "url": .string("https://consumer.invalid/"), ChangeVersions.answerKey: .string(Hex.encode(key.publicKey)),
        ])
        let kinds: [(ChangeKind, String, JSON)] = [
            (.endpointAdd, endpoint, wanted), (.customerDelete, "bob", .object(["policy": .string("erase")])),
        ]
        for (number, asked) in kinds.enumerated() {
            let request = ChangeTable.Request(
                asked.0, asked.1, parameters: asked.2, reason: "ticket 77",
                by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
                idempotencyKey: "k\(number)", fingerprint: [UInt8](repeating: 1, count: 32))
            guard case .asked(let id) = try ChangeTable.ask(request, on: console) else {
                throw TestFailure("not asked")
            }
            let doomed = try site.start("worker", environment: [FailPoint.variable: point.rawValue])
            #expect(try doomed.wait() == 128 + 9, "\(doomed.log)")
            let worker = try site.start("worker")
            try eventually("the change is over") { try ChangeTable.find(id, on: owner)?.state != .running }
            let change = try #require(try ChangeTable.find(id, on: owner))
            #expect(change.state == .done, "\(change.error ?? "")")
            worker.kill(SIGTERM)
            _ = try worker.wait()
        }
        #expect(try database.count("SELECT count(*) FROM entitled.endpoint") == 1)
        #expect(try database.count("SELECT count(*) FROM entitled.endpoint_secret") == 1)
        #expect(try database.count("SELECT count(*) FROM entitled.deletion") == 1)
        #expect(
            try database.count("SELECT count(*) FROM entitled.audit WHERE outcome = 'done' AND actor = 'carl'") == 2)
    }
}
