import Base
import Database
import StoreSimulator
import TestSupport
import Testing

@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ResendTests {
    @Test func `an event is sent as another one to one endpoint alone, and no record knows of it`() throws {
        let site = try Site(try TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let (consumer, bystander) = (try Consumer(), try Consumer())
        defer {
            consumer.stop()
            bystander.stop()
        }
        let (id, secret) = try site.addEndpoint(consumer)
        let other = try site.addEndpoint(bystander).id
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        var life = SubscriberLife(app: Site.app, seed: 1)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        _ = try (consumer.wait(1), bystander.wait(1))
        let deliveries = try site.run("deliveries", "list", "--endpoint", id, "--json").document?["deliveries"]
        let delivery = try #require(deliveries?.arrayValue?.first?["id"]?.stringValue)
        let before = try site.run("customers", "show", life.latest.originalID, "--json").document
        let sent = try site.run("deliveries", "resend", delivery, "--as-new-id", "--json").document
        let requests = try consumer.wait(2)
        #expect(requests[1].id == sent?["event_id"]?.stringValue)
        #expect(requests[1].id != requests[0].id)
        #expect(requests[1].event?["id"]?.stringValue == requests[1].id)
        let texts = requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(texts[1].replacing(requests[1].id, with: requests[0].id) == texts[0])
        let fault = WebhookSignatureCheck(secrets: [secret])?.fault(
            id: requests[1].id, time: requests[1].headers["webhook-timestamp"],
            standard: requests[1].headers["webhook-signature"],
            revenueCat: requests[1].headers["x-revenuecat-webhook-signature"], body: requests[1].body,
            now: SystemClock().now())
        #expect(fault == nil)
        let copy = try #require(sent?["id"]?.stringValue)
        let copied = try site.run("deliveries", "show", copy, "--json").document
        #expect(copied?["repeats_event"]?.stringValue == requests[0].id)
        try site.run("rebuild", "--dry-run")
        let after = try site.run("customers", "show", life.latest.originalID, "--json").document
        let steps = after?["timeline"]?.arrayValue?.compactMap { $0["events"]?.arrayValue?.count }
        #expect(steps == before?["timeline"]?.arrayValue?.compactMap { $0["events"]?.arrayValue?.count })
        let missing = try site.run(
            "replay", "webhooks", "--endpoint", other, "--since", "1h", "--missing", "--dry-run", "--json")
        #expect(missing.document?["matched"]?.intValue == 0)
        #expect(bystander.requests.count == 1)
        withExtendedLifetime(worker) {}
    }

    @Test func `what was held for an endpoint is dropped or delivered as one says`() throws {
        let site = try Site(try TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let consumer = try Consumer()
        defer { consumer.stop() }
        let id = try site.addEndpoint(consumer).id
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        func hold(_ seed: UInt64) throws {
            try site.run("endpoints", "disable", id)
            var life = SubscriberLife(app: Site.app, seed: seed)
            #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
            try eventually("it is held") {
                try site.run("deliveries", "list", "--state", "held", "--json").document?["deliveries"]?.arrayValue?
                    .count == 1
            }
        }
        try hold(1)
        let dropped = try site.run("endpoints", "enable", id, "--drop-held", "--json").document
        #expect(dropped?["state"]?.stringValue == "enabled")
        #expect(dropped?["held_dropped"]?.intValue == 1)
        let dead = try site.run("deliveries", "list", "--state", "dead", "--json").document?["deliveries"]?.arrayValue
        #expect(dead?.first?["reason"]?.stringValue == "dropped when the endpoint was enabled")
        let late = try site.run("endpoints", "enable", id, "--drop-held", status: 1)
        #expect(late.log.contains("is enabled already"))
        try hold(2)
        let delivered = try site.run("endpoints", "enable", id, "--deliver-held", "--json").document
        #expect(delivered?["held_delivered"]?.intValue == 1)
        #expect(try consumer.wait(1).count == 1)
        try hold(3)
        let told = try site.run("endpoints", "enable", id)
        #expect(told.text.contains("1 held delivery is sent now"))
        #expect(Set(try consumer.wait(2).map(\.id)).count == 2)
        try site.run("endpoints", "enable", id, "--drop-held", "--deliver-held", status: 2)
        withExtendedLifetime(worker) {}
    }
}
