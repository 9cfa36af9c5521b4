import Base
import Daemon
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ProcessTests {
    private func site(_ changes: [String: JSON] = [:]) throws -> Site {
        let site = try Site(try TestCluster.shared.makeDatabase(), changes)
        try site.run("migrate")
        return site
    }

    @Test func `a notification goes through the processes and arrives signed`() throws {
        let site = try site()
        let consumer = try Consumer()
        defer { consumer.stop() }
        let (_, secret) = try site.addEndpoint(consumer)
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        var life = SubscriberLife(app: Site.app, seed: 1)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        let request = try #require(try consumer.wait(1).first)
        let signature = WebhookSignatureCheck(secrets: [secret])
        let fault = try #require(signature).fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
        #expect(request.headers["user-agent"] == "entitled/\(Version.current)")
        let shown = try site.run("customers", "show", life.latest.originalID, "--json").document
        #expect(shown?["customer"]?["original_app_user_id"]?.stringValue == life.account.token)
        let step = shown?["timeline"]?.arrayValue?.first
        #expect(step?["type"]?.stringValue == "SUBSCRIBED")
        #expect(step?["events"]?.arrayValue?.first?["id"]?.stringValue == request.id)
        #expect(shown?["entitlements"]?["pro"]?["active"]?.boolValue != nil)
        let page = try site.run("customers", "show", life.latest.originalID, "--all")
        #expect(page.text.contains("SUBSCRIBED INITIAL_BUY"))
        #expect(page.text.contains("→ INITIAL_PURCHASE: "))
        for program in [ingest, worker] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
    }

    @Test func `a worker that is killed while it sends loses nothing, and the id stays`() throws {
        let site = try site()
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        var life = SubscriberLife(app: Site.app, seed: 2)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        _ = try consumer.wait(1)
        worker.kill()
        #expect(try worker.wait() == 128 + SIGKILL)
        let heir = try site.start("worker")
        let requests = try consumer.wait(2, timeout: .seconds(15))
        #expect(requests[0].id == requests[1].id)
        #expect(requests[0].body == requests[1].body)
        try eventually("it is delivered") {
            try site.run("deliveries", "list", "--state", "delivered", "--json").document?["deliveries"]?
                .arrayValue?.count == 1
        }
        withExtendedLifetime(heir) {}
    }

    @Test func `a worker that stands still for longer than its lease writes nothing when it comes back`() throws {
        let site = try site()
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        var life = SubscriberLife(app: Site.app, seed: 6)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        _ = try consumer.wait(1)
        worker.kill(SIGSTOP)
        let heir = try site.start("worker")
        let requests = try consumer.wait(2, timeout: .seconds(15))
        #expect(requests[0].id == requests[1].id)
        let database = try #require(site.database)
        let delivered = "SELECT count(*) FROM entitled.delivery WHERE state = 1 AND attempts = 1"
        try eventually("it is delivered") { try database.count(delivered) == 1 }
        consumer.release(500)
        worker.kill(SIGCONT)
        try eventually("it finds its lanes lost") { worker.log.contains("lanes lost") }
        for program in [worker, heir] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
        #expect(try database.count(delivered) == 1)
        #expect(try database.count("SELECT count(*) FROM entitled.attempt") == 1)
    }

    @Test func `a worker drops the days that were kept long enough, as configured, and tells of the others`() throws {
        let site = try site(["retention": .object(["notifications": .string("200d")])])
        let database = try #require(site.database)
        for days in [199, 201] {
            try database.execute("SELECT entitled.make_day('notification', current_date - \(days))")
        }
        let worker = try site.start("worker")
        try eventually("a day is dropped") { worker.log.contains("day partition dropped") }
        let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'entitled.notification'::regclass"
        #expect(try database.count(days) == 10)
        let metrics = site.get("/metrics", from: try worker.address("admin"))
        #expect(metrics.text.contains(#"entitled_retention_days{table="notification"} 9"#))
        worker.kill(SIGTERM)
        #expect(try worker.wait() == 0)
    }

    @Test func `an endpoint process that ends in order answers what it took and refuses the rest`() throws {
        let site = try site()
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        let load = (UInt64(0)..<6).map { thread in
            TestThread {
                var statuses: [Int] = []
                var acknowledged: [String] = []
                for number in 0..<UInt64(5000) {
                    var life = SubscriberLife(app: Site.app, seed: 7, number: thread * 100_000 + number)
                    let notification = life.start(at: Site.start)
                    let status = try site.post(notification, to: address)
                    statuses.append(status)
                    if status == 200 { acknowledged.append(notification.uuid) }
                    if status == 0 { break }
                }
                return (statuses, acknowledged)
            }
        }
        let database = try #require(site.database)
        try eventually("the load runs") { try database.count("SELECT count(*) FROM entitled.notification") > 100 }
        ingest.kill(SIGTERM)
        #expect(try ingest.wait() == 0)
        let outcomes = try load.map { try $0.value() }
        #expect(Set(outcomes.flatMap(\.0)).isSubset(of: [200, 503, 0]))
        // Nothing that was stored went without an answer: an orderly end cuts nobody off.
        let stored = Set(try database.texts("SELECT uuid FROM entitled.notification"))
        #expect(Set(outcomes.flatMap(\.1)) == stored)
    }

    @Test func `an endpoint process that is killed under load has stored everything that it answered`() throws {
        let site = try site()
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        let isOver = Monitor(false)
        let load = (UInt64(0)..<6).map { thread in
            TestThread {
                var acknowledged: [String] = []
                var number = thread * 100_000
                while !isOver.read({ $0 }) {
                    var life = SubscriberLife(app: Site.app, seed: 3, number: number)
                    let notification = life.start(at: Site.start)
                    guard try site.post(notification, to: address) == 200 else { break }
                    acknowledged.append(notification.uuid)
                    number += 1
                }
                return acknowledged
            }
        }
        let database = try #require(site.database)
        let connection = try database.connect()
        try eventually("the load runs") {
            try connection.query("SELECT count(*) > 100 FROM entitled.notification").one().bool(0)
        }
        ingest.kill()
        try ingest.wait()
        isOver.change { $0 = true }
        let acknowledged = Set(try load.flatMap { try $0.value() })
        #expect(acknowledged.count > 90)
        // What a dead process had sent may still be on its way through Postgres; nothing of it was answered.
        let stored = Set(try database.texts("SELECT uuid FROM entitled.notification"))
        #expect(acknowledged.subtracting(stored).isEmpty)
        for table in ["notification", "notification_key"] {
            #expect(
                try database.count("SELECT count(*) FROM entitled.\(table)")
                    == database.count("SELECT count(*) FROM entitled.pending"))
        }
    }

    @Test func `workers killed one after another apply and send everything`() throws {
        let site = try site()
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        let count = 60
        let posting = TestThread {
            for number in 0..<UInt64(count) {
                var life = SubscriberLife(app: Site.app, seed: 4, number: number)
                guard try site.post(life.start(at: Site.start), to: address) == 200 else {
                    throw TestFailure("not taken")
                }
            }
        }
        for round in 1...2 {
            let worker = try site.start("worker")
            _ = try consumer.wait(round * 10)
            worker.kill()
            try worker.wait()
        }
        let last = try site.start("worker")
        try posting.value()
        try eventually(timeout: .seconds(30), "every event arrives") {
            Set(consumer.requests.map(\.id)).count == count
        }
        let bodies = Dictionary(grouping: consumer.requests, by: \.id).mapValues { Set($0.map(\.body)).count }
        #expect(bodies.values.allSatisfy { $0 == 1 })
        last.kill(SIGTERM)
        #expect(try last.wait() == 0)
    }

    @Test func `log lines are JSON without payloads and secrets`() throws {
        let site = try site()
        let consumer = try Consumer { _, before in .status(before == 0 ? 500 : 200) }
        defer { consumer.stop() }
        let (_, secret) = try site.addEndpoint(consumer)
        try site.configure(["log": .object(["level": .string("debug")])])
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        let address = try ingest.address("ingest")
        var life = SubscriberLife(app: Site.app, seed: 5)
        #expect(try site.post(life.start(at: Site.start), to: address) == 200)
        var other = SubscriberLife(app: StoreApp(bundleID: "com.example.other"), seed: 5)
        #expect(try site.post(other.start(at: Site.start), to: address) == 403)
        _ = try consumer.wait(1)
        for program in [ingest, worker] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
            #expect(program.logLines.count >= 3)
            for line in program.logLines {
                let json = try JSON(parsing: Array(line.utf8))
                #expect(json["ts"]?.stringValue != nil && json["level"]?.stringValue != nil)
                #expect(json["message"]?.stringValue != nil)
            }
            let token = try #require(life.account.token)
            for secret in ["signedTransactionInfo", "eyJ", secret, token, life.latest.originalID, "expiresDate"] {
                #expect(!program.log.contains(secret), "\(secret)")
            }
        }
    }

    @Test(arguments: ["ingest", "api"])
    func `readiness follows the database and health does not`(role: String) throws {
        let cluster = try TestCluster()
        let site = try Site(try cluster.makeDatabase())
        try site.run("migrate")
        let ingest = try site.start(role)
        let admin = try ingest.address("admin")
        try eventually("it is ready") { site.get("/readyz", from: admin).status == 200 }
        _ = site.get("/nothing", from: try ingest.address(role))
        let metrics = site.get("/metrics", from: admin).text
        #expect(metrics.contains("entitled_build_info"))
        #expect(metrics.contains("entitled_http_requests_total{role=\"\(role)\"} 1"))
        #expect(metrics.contains("entitled_http_connections{role=\"admin\"}"))
        #expect(metrics.contains("entitled_api_answers_total{route=\"none\",status=\"404\"} 1") == (role == "api"))
        try cluster.stop()
        try eventually("it is not ready") { site.get("/readyz", from: admin).status == 503 }
        #expect(site.get("/healthz", from: admin).status == 200)
        try cluster.start()
        try eventually("it is ready again") { site.get("/readyz", from: admin).status == 200 }
    }
}
