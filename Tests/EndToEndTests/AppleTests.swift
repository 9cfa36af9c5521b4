import Base
import Daemon
import FoundationEssentials
import HTTP
import StoreSimulator
import TestSupport
import Testing

/// Both sides as programs: `storesim serve` plays Apple, `entitled` asks it.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct AppleTests {
    private static var storesim: String { Program.path.replacing(/entitled$/, with: "storesim") }

    private func serve(_ folder: String, _ more: String...) throws -> (program: Program, document: JSON) {
        let store = try Program(
            running: [AppleTests.storesim, "serve", "--dir", "\(folder)/store", "--json", "--seed", "5"] + more,
            folder: folder)
        try eventually("the store listens") { store.document?["base_url"] != nil }
        return (store, try #require(store.document))
    }

    private func customers(_ url: String) throws -> [JSON] {
        let client = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) }, responseLimit: 1 << 20),
            logger: .silent, metrics: Metrics())
        client.start()
        defer { client.stop() }
        let request = OutgoingRequest(url: "\(url)/control/customers", method: "GET")
        guard case .response(let response) = client.sendAndWait(request) else { throw TestFailure("no answer") }
        return try JSON(parsing: response.body)["customers"]?.arrayValue ?? []
    }

    @Test func `what storesim writes is all that entitled needs to ask it`() throws {
        try TemporaryFolder.with { folder in
            let (store, document) = try serve(folder)
            let config = try #require(document["config"]?.stringValue)
            let url = try #require(document["base_url"]?.stringValue)
            let listed = try customers(url)
            #expect(listed.count == 10)
            let id = try #require(listed.first?["app_transaction_id"]?.stringValue)
            let asked = try Program(["apple", "transactions", id, "--json", "--config", config], folder: folder)
            #expect(try asked.wait() == 0, "\(asked.log)")
            let ids = asked.document?["transactions"]?.arrayValue?.compactMap { $0["transactionId"]?.stringValue } ?? []
            let wanted = listed.first?["transaction_ids"]?.arrayValue?.compactMap(\.stringValue) ?? []
            #expect(Set(ids) == Set(wanted) && !ids.isEmpty)
            let order = try #require(listed.first?["order_ids"]?.arrayValue?.first?.stringValue)
            let found = try Program(["apple", "order", order, "--config", config], folder: folder)
            #expect(try found.wait() == 0, "\(found.log)")
            withExtendedLifetime(store) {}
        }
    }

    @Test func `a test notification is followed from Apple to the database`() throws {
        let site = try Site(try TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let (first, document) = try serve(site.folder, "--subscribers", "1")
        first.kill()
        _ = try first.wait()
        func text(_ name: String) -> JSON { document[name] ?? .null }
        func apps(_ url: JSON) -> [String: JSON] {
            [
                "trust": .object(["root_sha256": .array([text("root_sha256")])]),
                "apps": .array([
                    .object([
                        "id": .string("demo"), "bundle_id": text("bundle_id"), "apple_app_id": text("apple_app_id"),
                        "environments": .strings(["Sandbox"]),
                        "server_api": .object([
                            "issuer_id": text("issuer_id"), "key_id": text("key_id"),
                            "private_key_file": text("private_key_file"), "base_url": url,
                        ]),
                    ])
                ]),
            ]
        }
        try site.configure(apps(text("base_url")))
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        // The same keys, and this time a URL.
        let (store, listening) = try serve(
            site.folder, "--subscribers", "1", "--to", "http://\(address)/apple/notifications")
        try site.configure(apps(listening["base_url"] ?? .null))
        let arrived = try site.run("apple", "test-notification", "--json").document
        #expect(arrived?["stored"]?.boolValue == true && arrived?["arrived"]?.boolValue == true)
        #expect(arrived?["attempts"]?.arrayValue?.first?["result"]?.stringValue == "SUCCESS")
        let uuid = try #require(arrived?["uuid"]?.stringValue)
        let shown = try site.run("notifications", "show", uuid, "--json").document
        #expect(shown?["type"]?.stringValue == "TEST")
        // Nobody takes it any more: it is said, with Apple's reason.
        ingest.kill()
        _ = try ingest.wait()
        let lost = try site.run("apple", "test-notification", status: 1)
        #expect(lost.text.contains("SOCKET_ISSUE"))
        #expect(lost.log.contains("check the URL in App Store Connect"))
        withExtendedLifetime(store) {}
    }
}
