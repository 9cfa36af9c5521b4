import AppStore
import AppStoreAPI
import Base
import HTTPClient
import Telemetry

/// Apple's Server API for one app, as the configuration has it, for as long as this lives.
final class AppleAccess: Sendable {
    let client: ServerAPIClient
    private let http: HTTPClient

    /// - Throws: where the key cannot be read. Nil for an app without `server_api`.
    init?(_ app: Configuration.App, _ ward: Ward) throws {
        guard let access = app.serverAPI else { return nil }
        let file = ward.surroundings.readFile(access.privateKeyFile)
        guard case .contents(let pem) = file else {
            throw CommandFailure("\(access.privateKeyFile): \(file.failure ?? "it cannot be read")")
        }
        let key = try ServerAPIKey(
            issuerID: access.issuerID, keyID: access.keyID, pem: String(decoding: pem, as: UTF8.self))
        let bases = access.baseURL.map { base in
            Dictionary(app.environments.map { ($0, base) }) { first, _ in first }
        }
        let asked = ServerAPIApp(
            id: app.id, bundleID: app.bundleID, appleAppID: app.appleAppID, environments: app.environments,
            baseURLs: bases ?? [:])
        let metrics = Metrics()
        http = try HTTPClient(
            configuration: ServerAPIClient.configuration(for: asked), logger: .silent, metrics: metrics)
        client = ServerAPIClient(
            app: asked, keys: [key], http: http,
            verifier: SignedDataVerifier(trust: try ward.configuration.trustAnchors(), revocation: nil),
            logger: .silent, metrics: metrics)
        http.start()
    }

    deinit {
        http.stop()
    }
}
