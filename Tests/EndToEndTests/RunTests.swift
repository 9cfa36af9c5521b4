import Base
import Daemon
import FoundationEssentials
import Glibc
import Postgres
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

    /// Posts one notification after the other until it is told to end, and one that was not stored again, as Apple does.
    private func post(
        _ number: UInt64, _ site: Site, to address: String, _ stored: Monitor<Set<String>>, until isOver: Monitor<Bool>
    ) -> TestThread<Int> {
        TestThread {
            var life = SubscriberLife(app: Site.app, seed: 4, number: number)
            var (time, refusals) = (Site.start, 0)
            var next = life.start(at: time)
            while !isOver.read({ $0 }) {
                if try site.post(next, to: address) == 200 {
                    let uuid = next.uuid
                    stored.change { _ = $0.insert(uuid.lowercased()) }
                    time += 60_000
                    next = life.renew(at: time)
                } else {
                    refusals += 1
                }
                _ = isOver.wait(timeout: .milliseconds(100)) { $0 ? true : nil }
            }
            return refusals
        }
    }

    @Test func `its cluster is killed under load, and it goes on by itself with all that was answered`() throws {
        let site = try Site(nil)
        defer { end(site) }
        let run = try site.startWithItsOwnDatabase()
        let address = try run.address("ingest")
        let (stored, isOver) = (Monitor<Set<String>>([]), Monitor(false))
        let posting = (0..<4).map { post($0, site, to: address, stored, until: isOver) }
        defer { isOver.change { $0 = true } }
        try eventually("some are stored") { stored.read { $0.count } > 20 }
        let killed = try #require(postgres(site))
        kill(killed, SIGKILL)
        let since = ContinuousClock.now
        try eventually("another server runs; it said: \(run.log.suffix(2000))") {
            postgres(site).map { $0 != killed } ?? false
        }
        let before = stored.read { $0.count }
        try eventually("more are stored; it said: \(run.log.suffix(2000))") { stored.read { $0.count } > before + 20 }
        #expect(ContinuousClock.now - since < .seconds(20))
        isOver.change { $0 = true }
        for thread in posting { #expect(try thread.value() > 0) }

        let url = try #require(PrivateCluster.runningURL(stateDirectory: "\(site.folder)/state"))
        let connection = try PostgresConnection(PostgresTarget(url: url))
        let known = try connection.query("SELECT key::text FROM entitled.notification_key").map { try $0.text(0) }
        #expect(stored.read { $0 }.subtracting(known).isEmpty)
        try eventually("all are applied; it said: \(run.log.suffix(2000))") {
            try connection.query("SELECT count(*) FROM entitled.pending").one().int(0) == 0
        }
        #expect(try connection.query("SELECT count(*) FROM entitled.held_notification").one().int(0) == 0)
        #expect(run.log.contains("private database ended unexpectedly") && !run.hasEnded)
        try eventually("the server's own words are told") {
            run.logLines.contains {
                $0.contains("\"message\":\"private database message received\"")
                    && $0.contains("not properly shut down")
            }
        }
        let metrics = site.get("/metrics", from: try run.address("admin")).text
        #expect(metrics.contains("entitled_private_database_restarts_total 1\n"))
        run.kill(SIGTERM)
        #expect(try run.wait() == 0)
        #expect(postgres(site) == nil)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "skipped: no file system can be mounted here"))
    func `a cluster that ended on a full disk starts again when there is room`() throws {
        let disk = try SmallDisk(megabytes: 160)
        let tape = LogTape()
        let state = "\(disk.folder)/state"
        let cluster = try PrivateCluster(
            stateDirectory: state, settings: .throwAwayAsInProduction, logger: tape.logger)
        let watchdog = ClusterWatchdog(cluster, logger: tape.logger)
        try watchdog.start()
        defer { try? watchdog.stop(timeout: .seconds(20)) }
        try disk.fill()
        let file = try String(contentsOfFile: "\(state)/postgres/data/postmaster.pid", encoding: .utf8)
        kill(try #require(pid_t(file.prefix { $0.isNumber })), SIGKILL)
        try tape.wait(for: "the disk of \(state)/postgres is full")
        try disk.empty()
        try eventually(timeout: .seconds(40), "it runs again; it said: \(tape.text)") {
            (try? PostgresConnection(PostgresTarget(url: cluster.url()))) != nil
        }
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
