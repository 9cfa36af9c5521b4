import Base
import TestSupport
import Testing

/// What operators see of attempts, and what they must not see, with real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: the program is not built"))
struct AttemptTests {
    @Test func `what a consumer answers is shown with its attempt, and steers no terminal`() throws {
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        let server = try HostileServer()
        defer { server.stop() }
        let worker = try site.start("worker")
        for path in ["/script/secrets", "/script/escapes"] {
            let added = try site.run("endpoints", "add", server.url(path), "--json").document
            let endpoint = try #require(added?["id"]?.stringValue)
            try site.run("endpoints", "test", endpoint)
            var delivery: JSON?
            try eventually("it was tried; the worker said: \(worker.log.suffix(500))") {
                delivery = try site.run("deliveries", "list", "--endpoint", endpoint, "--json").document?["deliveries"]?
                    .arrayValue?.first
                return delivery?["attempts"]?.intValue == 1
            }
            let id = try #require(delivery?["id"]?.stringValue)
            let attempt = try site.run("deliveries", "show", id, "--json").document?["attempt_history"]?.arrayValue?
                .first
            #expect(attempt?["outcome"]?.stringValue == "status_5xx" && attempt?["status"]?.intValue == 500)
            #expect(attempt?["peer"]?.stringValue == "127.0.0.1" && attempt?["http_version"]?.stringValue == "1.1")
            #expect(attempt?["reused_connection"]?.boolValue == (path == "/script/escapes"))
            #expect(attempt?["truncated"]?.boolValue == false)
            #expect(attempt?["worker"]?.stringValue?.count == 32 && attempt?["host"]?.stringValue?.isEmpty == false)
            #expect(attempt?["timings"]?["first_byte"]?.intValue != nil && attempt?["timings"]?["dns"] == .null)
            #expect(attempt?["head"]?.stringValue?.hasPrefix("HTTP/1.1 500 Oops\n") == true)
            let text = try site.run("deliveries", "show", id).text
            #expect(text.contains("status_5xx") && text.contains("first byte ") && text.contains("127.0.0.1"))
            #expect(text.contains("oops") && !text.contains("hunter2"))
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
        }
    }

    @Test func `a proxy that is not there costs no attempt, and its password is nowhere`() throws {
        let site = try Site(
            TestCluster.shared.makeMigratedDatabase(),
            [
                "webhooks": .object([
                    "proxy": .string("http://robin:hunter2@127.0.0.1:1"), "keep_response_bodies": .bool(false),
                ])
            ])
        let database = try #require(site.database)
        // Nobody but the proxy would resolve this name.
        let added = try site.run("endpoints", "add", "https://consumer.invalid/hooks", "--json").document
        let endpoint = try #require(added?["id"]?.stringValue)
        try site.run("endpoints", "add", "https://10.0.0.1/hooks", status: 1)
        try site.run("endpoints", "test", endpoint)
        let worker = try site.start("worker")
        try eventually("it was tried; the worker said: \(worker.log.suffix(500))") {
            try database.texts("SELECT reason FROM entitled.delivery WHERE reason LIKE 'through the proxy: %'").count
                == 1
        }
        #expect(try database.count("SELECT attempts FROM entitled.delivery WHERE state = 0") == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.attempt") == 0)
        let metrics = site.get("/metrics", from: try worker.address("admin")).text
        let reasons = try database.texts("SELECT reason FROM entitled.delivery")
        for text in [worker.log, metrics, try site.run("check-config").text] + reasons {
            #expect(!text.contains("hunter2") && !text.contains("robin"))
        }
    }
}
