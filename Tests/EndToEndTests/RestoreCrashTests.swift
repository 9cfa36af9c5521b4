import Base
import Crypto
import FoundationEssentials
import Glibc
import StoreSimulator
import TestSupport
import Testing

/// Apple does not answer about a restored account, and processes die meanwhile.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct RestoreCrashTests {
    private static let key = "appl_a_public_key_for_tests"
    private let site: Site

    init() throws {
        site = try Site(try TestCluster.shared.makeMigratedDatabase())
    }

    /// A subscriber of an app who bought coins, too, and the App Store of that app with a key of its own.
    private struct Store {
        let id: String
        let app: StoreApp
        let apple: StoreService
        let life: SubscriberLife
        /// The app's part of the configuration.
        let section: JSON

        init(_ id: String, _ app: StoreApp, at site: Site, seed: UInt64, faults: [StoreFault]) throws {
            var life = SubscriberLife(app: app, seed: seed, withToken: false)
            life.start(at: Site.start)
            life.buyOnce(at: Site.start + StoreProduct.day)
            let token = TokenCheck(
                issuerID: UUID().uuidString, keyID: "KEY\(seed)", key: try SigningKey.generate(.p256),
                bundleID: app.bundleID)
            var settings = StoreSettings()
            settings.app = app
            settings.faults = faults
            apple = StoreService(settings, site.pki, token: token, notifications: life.notifications)
            try apple.start()
            let key = "\(site.folder)/AuthKey-\(id).p8"
            try token.key.pem().write(toFile: key, atomically: true, encoding: .utf8)
            chmod(key, 0o600)
            section = .object([
                "id": .string(id), "bundle_id": .string(app.bundleID), "apple_app_id": .int(app.appleAppID),
                "server_api": .object([
                    "issuer_id": .string(token.issuerID), "key_id": .string(token.keyID),
                    "private_key_file": .string(key), "base_url": .string(apple.baseURL),
                ]),
            ])
            (self.id, self.app, self.life) = (id, app, life)
        }
    }

    private func configure(_ stores: [Store]) throws {
        try site.configure([
            "api": .object([
                "listen": .string("127.0.0.1:0"), "public_keys": .strings([Self.key]), "apply_timeout": .string("1s"),
            ]),
            "reconcile": .object(["enabled": .bool(false)]), "apps": .array(stores.map(\.section)),
        ])
    }

    /// Restores with the coins.
    private func restore(_ store: Store, by id: String, at api: Program) throws -> HTTPCall {
        let jws = try NotificationSigner(site.pki).sign(try #require(store.life.notifications[1].transaction))
        let body = JSON.object([
            "app_user_id": .string(id), "fetch_token": .string(jws), "is_restore": .bool(true),
        ])
        let port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
        return HTTPCall.send(
            "POST", "/v1/receipts", headers: ["Authorization": "Bearer \(Self.key)"], body: body.bytes, to: port)
    }

    private func untilWhole(_ owner: String) throws {
        try eventually(timeout: .seconds(30), "the account of \(owner) is whole") {
            try site.database?.count("SELECT count(*) FROM entitled.purchase WHERE owner = '\(owner)'") == 2
        }
    }

    @Test(arguments: [("api", "post.after-commit"), ("worker", "look.before-commit"), ("worker", "look.after-commit")])
    func `killed, another process brings the rest of the account without another post`(
        role: String, point: String
    ) throws {
        let store = try Store("demo", Site.app, at: site, seed: 4100, faults: [StoreFault(.error)])
        defer { store.apple.stop() }
        try configure([store])
        let database = try #require(site.database)
        let api = try site.start("api", environment: role == "api" ? ["ENTITLED_FAIL_POINT": point] : [:])
        _ = try restore(store, by: "carla", at: api)
        #expect(try database.count("SELECT count(*) FROM entitled.account_look WHERE next_ms IS NOT NULL") == 1)
        store.apple.clearFaults()
        if role == "worker" {
            let doomed = try site.start("worker", environment: ["ENTITLED_FAIL_POINT": point])
            #expect(try doomed.wait() == 128 + 9)
            api.kill(SIGTERM)
        } else {
            #expect(try api.wait() == 128 + 9)
        }
        let worker = try site.start("worker")
        defer { worker.kill(SIGTERM) }
        try untilWhole("carla")
        #expect(try database.count("SELECT count(*) FROM entitled.account_look WHERE next_ms IS NOT NULL") == 0)
        try site.run("rebuild", "--dry-run")
    }

    @Test func `each app is asked about with its own key, and one about which Apple fails holds up no other`() throws {
        let (first, second) = (
            try Store("demo", Site.app, at: site, seed: 4101, faults: [StoreFault(.error)]),
            try Store(
                "second", StoreApp(bundleID: "com.example.second", appleAppID: 987_654_321, environment: "Production"),
                at: site, seed: 4102, faults: [])
        )
        defer { first.apple.stop(); second.apple.stop() }
        try configure([first, second])
        let (api, worker) = (try site.start("api"), try site.start("worker"))
        defer { api.kill(SIGTERM); worker.kill(SIGTERM) }
        _ = try restore(first, by: "carla", at: api)
        _ = try restore(second, by: "dora", at: api)
        try untilWhole("dora")
        #expect(try site.database?.count("SELECT count(*) FROM entitled.purchase WHERE app = 'demo'") ?? 0 <= 1)
        first.apple.clearFaults()
        try untilWhole("carla")
    }
}
