import Base
import FoundationEssentials
import Glibc
import StoreSimulator
import TestSupport
import Testing

/// `entitled run` with the Postgres that it keeps itself.
///
/// Serialised: each test starts a Postgres of its own.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RunTests {
    /// The process id of the cluster in this site's state folder, if it lives.
    private func postgres(_ site: Site) -> pid_t? {
        let path = "\(site.folder)/state/postgres/data/postmaster.pid"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let process = pid_t(text.prefix { $0.isNumber }), kill(process, 0) == 0
        else { return nil }
        return process
    }

    /// Ends a cluster that a killed `run` left.
    private func end(_ site: Site) {
        if let process = postgres(site) { kill(process, SIGQUIT) }
    }

    @Test func `it starts a cluster, serves, and leaves none behind`() throws {
        let site = try Site(nil)
        defer { end(site) }
        let consumer = try Consumer()
        defer { consumer.stop() }
        let run = try site.startWithItsOwnDatabase()
        let address = try run.address("ingest")
        #expect(try run.address("admin").isEmpty == false)
        #expect(try run.address("api").isEmpty == false)
        #expect(postgres(site) != nil)
        #expect(run.log.contains("private database creation started"))
        _ = try site.addEndpoint(consumer)
        var life = SubscriberLife(app: Site.app, seed: 1)
        #expect(try site.post(life.start(at: Site.start), to: address) == 200)
        #expect(try consumer.wait(1).first?.type == "INITIAL_PURCHASE")
        run.kill(SIGTERM)
        #expect(try run.wait() == 0)
        #expect(postgres(site) == nil)
    }

    @Test func `killed, its cluster is gone on with, and what was answered is there`() throws {
        let site = try Site(nil)
        defer { end(site) }
        let first = try site.startWithItsOwnDatabase()
        var life = SubscriberLife(app: Site.app, seed: 2)
        let notification = life.start(at: Site.start)
        let body = try site.body(notification)
        #expect(try site.post(body, to: first.address("ingest")) == 200)
        first.kill()
        try first.wait()
        #expect(postgres(site) != nil)
        let second = try site.startWithItsOwnDatabase()
        let address = try second.address("ingest")
        // Answered again, because it is known.
        #expect(try site.post(notification, to: address) == 200)
        try eventually("it is applied once") {
            let list = try site.run("notifications", "list", "--json").document?["notifications"]?.arrayValue ?? []
            return list.count == 1 && list.first?["state"]?.stringValue == "applied"
        }
        let raw = try site.run("notifications", "show", notification.uuid, "--raw")
        #expect(NotificationSigner.body(Array(raw.text.utf8)) == body)
        let document = try site.run("notifications", "show", notification.uuid, "--raw", "--json").document
        #expect(document?["signedPayload"]?.stringValue == raw.text)
        #expect(document?.members?.count == 1)
        let page = try site.run("notifications", "show", notification.uuid).text
        #expect(page.hasPrefix("\(notification.uuid)\n") && page.contains("\nTRANSACTION\n") && !page.contains("eyJ"))
        try raw.text.write(toFile: "\(site.folder)/raw.jws", atomically: true, encoding: .utf8)
        let verified = try site.run("verify", "\(site.folder)/raw.jws", "--root", "\(site.folder)/root.pem", "--json")
        #expect(verified.document?["valid"]?.boolValue == true)
        // `run` names the configuration, whose root the store's is.
        #expect(try site.run("verify", "\(site.folder)/raw.jws", "--json").document?["valid"]?.boolValue == true)
        second.kill(SIGTERM)
        #expect(try second.wait() == 0)
        #expect(postgres(site) == nil)
    }

    @Test func `killed together with its cluster it recovers`() throws {
        let site = try Site(nil)
        defer { end(site) }
        let first = try site.startWithItsOwnDatabase()
        var life = SubscriberLife(app: Site.app, seed: 3)
        #expect(try site.post(life.start(at: Site.start), to: first.address("ingest")) == 200)
        first.kill()
        try first.wait()
        let process = try #require(postgres(site))
        kill(process, SIGKILL)
        try eventually("Postgres is gone") { kill(process, 0) != 0 }
        let second = try site.startWithItsOwnDatabase()
        _ = try second.address("ingest")
        try eventually("it is applied") {
            let list = try site.run("notifications", "list", "--json").document?["notifications"]?.arrayValue ?? []
            return list.count == 1 && list.first?["state"]?.stringValue == "applied"
        }
        second.kill(SIGTERM)
        #expect(try second.wait() == 0)
    }

    @Test func `a second one of the same state folder says so and ends`() throws {
        let site = try Site(nil)
        defer { end(site) }
        let first = try site.startWithItsOwnDatabase()
        _ = try first.address("ingest")
        let second = try site.startWithItsOwnDatabase()
        #expect(try second.wait() == 1)
        #expect(second.log.contains("another process"))
        first.kill(SIGTERM)
        #expect(try first.wait() == 0)
    }
}
