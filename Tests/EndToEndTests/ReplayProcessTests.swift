import Base
import Daemon
import Database
import Glibc
import StoreSimulator
import TestSupport
import Testing

@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ReplayProcessTests {
    /// Each event once, under its id, and nothing counted twice.
    private func check(_ scene: ReplayFixture, _ consumer: Consumer, _ count: Int) throws {
        try scene.untilDelivered(Int64(count))
        #expect(consumer.requests.count == count)
        #expect(Set(consumer.requests.map(\.id)) == ReplayFixture.ids(count))
        #expect(consumer.requests.allSatisfy { $0.event?["id"]?.stringValue == $0.id })
        let job = try scene.job()
        #expect(job?["state"]?.stringValue == "done")
        #expect(job?["matched"]?.intValue == Int64(count))
        #expect(job?["queued"]?.intValue == Int64(count))
        #expect(try scene.database.count("SELECT count(*) FROM entitled.job") == 1)
    }

    @Test func `the same command line goes on with a replay whose command was killed`() throws {
        let scene = try ReplayFixture(events: 300)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let (endpoint, worker) = (try scene.addEndpoint(consumer), try scene.site.start("worker"))
        _ = try worker.address("admin")
        let words = ["replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--missing", "--rate", "100"]
        func start() throws -> Program {
            try Program(
                words + ["--json", "--config", "\(scene.site.folder)/entitled.json5"], folder: scene.site.folder)
        }
        let first = try start()
        _ = try consumer.wait(40)
        first.kill()
        _ = try first.wait()
        #expect(consumer.requests.count < 300)
        let second = try start()
        #expect(try second.wait() == 0)
        #expect(second.document?["queued"]?.intValue == 300)
        try check(scene, consumer, 300)
        withExtendedLifetime(worker) {}
    }

    @Test func `notifications as they came that were given up are sent again, and nothing else of them can be`() throws
    {
        let site = try Site(
            try TestCluster.shared.makeMigratedDatabase(),
            [
                "webhooks": .object([
                    "allow_private_networks": .strings(["127.0.0.0/8"]), "retry_schedule": .strings(["100ms"]),
                ])
            ])
        let consumer = try Consumer { _, before in .status(before < 2 ? 500 : 200) }
        defer { consumer.stop() }
        let endpoint = try #require(
            try site.run("endpoints", "add", consumer.url(), "--format", "raw", "--json").document?["id"]?.stringValue)
        let program = try site.start("run")
        let ingest = try program.address("ingest")
        var life = SubscriberLife(app: Site.app, seed: 91)
        #expect(try site.post(life.start(at: Site.start), to: ingest) == 200)
        func deliveries(_ state: String) throws -> [JSON] {
            try site.run("deliveries", "list", "--endpoint", endpoint, "--state", state, "--json")
                .document?["deliveries"]?.arrayValue ?? []
        }
        try eventually("it is given up") { try deliveries("dead").count == 1 }
        let words = ["replay", "webhooks", "--endpoint", endpoint, "--since", "1h"]
        let dead = try #require(try deliveries("dead").first?["id"]?.stringValue)
        #expect(try site.run("deliveries", "resend", dead, "--as-new-id", status: 1).log.contains("keep Apple's UUID"))
        for mode in ["--all", "--missing"] {
            #expect(
                try site.run("replay", "webhooks", "--endpoint", endpoint, "--since", "1h", mode, status: 2).log
                    .contains("only --failed"))
        }
        let again = try Program(words + ["--json", "--config", "\(site.folder)/entitled.json5"], folder: site.folder)
        #expect(try again.wait() == 0)
        #expect(again.document?["queued"]?.intValue == 1 && again.document?["skipped"]?.intValue == 0)
        try eventually("it arrives") { try deliveries("delivered").count == 1 }
        #expect(Set(consumer.requests.map(\.body)).count == 1 && consumer.requests.count == 3)
        withExtendedLifetime(program) {}
    }

    @Test func `a worker goes on with a replay whose command was killed, and reopens each delivery once`() throws {
        let scene = try ReplayFixture(events: 300)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let (endpoint, worker) = (try scene.addEndpoint(consumer), try scene.site.start("worker"))
        _ = try worker.address("admin")
        try scene.site.run("replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--missing")
        try check(scene, consumer, 300)
        let command = try scene.site.start(
            "replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--all", "--rate", "100")
        _ = try consumer.wait(340)
        command.kill()
        _ = try command.wait()
        #expect(try scene.database.count("SELECT count(*) FROM entitled.job WHERE state = 'running'") == 1)
        try scene.untilDone(2)
        #expect(try scene.job(2)?["queued"]?.intValue == 300)
        try scene.untilDelivered(300)
        let times = Dictionary(grouping: consumer.requests, by: \.id).mapValues(\.count)
        #expect(times.count == 300 && times.values.allSatisfy { $0 == 2 })
        #expect(Set(consumer.requests.map(\.attempt)) == ["1", "2"])
        withExtendedLifetime(worker) {}
    }

    @Test(arguments: [FailPoint.replayBeforeCommit, .replayAfterCommit])
    func `a command that dies around a commit leaves a step whole or not at all`(_ point: FailPoint) throws {
        let scene = try ReplayFixture(events: 300)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let (endpoint, worker) = (try scene.addEndpoint(consumer), try scene.site.start("worker"))
        _ = try worker.address("admin")
        let words = [
            "replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--all", "--config",
            "\(scene.site.folder)/entitled.json5",
        ]
        let doomed = try Program(
            words, folder: scene.site.folder, environment: [FailPoint.variable: "\(point.rawValue):2"])
        #expect(try doomed.wait() == 128 + SIGKILL)
        #expect(try Program(words, folder: scene.site.folder).wait() == 0)
        try check(scene, consumer, 300)
        withExtendedLifetime(worker) {}
    }

    @Test func `what happens now overtakes thousands that are replayed`() throws {
        let scene = try ReplayFixture(events: 2000)
        let isOpen = Monitor(false)
        let consumer = try Consumer { _, before in before == 0 || isOpen.read { $0 } ? .status(200) : .hold }
        defer { consumer.stop() }
        let endpoint = try scene.addEndpoint(consumer)
        let (ingest, worker) = (try scene.site.start("ingest"), try scene.site.start("worker"))
        // A consumer that never answered gets one request at a time.
        var first = SubscriberLife(app: Site.app, seed: 8)
        #expect(try scene.site.post(first.start(at: Site.start), to: ingest.address("ingest")) == 200)
        try scene.untilDelivered(1)
        let command = try scene.site.start(
            "replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--missing", "--json")
        let few: Int64 = 64
        try eventually("some are due") {
            try scene.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0") >= few
        }
        _ = try consumer.wait(9)
        var life = SubscriberLife(app: Site.app, seed: 7)
        #expect(try scene.site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        try eventually("it has happened") {
            try scene.database.count(
                "SELECT count(*) FROM entitled.delivery WHERE event_type = 'INITIAL_PURCHASE'") == 2
        }
        isOpen.change { $0 = true }
        consumer.release(200)
        #expect(try command.wait() == 0)
        try scene.untilDelivered(2002)
        let place = try #require(consumer.requests.dropFirst().firstIndex { $0.type == "INITIAL_PURCHASE" })
        #expect(place <= few + 1, "\(place - 1) of 2000 came before it")
        withExtendedLifetime((ingest, worker)) {}
    }

    @Test func `a replay is refused, cancelled and left to a worker with words that say what to do`() throws {
        let scene = try ReplayFixture(events: 200)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let (site, endpoint) = (scene.site, try scene.addEndpoint(consumer))
        let both = try site.run(
            "replay", "webhooks", "--endpoint", endpoint, "--since", "1h", "--all", "--missing", status: 2)
        #expect(both.logLines.count == 1)
        try site.run("replay", "webhooks", "--endpoint", endpoint, "--since", "tomorrow", status: 2)
        let none = try site.run("replay", "webhooks", "--endpoint", "we_none", "--since", "1h", status: 1)
        #expect(none.log.contains("there is no endpoint we_none"))
        try site.run("endpoints", "disable", endpoint)
        let disabled = try site.run("replay", "webhooks", "--endpoint", endpoint, "--since", "1h", status: 1)
        #expect(disabled.log.contains("enable it first"))
        try site.run("endpoints", "enable", endpoint)
        let left = try site.run("replay", "webhooks", "--endpoint", endpoint, "--since", "1h", "--missing")
        #expect(left.text.contains("no worker is running"))
        #expect(try scene.job()?["state"]?.stringValue == "running")
        #expect(try scene.job()?["queued"]?.intValue == 64)
        let cancelled = try site.run("replay", "cancel", "1", "--json")
        #expect(cancelled.document?["state"]?.stringValue == "cancelled")
        let again = try site.run("replay", "cancel", "1", status: 1)
        #expect(again.log.contains("has ended already: cancelled"))
        let list = try site.run("replay", "list", "--json").document?["replays"]?.arrayValue
        #expect(list?.map { $0["state"]?.stringValue } == ["cancelled"])
        let worker = try site.start("worker")
        try scene.untilDelivered(64)
        #expect(consumer.requests.count == 64)
        withExtendedLifetime(worker) {}
    }

    @Test func `an endpoint that is added gets what was before, from a worker`() throws {
        let scene = try ReplayFixture(events: 100)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let worker = try scene.site.start("worker")
        let added = try scene.site.run("endpoints", "add", consumer.url(), "--since", "1h", "--json").document
        #expect(added?["secret"]?.stringValue?.hasPrefix("whsec_") == true)
        let job = try #require(added?["job"]?.intValue)
        try scene.untilDone(job)
        try check(scene, consumer, 100)
        withExtendedLifetime(worker) {}
    }
}
