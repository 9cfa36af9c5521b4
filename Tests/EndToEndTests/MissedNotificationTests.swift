import Base
import Crypto
import Daemon
import FoundationEssentials
import Glibc
import Postgres
import TestSupport
import Testing

@testable import StoreSimulator

/// What is lost on its way, and in an outage of the endpoint, comes back by itself. `deploy/missed` runs this with as many
/// notifications as wanted.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct MissedNotificationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["ENTITLED_MISSED"].flatMap { Int($0) } ?? 400
    private static let patience = Duration.seconds(60 + count / 20)

    private static let notifications: [StoreNotification] = {
        let day = StoreProduct.day
        return (0..<UInt64(max(1, count / 4))).flatMap { number -> [StoreNotification] in
            var life = SubscriberLife(
                app: Site.app, seed: 96, number: number, withToken: !number.isMultiple(of: 3))
            let began = Site.start + Int64(number) * 60_000 % (10 * day)
            return [
                life.start(at: began), life.autoRenewOff(at: began + day), life.autoRenewOn(at: began + 2 * day),
                life.extend(days: 7, at: began + 3 * day),
            ]
        }.sorted { ($0.signedDate, $0.uuid) < ($1.signedDate, $1.uuid) }
    }()

    /// A site, and the store that sends it everything once, and plays the Server API.
    private struct Scene {
        let site: Site
        let database: TestDatabase
        let ingest: Program
        let service: StoreService

        init(lost: Int) throws {
            database = try TestCluster.shared.makeMigratedDatabase()
            site = try Site(database)
            ingest = try site.start("ingest")
            var settings = StoreSettings()
            settings.app = Site.app
            settings.receiver = ReceiverURL("http://\(try ingest.address("ingest"))/apple/notifications")
            settings.lost = lost
            settings.faults = [
                StoreFault(.rateLimited, percent: 5, path: "/history", seconds: 0.2),
                StoreFault(.error, percent: 5, path: "/history"),
                StoreFault(.badGateway, percent: 3, path: "/history"),
                StoreFault(.reset, percent: 2, path: "/history"),
            ]
            service = try StoreService(
                settings, site.pki, token: .generate(bundleID: Site.app.bundleID),
                notifications: MissedNotificationTests.notifications)
        }

        /// Gives the site its key of the Server API.
        func giveKey() throws {
            let path = "\(site.folder)/AuthKey.p8"
            try service.token.key.pem().write(toFile: path, atomically: true, encoding: .utf8)
            try site.configure([
                "apps": .array([
                    .object([
                        "id": .string("demo"), "bundle_id": .string(Site.app.bundleID),
                        "apple_app_id": .int(Site.app.appleAppID), "environments": .strings(["Production"]),
                        "server_api": .object([
                            "issuer_id": .string(service.token.issuerID), "key_id": .string(service.token.keyID),
                            "private_key_file": .string(path), "base_url": .string(service.baseURL),
                        ]),
                    ])
                ])
            ])
        }

        var stored: Int64 { get throws { try database.count("SELECT count(*) FROM entitled.notification") } }

        func untilSent() throws {
            try eventually(timeout: patience, "everything was sent once") {
                service.state.read { state in
                    state.history.count == notifications.count && state.history.allSatisfy { !$0.attempts.isEmpty }
                }
            }
        }

        func untilApplied() throws {
            try eventually(timeout: patience, "everything is known and applied") {
                try stored == Int64(notifications.count)
                    && database.count("SELECT count(*) FROM entitled.pending") == 0
            }
        }

        func records() throws -> [String] {
            try database.texts(
                "SELECT (to_jsonb(p) - 'version' - 'updated_ms' - 'wake_ms')::text FROM entitled.purchase p ORDER BY 1")
        }
    }

    @Test func `what was lost in an outage comes back, whoever is killed meanwhile`() throws {
        let calm = try Scene(lost: 0)
        try calm.service.start()
        defer { calm.service.stop() }
        let calmWorker = try calm.site.start("worker")
        try calm.untilSent()
        try calm.untilApplied()
        calmWorker.kill(SIGTERM)

        let scene = try Scene(lost: 30)
        try scene.service.start()
        defer { scene.service.stop() }
        try eventually(timeout: Self.patience, "half of it has arrived") {
            try scene.stored > Int64(Self.notifications.count * 2 / 5)
        }
        scene.ingest.kill(SIGKILL)
        try scene.untilSent()
        let arrived = try scene.stored
        #expect(arrived < Self.notifications.count * 3 / 4)
        try scene.giveKey()
        let began = ContinuousClock.now
        for point in [FailPoint.historyBeforeCommit, .historyAfterCommit, .historyBeforeCommit] {
            let victim = try scene.site.start("worker", environment: [FailPoint.variable: "\(point.rawValue):3"])
            #expect(try victim.wait() == 128 + SIGKILL)
        }
        #expect(try scene.stored < Self.notifications.count)
        let worker = try scene.site.start("worker")
        try scene.untilApplied()
        let time = ContinuousClock.now - began
        try eventually("it is looked through") { worker.log.contains("Apple history scan completed") }
        #expect(try scene.records() == calm.records())
        worker.kill(SIGTERM)
        try worker.wait()
        try Self.write(scene, arrived, time)
    }

    /// A table for people, where one is asked for.
    private static func write(_ scene: Scene, _ arrived: Int64, _ time: Duration) throws {
        guard let path = environment["ENTITLED_MISSED_TABLE"] else { return }
        let calls = scene.service.state.read { $0.calls.map(\.status) }
        let pages = calls.count { $0 == 200 }
        let lines = [
            "notifications  \(notifications.count)", "arrived        \(arrived)",
            "fetched        \(Int64(notifications.count) - arrived)",
            "calls          \(calls.count), of them \(pages) answered with a page",
            "known already  \(arrived) of what the pages held",
            "time           \(time.milliseconds / 1000) s, three deaths of the worker included",
        ]
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}
