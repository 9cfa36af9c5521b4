import Base
import Daemon
import FoundationEssentials
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// An installation that lost the key which seals the secrets of its endpoints, with real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct LostKeyTests {
    private static func keyFile(_ site: Site) -> String { "\(site.folder)/state/webhook-secrets.key" }

    private func loseKey(_ site: Site) throws { try FileManager.default.removeItem(atPath: Self.keyFile(site)) }

    private func waiting(_ database: TestDatabase) throws -> Int64 {
        try database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0 AND attempts = 0")
    }

    private func unreadable(_ site: Site, _ id: String) throws -> JSON? {
        try site.run("endpoints", "show", id, "--json").document?["unreadable"]
    }

    private func expectSigned(_ request: Consumer.Request, with secret: String) throws {
        let fault = try #require(WebhookSignatureCheck(secrets: [secret])).fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
    }

    @Test func `a worker without the key applies everything, and sends once the key is there again`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let site = try Site(database)
        let (id, secret) = try site.addEndpoint(consumer)
        let key = try String(contentsOfFile: Self.keyFile(site), encoding: .utf8)
        try loseKey(site)
        let ingest = try site.start("ingest")
        let worker = try site.start("worker")
        var life = SubscriberLife(app: Site.app, seed: 3)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        try eventually("the event waits; the worker said: \(worker.log.suffix(2000))") { try waiting(database) == 1 }
        try eventually("the gauge counts it") {
            site.get("/metrics", from: try worker.address("admin")).text.contains("entitled_endpoints_unreadable 1\n")
        }
        #expect(worker.log.contains("sealing key missing") && worker.log.contains("endpoint secrets not unsealed"))
        #expect(try unreadable(site, id) == .strings(["secret"]))
        #expect(try site.run("endpoints", "list").log.contains("entitled secrets reset"))
        for command in [
            ["secrets", "rewrap"], ["endpoints", "rotate-secret", id], ["endpoints", "add", consumer.url()],
        ] {
            let refused = try Program(
                command + ["--config", "\(site.folder)/entitled.json5"], folder: site.folder)
            #expect(try refused.wait() == 1)
            #expect(refused.logLines.count == 1 && refused.log.contains("entitled secrets reset"))
        }
        let doctor = try site.run("doctor", "--json", status: 1)
        #expect(doctor.text.contains("webhooks cannot be signed here for \(id)"))
        #expect(!FileManager.default.fileExists(atPath: Self.keyFile(site)))
        #expect(try waiting(database) == 1 && !worker.hasEnded && consumer.requests.isEmpty)

        try key.write(toFile: Self.keyFile(site), atomically: true, encoding: .utf8)
        let request = try #require(try consumer.wait(1).first)
        try expectSigned(request, with: secret)
        #expect(request.attempt == "1")
        #expect(try unreadable(site, id) == .strings([]))
    }

    @Test func `new secrets are made for a lost key, and nothing is sent without what else it sealed`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (consumer, guarded) = (try Consumer(), try Consumer())
        defer { consumer.stop(); guarded.stop() }
        let site = try Site(database)
        let plain = try site.addEndpoint(consumer)
        let added = try site.run(
            "endpoints", "add", guarded.url(), "--authorization", "Bearer x", "--header", "X-Tenant: y", "--asymmetric",
            "--json")
        let id = try #require(added.document?["id"]?.stringValue)
        try loseKey(site)
        let ingest = try site.start("ingest")
        let worker = try site.start("worker")
        var life = SubscriberLife(app: Site.app, seed: 4)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        try eventually("both wait") { try waiting(database) == 2 }

        let reset = try #require(try site.run("secrets", "reset", "--json").document?["endpoints"]?.arrayValue)
        let made = Dictionary(uniqueKeysWithValues: reset.map { ($0["id"]?.stringValue ?? "", $0) })
        #expect(made.count == 2)
        let secret = try #require(made[plain.id]?["secret"]?.stringValue)
        #expect(secret != plain.secret)
        try expectSigned(try #require(try consumer.wait(1).first), with: secret)
        #expect(made[id]?["unreadable"] == .strings(["private_key", "authorization", "headers"]))
        #expect(try unreadable(site, id) == .strings(["private_key", "authorization", "headers"]))
        #expect(try site.run("doctor", "--json", status: 1).text.contains("entitled endpoints update \(id)"))
        try site.run("endpoints", "update", id, "--authorization", "Bearer new")
        try site.run("endpoints", "update", id, "--no-header", "X-Tenant")
        #expect(try waiting(database) == 1 && guarded.requests.isEmpty)
        try site.run("endpoints", "update", id, "--asymmetric")
        let request = try #require(try guarded.wait(1).first)
        try expectSigned(request, with: try #require(made[id]?["secret"]?.stringValue))
        #expect(request.headers["authorization"] == "Bearer new" && request.headers["x-tenant"] == nil)
        #expect(!worker.hasEnded)
        // Everything that seals works again.
        try site.run("secrets", "rewrap")
        try site.run("endpoints", "rotate-secret", id)
        _ = try site.addEndpoint(consumer)
    }

    @Test func `a reset that is killed changes nothing`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let site = try Site(database)
        let ids = try [site.addEndpoint(consumer).id, site.addEndpoint(consumer).id]
        try loseKey(site)
        func state() throws -> [Int64] {
            try [
                "SELECT count(*) FROM entitled.sealing_key",
                "SELECT sum(hashtext(sealed::text))::int8 FROM entitled.endpoint_secret",
            ].map { try database.count($0) }
        }
        let before = try state()
        let holder = try database.connect()
        try holder.transaction {
            _ = try holder.query("SELECT 1 FROM entitled.endpoint WHERE id = $1 FOR UPDATE", [.text(ids[1])])
            let reset = try site.start("secrets", "reset", "--yes")
            try database.untilBlocked()
            reset.kill()
            try reset.wait()
        }
        try eventually("its backend has ended") {
            try database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
                == 0
        }
        #expect(try state() == before)
        let done = try site.run("secrets", "reset", "--json").document
        #expect(done?["endpoints"]?.arrayValue?.count == 2)
        #expect(try ids.allSatisfy { try unreadable(site, $0) == .strings([]) })
    }

    @Test func `the host that has the key sends everything, and the other one takes over without it`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let here = try Site(database)
        let there = try Site(database)
        _ = try here.addEndpoint(consumer)
        // The same store.
        try there.configure([
            "trust": .object(["root_sha256": .array([]), "root_files": .strings(["\(here.folder)/root.pem"])])
        ])
        let ingest = try here.start("ingest")
        let address = try ingest.address("ingest")
        let wrong = try there.start("worker")
        try eventually("the wrong one owns lanes") { wrong.log.contains("lanes gained") }
        let right = try here.start("worker")
        for seed in UInt64(1)...12 {
            var life = SubscriberLife(app: Site.app, seed: seed)
            #expect(try here.post(life.start(at: Site.start), to: address) == 200)
        }
        _ = try consumer.wait(12)
        func attempts() throws -> Int64 { try database.count("SELECT count(*) FROM entitled.attempt") }
        // What is not recorded when the process dies is sent again.
        try eventually("all are recorded") { try attempts() == 12 }
        let refused = try there.run("secrets", "reset", status: 1)
        #expect(refused.logLines.count == 1 && refused.log.contains("is not lost"))
        right.kill()
        try right.wait()
        var life = SubscriberLife(app: Site.app, seed: 20)
        #expect(try here.post(life.start(at: Site.start), to: address) == 200)
        try eventually("it is applied, and waits") { try waiting(database) == 1 }
        _ = try here.start("worker").address("admin")
        let second = try here.start("worker")
        _ = try consumer.wait(13)
        #expect(!wrong.hasEnded && !second.hasEnded)
        try eventually("the last one is recorded, and none was tried in vain") { try attempts() == 13 }
    }

    @Test func `secrets that work are replaced only when that is confirmed`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let site = try Site(database)
        let (one, two) = (try site.addEndpoint(consumer), try site.addEndpoint(consumer))
        let refused = try site.run("secrets", "reset", status: 2)
        #expect(refused.log.contains("--yes"))
        let single = try site.run("secrets", "reset", "--endpoint", one.id, "--yes", "--json").document
        #expect(single?["endpoints"]?.arrayValue?.map { $0["id"]?.stringValue } == [one.id])
        #expect(single?["endpoints"]?.arrayValue?.first?["secret"]?.stringValue != one.secret)
        #expect(try site.run("secrets", "reset", "--yes", "--json").document?["endpoints"]?.arrayValue?.count == 2)
        #expect(try site.run("secrets", "reset", "--endpoint", "we_0", status: 1).log.contains("there is no endpoint"))
        // One of them, where the key is lost; the other stays as it is.
        try loseKey(site)
        try site.run("secrets", "reset", "--endpoint", one.id, "--json")
        #expect(try unreadable(site, one.id) == .strings([]))
        #expect(try unreadable(site, two.id) == .strings(["secret"]))
    }
}
