import AppStore
import AppStoreAPI
import Base
import Crypto
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import StoreSimulator
import TestSupport

/// The store's endpoint up to the database, and whoever asks about the certificates behind it.
final class IngestFixture: Sendable {
    static let app = StoreApp(environment: "Production")

    let log = LogTape()
    let metrics = Metrics()
    let cache = RevocationCache()
    let client: HTTPClient
    private let watch: RevocationChecker
    private let role: IngestRole
    private let signer: NotificationSigner

    /// - Parameters:
    ///   - patience: how long an answer may be missing before it is logged.
    ///   - held: lets a question go on its way only when it is true; nil: none is held.
    init(
        _ mode: RevocationMode, _ pki: StorePKI, apps: [String] = [IngestFixture.app.bundleID],
        patience: Duration = .seconds(900), held: Monitor<Bool>? = nil
    ) throws {
        var configuration = HTTPClientConfiguration(
            allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) })
        configuration.allowsPlainHTTP = true
        let client = try HTTPClient(configuration: configuration, logger: .silent, metrics: Metrics())
        self.client = client
        watch = RevocationChecker(
            cache: cache, transport: IngestFixture.transport(client, held), patience: patience, logger: log.logger,
            metrics: metrics)
        signer = NotificationSigner(pki)
        let trust = TrustAnchors(fingerprints: [pki.root.fingerprint()])
        let policy = RevocationPolicy(cache: cache, requiresAnswer: mode == .hard)
        let target = PostgresTarget(url: "postgres:///nowhere")
        let process = ProcessContext(clock: SystemClock(), logger: log.logger, metrics: metrics) { _ in
            PostgresSession(target)
        }
        // Its services are not started: it only reads.
        role = try IngestRole(
            apps: AppRegistry(
                apps.map {
                    AppRegistry.App(
                        id: $0, bundleID: $0, appleAppID: IngestFixture.app.appleAppID, environments: [.production])
                }),
            process, verifier: SignedDataVerifier(trust: trust, revocation: mode == .off ? nil : policy))
        client.start()
        watch.start()
    }

    deinit {
        client.stop()
        watch.drain(until: .now + .seconds(5))
    }

    private static func transport(_ client: HTTPClient, _ held: Monitor<Bool>?) -> RevocationChecker.Transport {
        { url, body, answer in
            let send: @Sendable () -> Void = {
                let request = OutgoingRequest(
                    url: url, headers: [("content-type", "application/ocsp-request")], body: body,
                    timeout: .milliseconds(2000))
                client.submit(request) { outcome in
                    guard case .response(let response) = outcome, response.status == 200 else { return answer(nil) }
                    answer(response.body)
                }
            }
            guard let held else { return send() }
            _ = ServiceThread("held") {
                _ = held.wait(timeout: .seconds(30)) { $0 ? true : nil }
                send()
            }
        }
    }

    /// A new notification, signed now.
    func body(_ app: StoreApp = IngestFixture.app) throws -> [UInt8] {
        var life = SubscriberLife(app: app, seed: .random(in: 0 ... .max))
        return try signer.sign(life.start(at: SystemClock().now())).body
    }

    /// `accepted`, where only the database is left to be asked, or the status and code of the refusal.
    func verdict(_ app: StoreApp = IngestFixture.app) throws -> String {
        switch role.handler.read(try body(app)) {
        case .success: "accepted"
        case .failure(let refusal): "\(refusal.status) \(refusal.code)"
        }
    }

    /// The endpoint's answer.
    func answer() throws -> HTTPResponse {
        let answer = Monitor<HTTPResponse?>(nil)
        let head = HTTPRequestHead(method: "POST", target: IngestHandler.path)
        role.handler.handle(
            HTTPRequest(head: head, body: try body()), HTTPResponder { response in answer.change { $0 = response } })
        guard let response = answer.wait(timeout: .seconds(20), for: { $0 }) else { throw TestFailure("no answer") }
        return response
    }

    /// Waits until so many checks came to this.
    func wait(_ result: String, _ count: Int = 1) throws {
        try eventually("\(count) checks with the result \(result)\n\(metrics.exposition())") {
            metrics.exposition().contains("entitled_ocsp_checks_total{result=\"\(result)\"} \(count)\n")
        }
    }
}
