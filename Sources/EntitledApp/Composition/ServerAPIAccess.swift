import AppStore
import AppStoreAPI
import Base
import Daemon
import HTTP

/// Apple's Server API for one app of the configuration, with the transport that belongs to it.
struct ServerAPIAccess: Sendable {
    let client: ServerAPIClient
    private let http: HTTPClient

    /// Starts the transport.
    ///
    /// - Parameters:
    ///   - verifier: what decides about what Apple signed.
    ///   - share: of Apple's rates.
    /// - Throws: `CommandFailure` for an app without a key, and for a key that cannot be read or used.
    init(
        _ app: Configuration.App, verifier: SignedDataVerifier, readFile: (String) -> FileReading,
        share: RateShare = .process, logger: Logger, metrics: Metrics
    ) throws {
        guard let api = app.serverAPI else {
            throw CommandFailure("the app \(app.id) has no server_api in the configuration, so Apple cannot be queried")
        }
        let subject = ServerAPIApp(
            id: app.id, bundleID: app.bundleID, appleAppID: app.appleAppID, environments: app.environments,
            baseURLs: api.baseURLs)
        var keys = [try ServerAPIAccess.key(api.issuerID, api.keyID, api.privateKeyFile, readFile)]
        if let other = api.previous {
            keys.append(try ServerAPIAccess.key(other.issuerID, other.keyID, other.privateKeyFile, readFile))
        }
        // With metrics of its own, which are not exported: those of the process are about webhooks.
        http = try HTTPClient(
            configuration: ServerAPIClient.configuration(for: subject), logger: logger, metrics: Metrics())
        client = ServerAPIClient(
            app: subject, keys: keys, http: http, verifier: verifier, share: share, logger: logger, metrics: metrics)
        http.start()
    }

    /// Ends the transport; calls that wait are cancelled.
    func close() {
        http.stop()
    }

    private static func key(
        _ issuerID: String, _ keyID: String, _ path: String, _ readFile: (String) -> FileReading
    ) throws -> ServerAPIKey {
        let reading = readFile(path)
        guard case .contents(let bytes) = reading else {
            throw CommandFailure("cannot read the key of Apple's Server API, \(path): \(reading.failure ?? "")")
        }
        do throws(ServerAPIKey.Flaw) {
            return try ServerAPIKey(issuerID: issuerID, keyID: keyID, pem: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw CommandFailure("cannot use the key of Apple's Server API, \(path): \(error)")
        }
    }
}

extension Configuration.ServerAPI {
    /// What replaces Apple's own servers.
    fileprivate var baseURLs: [StoreEnvironment: String] {
        var urls: [StoreEnvironment: String] = [:]
        urls[.production] = baseURL
        urls[.sandbox] = sandboxBaseURL ?? baseURL
        return urls
    }
}
