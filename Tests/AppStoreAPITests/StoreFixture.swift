import AppStore
import Base
import Crypto
import Daemon
import HTTP
import StoreSimulator
import TestSupport

@testable import AppStoreAPI

/// A store with a few customers, and a client that asks it.
///
/// `@unchecked Sendable`: `clients` and `kept` are changed only by the test's own thread before others begin.
final class StoreFixture: @unchecked Sendable {
    static let day: Int64 = 86_400_000

    let app: StoreApp
    let pki: StorePKI
    let service: StoreService
    let log = LogTape()
    let metrics = Metrics()
    /// Many short periods, a trial at the beginning, running, with a purchase of coins.
    let subscriber: SubscriberLife
    /// Some periods were paid back, the subscription is over.
    let refunded: SubscriberLife
    let family: SubscriberLife
    private var clients: [HTTPClient] = []
    private var kept: [AnyObject] = []

    init(
        _ environment: StoreEnvironment = .sandbox, seed: UInt64 = 7,
        _ adjust: (inout StoreSettings) -> Void = { _ in }
    ) throws {
        let now = SystemClock().now()
        app = StoreApp(environment: environment.rawValue)
        pki = try StorePKI.generate(now: now)
        var subscriber = SubscriberLife(app: app, seed: seed, number: 0)
        subscriber.start(offer: .trial, lasts: 2 * StoreFixture.day, at: now - 24 * StoreFixture.day)
        for _ in 0..<44 { subscriber.renew(lasts: StoreFixture.day / 2, at: subscriber.expires) }
        subscriber.buyOnce(at: subscriber.expires)
        subscriber.renew(lasts: 30 * StoreFixture.day, at: subscriber.expires)
        self.subscriber = subscriber
        var refunded = SubscriberLife(app: app, seed: seed, number: 1)
        refunded.start(lasts: StoreFixture.day / 4, at: now - 20 * StoreFixture.day)
        for _ in 0..<30 { refunded.renew(lasts: StoreFixture.day / 4, at: refunded.expires) }
        for period in 0..<25 { refunded.refund(.period(period), at: refunded.expires) }
        refunded.expire(at: refunded.expires)
        self.refunded = refunded
        var family = SubscriberLife(app: app, seed: seed, number: 2, isFamilyMember: true)
        family.start(at: now - 3 * StoreFixture.day)
        self.family = family
        var settings = StoreSettings()
        settings.app = app
        adjust(&settings)
        let notifications = [subscriber, refunded, family].flatMap(\.notifications)
            .sorted { ($0.signedDate, $0.uuid) < ($1.signedDate, $1.uuid) }
        service = try StoreService(
            settings, pki, token: .generate(bundleID: app.bundleID), notifications: notifications)
        try service.start()
    }

    deinit {
        stopClients()
        service.stop()
    }

    /// Lets a server live as long as the clients that ask it.
    func keep(_ server: AnyObject) {
        kept.append(server)
    }

    /// Cuts what is in flight.
    func stopClients() {
        for client in clients { client.stop() }
    }

    /// The key that the store takes.
    func key(id: String? = nil) throws -> ServerAPIKey {
        try ServerAPIKey(
            issuerID: service.token.issuerID, keyID: id ?? service.token.keyID, pem: try service.token.key.pem())
    }

    /// - Parameters:
    ///   - url: another server than the store.
    ///   - bundleID: another app than the store's.
    func client(
        keys: [ServerAPIKey]? = nil, bundleID: String? = nil, environments: [StoreEnvironment]? = nil,
        urls: [StoreEnvironment: String]? = nil, url: String? = nil, trust: StorePKI? = nil,
        retries: ServerAPIRetryPolicy = ServerAPIRetryPolicy(base: .milliseconds(10)),
        clock: any WallClock = SystemClock()
    ) throws -> ServerAPIClient {
        let base = url ?? service.baseURL
        let subject = ServerAPIApp(
            id: "demo", bundleID: bundleID ?? app.bundleID, appleAppID: app.appleAppID,
            environments: environments ?? [app.isSandbox ? .sandbox : .production],
            baseURLs: urls ?? [.production: base, .sandbox: base])
        let http = try HTTPClient(
            configuration: ServerAPIClient.configuration(for: subject), logger: .silent, metrics: Metrics())
        http.start()
        clients.append(http)
        let anchors = TrustAnchors(fingerprints: [(trust ?? pki).root.fingerprint()])
        return ServerAPIClient(
            app: subject, keys: try keys ?? [key()], http: http, verifier: SignedDataVerifier(trust: anchors),
            retries: retries, clock: clock, logger: log.logger, metrics: metrics)
    }
}

/// What a call throws; a call that throws nothing fails the test.
func failure<Result>(_ body: () throws -> Result) throws -> ServerAPIError {
    do {
        _ = try body()
    } catch let error as ServerAPIError {
        return error
    }
    throw TestFailure("nothing was thrown")
}
