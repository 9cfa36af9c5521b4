import AppStore
import Base
import Crypto
import FoundationEssentials
import StoreSimulator
import TestSupport
import Testing

@testable import AppStoreAPI
@testable import Daemon
@testable import EntitledApp

/// All that ask Apple in one process share one client, and with it one pace, for each app.
struct AppleAccessesTests {
    @Test func `whoever asks gets the same client, which is open until the last is done`() throws {
        let store = try StoreService(
            StoreSettings(), StorePKI.generate(now: SystemClock().now()),
            token: .generate(bundleID: StoreApp().bundleID),
            notifications: [])
        try store.start()
        defer { store.stop() }
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        try store.token.key.pem().write(toFile: "\(folder)/key.p8", atomically: true, encoding: .utf8)
        let app = StoreApp()
        var bench = ConfigurationFixture()
        bench.file("\(folder)/key.p8", try store.token.key.pem())
        let configuration = try bench.parse(
            """
            { apps: [ { id: "demo", bundle_id: "\(app.bundleID)", environments: ["Sandbox"],
                server_api: { issuer_id: "\(store.token.issuerID)", key_id: "\(store.token.keyID)",
                    private_key_file: "\(folder)/key.p8", base_url: "\(store.baseURL)" } } ] }
            """)
        let all = AppleAccesses(
            configuration, verifier: SignedDataVerifier(trust: try configuration.trustAnchors()), logger: .silent,
            metrics: Metrics())
        let (worker, api) = (all.use(), all.use())
        let client = try #require(worker.accesses["demo"]?.client)
        #expect(api.accesses["demo"]?.client === client)
        func ask(_ client: ServerAPIClient) -> ServerAPIErrorCode? {
            do throws(ServerAPIError) {
                _ = try client.transaction("2000000000000001", in: .only(.sandbox), CallOptions(within: .seconds(5)))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(ask(client) == .transactionIDNotFound)
        worker.end.drain(until: .now + .seconds(1))
        #expect(ask(client) == .transactionIDNotFound)
        api.end.drain(until: .now + .seconds(1))
        // Its transport is closed: there is no answer any more.
        #expect(ask(client) == nil)
        let later = all.use()
        #expect(later.accesses["demo"]?.client !== client)
        later.end.drain(until: .now + .seconds(1))
    }
}
