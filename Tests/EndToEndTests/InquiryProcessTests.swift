import Base
import Crypto
import Daemon
import Database
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// What operators ask of Apple, by workers' processes that are killed around their commits, and by the commands.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct InquiryProcessTests {
    private let site: Site
    private let database: TestDatabase
    private let apple: StoreService
    private let life: SubscriberLife

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        site = try Site(database)
        var life = SubscriberLife(app: Site.app, seed: 4_600, withToken: false)
        life.start(at: Site.start)
        for number in 1..<30 { life.renew(at: Site.start + Int64(number) * 3_600_000) }
        let token = TokenCheck(
            issuerID: UUID().uuidString, keyID: "KEY4600", key: try SigningKey.generate(.p256),
            bundleID: Site.app.bundleID)
        var settings = StoreSettings()
        settings.app = Site.app
        apple = StoreService(settings, site.pki, token: token, notifications: life.notifications)
        try apple.start()
        let key = "\(site.folder)/AuthKey-demo.p8"
        try token.key.pem().write(toFile: key, atomically: true, encoding: .utf8)
        chmod(key, 0o600)
        try site.configure([
            "reconcile": .object(["enabled": .bool(false)]),
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": .string(Site.app.bundleID),
                    "apple_app_id": .int(Site.app.appleAppID),
                    "server_api": .object([
                        "issuer_id": .string(token.issuerID), "key_id": .string(token.keyID),
                        "private_key_file": .string(key), "base_url": .string(apple.baseURL),
                    ]),
                ])
            ]),
        ])
        self.life = life
    }

    private var order: String {
        get throws {
            let id = try #require(UInt64(life.transaction(.latest).originalID))
            return "M" + String(id, radix: 36, uppercase: true)
        }
    }

    private func count(_ condition: String) throws -> Int64 {
        try database.count("SELECT count(*) FROM entitled.\(condition)")
    }

    @Test(arguments: [FailPoint.inquiryBeforeCommit, .inquiryAfterCommit])
    func `an inquiry is answered once, wherever its worker is killed`(point: FailPoint) throws {
        defer { apple.stop() }
        let owner = try database.connect(role: "entitled_worker")
        _ = try ConsoleUserTable.add("carl", .support, now: 1, on: owner)
        let console = try database.connect(role: "entitled_console")
        func ask(_ kind: ChangeKind, _ target: String, _ parameters: JSON, key: String) throws -> Int64 {
            let request = ChangeTable.Request(
                kind, target, parameters: parameters, reason: "ticket 77",
                by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
                idempotencyKey: key, fingerprint: [UInt8](repeating: 1, count: 32))
            guard case .asked(let id) = try ChangeTable.ask(request, on: console) else {
                throw TestFailure("not asked")
            }
            return id
        }
        func killed() throws {
            let doomed = try site.start("worker", environment: [FailPoint.variable: point.rawValue])
            #expect(try doomed.wait() == 128 + 9, "\(doomed.log)")
            // Its time is over.
            try database.execute("UPDATE entitled.job SET lease_until = now() WHERE state = 'running'")
        }
        func answered(_ job: Int64) throws -> Change {
            let worker = try site.start("worker")
            defer {
                worker.kill(SIGTERM)
                _ = try? worker.wait()
            }
            try eventually("it is answered, and applied") {
                try ChangeTable.find(job, on: owner)?.state != .running && count("pending") == 0
            }
            return try #require(try ChangeTable.find(job, on: owner))
        }
        let lookup = try ask(.orderLookup, try order, .object([JSON.Member]()), key: "1")
        try killed()
        let found = try answered(lookup)
        #expect(found.state == .done && found.outcome?.contains("The order is of 1 purchase.") == true, "\(found)")
        #expect(try count("purchase") == 1)
        let poll = try ask(
            .statusPoll, life.transaction(.latest).originalID,
            .object(["app": .string("demo"), "environment": .string("Production")]), key: "2")
        try killed()
        let polled = try answered(poll)
        #expect(polled.state == .done, "\(polled)")
        #expect(polled.outcome?.contains("29 signed transactions were new") == true, "\(polled.outcome ?? "")")
        #expect(try count("audit WHERE outcome = 'done' AND actor = 'carl'") == 2)
        try site.run("rebuild", "--dry-run")
    }

    @Test func `the commands ask on the host, and store what Apple signed`() throws {
        defer { apple.stop() }
        let hint = try site.run("search", try order, status: 1)
        #expect(hint.log.contains("entitled purchases lookup-order \(try order)"), "\(hint.log)")
        let found = try site.run("purchases", "lookup-order", try order)
        #expect(found.text.contains("The order is of 1 purchase. 1 signed transaction was new."), "\(found.text)")
        let worker = try site.start("worker")
        defer { worker.kill(SIGTERM) }
        try eventually("it is applied") { try count("purchase") == 1 }
        let polled = try site.run("purchases", "poll", life.transaction(.latest).originalID)
        #expect(polled.text.contains("29 signed transactions were new."), "\(polled.text)")
        try eventually("all is applied") { try count("pending") == 0 }
        let again = try site.run("purchases", "poll", life.transaction(.latest).originalID, "--json")
        #expect(
            again.text.contains(#""new_transactions":0"#) || again.text.contains(#""new_transactions": 0"#),
            "\(again.text)")
        let none = try site.run("purchases", "lookup-order", "MK5TTTVWJH")
        #expect(none.text.contains("Apple knows no such order of demo"), "\(none.text)")
        #expect(try site.run("purchases", "poll", "2000000999999999", status: 1).log.contains("no purchase"))
    }
}
