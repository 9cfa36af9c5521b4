import Base
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Changing the key that encrypts secrets, with processes on two hosts.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct KeyChangeTests {
    private static let keys = (0..<3).map { Base64.encode([UInt8](repeating: UInt8($0 + 1), count: 32)) }

    private func settings(_ keys: [Int]) -> [String: JSON] {
        [
            "webhooks": .object([
                "allow_private_networks": .strings(["127.0.0.0/8"]),
                "secret_keys": .strings(keys.map { Self.keys[$0] }),
            ])
        ]
    }

    @Test func `step by step nothing is ever sealed that a worker cannot open`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let here = try Site(database, settings([0]))
        // The same store.
        let trust = JSON.object(["root_sha256": .array([]), "root_files": .strings(["\(here.folder)/root.pem"])])
        let there = try Site(database, settings([0]))
        func configureThere(_ keys: [Int]) throws {
            try there.configure(settings(keys).merging(["trust": trust]) { _, new in new })
        }
        try configureThere([0])
        _ = try here.addEndpoint(consumer)
        let ingest = try here.start("ingest")
        let former = try there.start("worker")
        var life = SubscriberLife(app: Site.app, seed: 3)
        let address = try ingest.address("ingest")
        #expect(try here.post(life.start(at: Site.start), to: address) == 200)
        _ = try consumer.wait(1)

        // One host has the new key, the other's worker does not.
        try here.configure(settings([1, 0]))
        _ = try here.addEndpoint(consumer)
        let refused = try here.run("secrets", "rewrap", status: 1)
        #expect(refused.logLines.count == 1 && refused.log.contains("lack the key"))
        former.kill(15)
        #expect(try former.wait() == 0)

        try configureThere([1, 0])
        let worker = try there.start("worker")
        _ = try worker.address("admin")
        try eventually("its keys are known") {
            try database.count("SELECT count(*) FROM entitled.worker WHERE cardinality(sealing_keys) = 2") == 1
        }
        let done = try here.run("secrets", "rewrap", "--json")
        #expect(done.document?["sealed"] == .int(2) && done.document?["changed"] == .int(2))
        #expect(try here.run("secrets", "rewrap").text.contains("older keys may be removed"))
        // The worker sends on, with both endpoints' secrets.
        #expect(try here.post(life.renew(at: Site.start + 30 * StoreProduct.day), to: address) == 200)
        _ = try consumer.wait(3)

        // The old key alone is no use any more, and says so; the worker that has the new one sends on.
        try configureThere([0])
        let late = try there.start("worker")
        try eventually("the key is missed") { late.log.contains("sealing key missing") }
        #expect(try here.post(life.renew(at: Site.start + 60 * StoreProduct.day), to: address) == 200)
        _ = try consumer.wait(5)
        #expect(!late.hasEnded)
        try here.configure(settings([1]))
        _ = try here.addEndpoint(consumer)
        let lost = try there.run("endpoints", "add", consumer.url(), status: 1)
        #expect(lost.logLines.count == 1)
    }

    @Test func `what no key opens is named, and it ends with 1`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let site = try Site(database, settings([0]))
        let (good, bad) = (try site.addEndpoint(consumer).id, try site.addEndpoint(consumer).id)
        try database.execute(
            "UPDATE entitled.endpoint_secret SET sealed = '\\x00' WHERE endpoint = $1", [.text(bad)])
        try site.configure(settings([1, 0]))
        let program = try site.run("secrets", "rewrap", "--json", status: 1)
        #expect(program.logLines.count == 1)
        #expect(program.log.contains("\(bad) (secret)") && !program.log.contains(good))
        #expect(program.document?["sealed"] == .int(1))
    }
}
