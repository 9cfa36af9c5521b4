import Base
import Daemon
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Health of endpoints and what operators are told, with real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct EndpointHealthTests {
    private func webhooks(_ operators: Consumer) -> JSON {
        .object([
            "allow_private_networks": .strings(["127.0.0.0/8"]), "operations_url": .string(operators.url("/ops")),
            "retry_schedule": .strings([String](repeating: "200ms", count: 100)),
        ])
    }

    private func health(_ site: Site, _ id: String) throws -> JSON? {
        try site.run("endpoints", "show", id, "--json").document?["health"]
    }

    @Test func `the health of an endpoint is what all workers saw, also those that were killed`() throws {
        let isWell = Monitor(false)
        let consumer = try Consumer { _, _ in .status(isWell.read { $0 } ? 200 : 503) }
        let operators = try Consumer()
        defer { consumer.stop(); operators.stop() }
        let site = try Site(try TestCluster.shared.makeDatabase(), ["webhooks": webhooks(operators)])
        try site.run("migrate")
        let id = try site.addEndpoint(consumer).id
        #expect(try health(site, id)?["state"]?.stringValue == "new")
        let ingest = try site.start("ingest")
        let workers = try (0..<2).map { _ in try site.start("worker") }
        for seed in UInt64(1)...12 {
            var life = SubscriberLife(app: Site.app, seed: seed)
            #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        }
        try eventually("failures are counted") { try health(site, id)?["failures"]?.intValue ?? 0 >= 20 }
        workers[0].kill()
        #expect(try workers[0].wait() == 128 + SIGKILL)
        let before = try health(site, id)
        let failures = before?["failures"]?.intValue ?? 0
        try eventually("the other one goes on counting") {
            try health(site, id)?["failures"]?.intValue ?? 0 >= failures + 20
        }
        let after = try health(site, id)
        #expect(after?["state"]?.stringValue == "failing" && after?["last_failure"]?.stringValue == "status_503")
        #expect(after?["failing_since"] == before?["failing_since"])
        #expect(after?["disables_at"]?.stringValue != nil)
        let page = try site.run("endpoints", "show", id).text
        #expect(page.contains("failing since ") && page.contains("will be disabled at "))
        #expect(try site.run("endpoints", "list").text.contains(" failing "))
        isWell.change { $0 = true }
        try eventually("everything is delivered") {
            try site.run("deliveries", "list", "--state", "delivered", "--json").document?["deliveries"]?
                .arrayValue?.count == 12
        }
        try eventually("it is well") { try health(site, id)?["state"]?.stringValue == "ok" }
        #expect(try health(site, id)?["failures"]?.intValue == 0)
        #expect(operators.requests.isEmpty)
    }

    @Test func `operators get a signed event, and the endpoint of operations follows the configuration`() throws {
        let operators = try Consumer()
        defer { operators.stop() }
        let site = try Site(try TestCluster.shared.makeDatabase(), ["webhooks": webhooks(operators)])
        try site.run("migrate")
        let worker = try site.start("worker")
        try eventually("it is there") { try site.run("endpoints", "list").text.contains("operations events") }
        let rotated = try site.run("endpoints", "rotate-secret", "we_operations", "--json").document
        let secret = try #require(rotated?["secret"]?.stringValue)
        try site.run("endpoints", "test", "we_operations")
        let request = try #require(try operators.wait(1).first)
        let body = try JSON(parsing: request.body)
        #expect(request.path == "/ops" && body["type"]?.stringValue == "operations.test" && body["data"] != nil)
        let fault = try #require(WebhookSignatureCheck(secrets: [secret])).fault(
            id: request.id, time: request.headers["webhook-timestamp"],
            standard: request.headers["webhook-signature"],
            revenueCat: request.headers["x-revenuecat-webhook-signature"], body: request.body,
            now: SystemClock().now())
        #expect(fault == nil)
        #expect(try site.run("endpoints", "remove", "we_operations", status: 1).log.contains("operations_url"))
        func update(_ option: String, _ value: String) throws -> String {
            try site.run("endpoints", "update", "we_operations", option, value, status: 1).log
        }
        #expect(try update("--url", operators.url("/other")).contains("set webhooks.operations_url"))
        #expect(try update("--event", "RENEWAL").contains("no filter or order applies"))
        #expect(try update("--ordering", "purchase").contains("no filter or order applies"))
        func replay(_ option: String, _ event: String, status: Int32) throws -> Program {
            try site.run(
                "replay", "webhooks", "--endpoint", "we_operations", "--since", "1h", "--dry-run", "--json", option,
                "--event", event, status: status)
        }
        #expect(try replay("--all", "delivery.dead", status: 2).log.contains("only --failed"))
        #expect(try replay("--failed", "RENEWAL", status: 2).log.contains("endpoint.failing"))
        #expect(try replay("--failed", "delivery.dead", status: 0).document?["matched"]?.intValue == 0)
        let listen = try site.run("listen", "--endpoint", "we_operations", status: 2)
        #expect(listen.log.contains("it receives operations events"))
        let shown = try site.run("endpoints", "show", "we_operations", "--json").document
        #expect(shown?["is_operations"]?.boolValue == true && shown?["state"]?.stringValue == "enabled")
        worker.kill(SIGTERM)
        #expect(try worker.wait() == 0)
        try site.configure([:])
        let second = try site.start("worker")
        try eventually("it is gone") {
            try site.run("endpoints", "list", "--json").document?["endpoints"]?.arrayValue?.isEmpty == true
        }
        withExtendedLifetime(second) {}
    }
}
