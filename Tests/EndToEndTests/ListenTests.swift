import Base
import Glibc
import StoreSimulator
import TestSupport
import Testing

@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ListenTests {
    private func lines(_ listener: Program) -> [JSON] {
        listener.text.split(separator: "\n").compactMap { try? JSON(parsing: Array($0.utf8)) }
    }

    private func untilListening(_ listener: Program) throws {
        try eventually("it listens: \(listener.log)") { !lines(listener).isEmpty }
    }

    @Test func `events are forwarded as deliveries are, without any endpoint, also after the database was away`() throws
    {
        let cluster = try TestCluster()
        let site = try Site(try cluster.makeDatabase())
        try site.run("migrate")
        let consumer = try Consumer { _, before in .status(before == 0 ? 500 : 200) }
        defer { consumer.stop() }
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        let listener = try site.start("listen", "--forward-to", consumer.url("/mine"), "--json")
        try untilListening(listener)
        let secret = try #require(lines(listener).first?["secret"]?.stringValue)
        var life = SubscriberLife(app: Site.app, seed: 1)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        let request = try #require(try consumer.wait(1).first)
        let fault = WebhookSignatureCheck(secrets: [secret])?.fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
        #expect(request.headers["entitled-sequence"] == "1")
        #expect(request.path == "/mine" && request.attempt == "1" && request.event?["id"]?.stringValue == request.id)
        try eventually("it is shown") { lines(listener).count == 2 }
        let shown = lines(listener)[1]
        #expect(shown["type"]?.stringValue == "INITIAL_PURCHASE")
        #expect(shown["event_id"]?.stringValue == request.id)
        #expect(shown["app_user_id"]?.stringValue == life.account.token)
        #expect(shown["product_id"]?.stringValue == request.event?["product_id"]?.stringValue)
        #expect(shown["status"]?.intValue == 500)
        try cluster.restart()
        try eventually("it is stored") {
            try site.post(life.renew(at: Site.start + 1), to: ingest.address("ingest")) == 200
        }
        _ = try consumer.wait(2)
        #expect(Set(consumer.requests.map(\.id)).count == consumer.requests.count, "an event came twice")
        #expect(try #require(site.database).count("SELECT count(*) FROM entitled.delivery") == 0)
        listener.kill(SIGINT)
        #expect(try listener.wait() == 0)
        withExtendedLifetime(worker) {}
    }

    @Test func `earlier events come first, and filters leave out the others`() throws {
        let scene = try ReplayFixture(events: 700)
        let consumer = try Consumer()
        defer { consumer.stop() }
        // A copy for one endpoint, and what operators are told.
        try #require(scene.site.database).execute(
            """
            WITH copied AS (
                INSERT INTO entitled.event (lane, id, type, app, environment, created_ms, body)
                SELECT lane, gen_random_uuid(), t.type, app, environment, created_ms, body
                FROM (SELECT * FROM entitled.event LIMIT 1) e, (VALUES ('RENEWAL'), ('endpoint.failing')) AS t(type)
                RETURNING lane, id, type, created_ms
            )
            INSERT INTO entitled.event_copy (lane, id, original, endpoint, created_ms)
            SELECT lane, id, id, 'we_some', created_ms FROM copied WHERE type = 'RENEWAL'
            """)
        let listener = try scene.site.start("listen", "--since", "1h", "--json")
        try eventually("all are shown") { lines(listener).count == 701 }
        #expect(Set(lines(listener).compactMap { $0["event_id"]?.stringValue }) == ReplayFixture.ids(700))
        let others = try scene.site.start("listen", "--since", "1h", "--event", "EXPIRATION", "--json")
        try untilListening(others)
        let text = try scene.site.start("listen", "--since", "1h")
        try eventually("people see them too") { text.text.split(separator: "\n").count == 701 }
        for program in [listener, others, text] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
        #expect(lines(others).count == 1)
        let refused = try scene.site.run("listen", "--event", "NOTHING", status: 2)
        #expect(refused.log.contains("there is no such event"))
    }

    @Test func `what operators are told is no webhook of consumers`() throws {
        let scene = try ReplayFixture(events: 1)
        try scene.database.execute(
            """
            INSERT INTO entitled.event (lane, id, type, app, environment, created_ms, body)
            SELECT lane, gen_random_uuid(), 'endpoint.failing', '', environment, created_ms - 1, body FROM entitled.event
            WHERE type = 'RENEWAL'
            """)
        let consumer = try Consumer()
        defer { consumer.stop() }
        let listener = try scene.site.start("listen", "--since", "1h", "--forward-to", consumer.url(), "--json")
        try eventually("the event is shown: \(listener.log)") {
            lines(listener).contains { $0["type"]?.stringValue == "RENEWAL" }
        }
        listener.kill(SIGTERM)
        #expect(try listener.wait() == 0)
        #expect(lines(listener).compactMap { $0["type"]?.stringValue } == ["RENEWAL"])
        #expect(consumer.requests.count == 1)
    }
}
