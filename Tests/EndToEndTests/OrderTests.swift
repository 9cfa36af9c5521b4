import Base
import Daemon
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Deliveries in order, by real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct OrderTests {
    private func states(_ database: TestDatabase) throws -> [String] {
        try database.texts("SELECT state::text FROM entitled.delivery ORDER BY sequence")
    }

    @Test func `who dies between an arrival and the next one's turn leaves both undone, and the heir does both`() throws
    {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let site = try Site(database)
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        defer { consumer.stop() }
        let endpoint = try site.addEndpoint(consumer, ordering: "purchase").id
        let ingest = try site.start("ingest")
        let victim = try site.start(
            "worker", environment: [FailPoint.variable: FailPoint.deliverAfterRelease.rawValue])
        let address = try ingest.address("ingest")
        var life = SubscriberLife(app: Site.app, seed: 70)
        let all = [
            life.start(at: Site.start), life.autoRenewOff(at: Site.start + StoreProduct.day),
            life.autoRenewOn(at: Site.start + 2 * StoreProduct.day),
        ]
        for notification in all { #expect(try site.post(notification, to: address) == 200) }
        try eventually("all are applied") { try states(database) == ["0", "4", "4"] }
        _ = try consumer.wait(1)
        try expectShown(site, endpoint)
        consumer.release(200)
        #expect(try victim.wait() == 128 + SIGKILL)
        #expect(try states(database) == ["0", "4", "4"])
        #expect(consumer.requests.count == 1)
        let heir = try site.start("worker")
        try eventually("all are delivered") { try states(database) == ["1", "1", "1"] }
        #expect(consumer.requests.map { $0.headers["entitled-sequence"] } == ["1", "1", "2", "3"])
        withExtendedLifetime(heir) {}
    }

    /// What operators see while two wait for the first.
    private func expectShown(_ site: Site, _ endpoint: String) throws {
        let shown = try site.run("endpoints", "show", endpoint, "--json").document
        #expect(shown?["ordering"]?.stringValue == "purchase")
        #expect(shown?["blocked"]?.intValue == 2)
        let listed = try site.run("endpoints", "list", "--json").document?["endpoints"]?.arrayValue
        #expect(listed?.first?["ordering"]?.stringValue == "purchase")
        #expect(try site.run("endpoints", "show", endpoint).text.contains("2 wait for an earlier event"))
        let pending = try site.run("deliveries", "list", "--state", "pending", "--json").document?["deliveries"]
        let documents = try (pending?.arrayValue ?? []).map { one in
            try #require(try site.run("deliveries", "show", one["id"]?.stringValue ?? "", "--json").document)
        }.sorted { ($0["sequence"]?.intValue ?? 0) < ($1["sequence"]?.intValue ?? 0) }
        #expect(documents.map { $0["sequence"]?.intValue } == [1, 2, 3])
        #expect(documents.map { $0["state"]?.stringValue } == ["pending", "pending", "pending"])
        let first = documents.first?["id"]?.stringValue
        #expect(documents.map { $0["blocked_by"]?.stringValue } == [nil, first, first])
        #expect(documents.map { $0["blocked_since"]?.stringValue == nil } == [true, false, false])
        #expect(documents.map { $0["next_attempt_at"]?.stringValue == nil } == [false, true, true])
        let last = try site.run("deliveries", "show", documents.last?["id"]?.stringValue ?? "").text
        #expect(last.contains("sequence     3") && last.contains("by \(first ?? "?")"))
    }
}
