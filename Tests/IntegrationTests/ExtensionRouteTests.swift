import API
import AppStore
import AppStoreAPI
import Base
import Daemon
import Duties
import HTTP
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Extending by REST: our listener, a store that extends, and a worker between them.
@Suite struct ExtensionRouteTests {
    private static let key = "sk_a_secret_key_for_tests"

    private final class Scene {
        let installation: Installation
        let worker: RunningWorker
        let apple: PlayedHistory
        var life: SubscriberLife
        private let role: APIRole
        private let server: HTTPServer

        init(faults: [StoreFault] = [], hasKey: Bool = true) throws {
            installation = try Installation()
            life = SubscriberLife(app: Installation.app, seed: 80, number: 1)
            life.account.token = "aaaaaaaa-0000-4000-8000-000000000080"
            life.start(at: Installation.start)
            apple = try PlayedHistory(installation, life.notifications, faults: faults)
            worker = try RunningWorker(installation)
            let target = installation.database.target(role: "entitled_api")
            let process = ProcessContext(clock: SystemClock(), logger: .silent, metrics: Metrics()) { prepare in
                PostgresSession(target, prepare: prepare)
            }
            let settings = APISettings(
                apps: AppRegistry([Installation.registered]), appIDs: [Installation.registered.id],
                foldSettings: FoldSettings(defaultGrace: .seconds(1)), catalogue: installation.catalogue,
                secretKeys: [Redacted(ExtensionRouteTests.key)])
            role = try APIRole(
                settings, process, verifier: installation.verifier, apple: hasKey ? ["demo": apple.reader.client] : [:])
            server = HTTPServer(
                APIRole.listener(on: "127.0.0.1:0", applyTimeout: .seconds(10)), handler: role.handler, logger: .silent)
            for service in role.services { try service.start() }
            try server.start()
            try installation.postAll(life.notifications)
            try installation.untilApplied(1)
        }

        deinit {
            server.drain(until: .now + .milliseconds(300))
            for service in role.services { service.drain(until: .now + .seconds(2)) }
            worker.stop()
        }

        func extend(
            _ transaction: String? = nil, of id: String? = nil, days: JSON = .int(10), reason: JSON = .int(1)
        ) -> HTTPCall {
            let name = id ?? life.account.token ?? ""
            let body = JSON.object(["extend_by_days": days, "extend_reason_code": reason])
            return HTTPCall.send(
                "POST", "/v1/subscribers/\(name)/subscriptions/\(transaction ?? life.latest.id)/extend",
                headers: ["Authorization": "Bearer \(ExtensionRouteTests.key)"], body: body.bytes,
                to: server.boundPort ?? 0)
        }

        /// When the subscription ends, as Apple knows it.
        func end() throws -> Int64? {
            try apple.reader.client.subscriptions(of: life.latest.originalID, in: .only(.production)).answer.first?
                .transaction.payload.expiresDate
        }
    }

    @Test func `an extension moves the end at Apple, and a call that is sent again does not move it again`() throws {
        let scene = try Scene()
        let wanted = scene.life.expires + 10 * StoreProduct.day
        let answer = scene.extend()
        #expect(answer.status == 200)
        #expect(answer.json["subscriber"]?["original_app_user_id"]?.stringValue == scene.life.account.token)
        #expect(try scene.end() == wanted)
        // The answer was lost, and Apple's news has not come.
        #expect(scene.extend(scene.life.latest.originalID).status == 200)
        #expect(try scene.end() == wanted)
        // Now it has.
        try scene.installation.postAll([scene.life.extend(days: 10, at: SystemClock().now())])
        try scene.installation.untilApplied(2)
        let again = scene.extend()
        #expect(again.status == 200)
        #expect(try scene.end() == wanted)
        let shown = again.json["subscriber"]?["subscriptions"]?.members?.first
        #expect(shown?.value["expires_date"] == .date(wanted))
        // Other days are another wish.
        #expect(scene.extend(days: .int(5)).status == 200)
        #expect(try scene.end() == wanted + 5 * StoreProduct.day)
        // Apple allows two in a year.
        let refused = scene.extend(days: .int(7))
        #expect(refused.status == 400)
        #expect(refused.json["message"]?.stringValue?.hasPrefix("Apple says: ") == true)
    }

    @Test func `what is not theirs is 404, and what cannot be said 400`() throws {
        let scene = try Scene()
        let end = try scene.end()
        for answer in [scene.extend("2000000000"), scene.extend(of: "nobody")] {
            #expect(answer.status == 404)
            #expect(answer.json["code"] == .int(7259))
        }
        for answer in [
            scene.extend(days: .int(0)), scene.extend(days: .int(91)), scene.extend(days: .string("10")),
            scene.extend(reason: .int(4)), scene.extend(reason: .null),
        ] {
            #expect(answer.status == 400)
            #expect(answer.json["code"] == .int(7226))
        }
        #expect(try scene.end() == end)
    }

    @Test func `an app without a key is told what to do`() throws {
        let scene = try Scene(hasKey: false)
        let answer = scene.extend()
        #expect(answer.status == 400)
        #expect(answer.json["message"]?.stringValue?.contains("server_api") == true)
    }

    @Test(arguments: [StoreFault(.badGateway), StoreFault(.unauthorized), StoreFault(.garbage, path: "/extend/")])
    func `while Apple cannot be asked it may be tried again`(fault: StoreFault) throws {
        let scene = try Scene(faults: [fault])
        let answer = scene.extend()
        #expect(answer.status == 503)
        #expect(answer.header("retry-after") != nil)
        scene.apple.clearFaults()
        #expect(scene.extend().status == 200)
        #expect(try scene.end() == scene.life.expires + 10 * StoreProduct.day)
    }
}
