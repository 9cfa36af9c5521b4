import AppStore
import AppStoreAPI
import Daemon

extension CheckContext {
    /// Asks Apple's Server API for this app; the transport ends with it. Nil for an app without `server_api`.
    func withApple<Result>(
        _ app: Configuration.App, _ body: (ServerAPIClient) throws -> Result
    ) throws -> Result? {
        guard app.serverAPI != nil else { return nil }
        let access = try ServerAPIAccess(
            app, verifier: SignedDataVerifier(trust: try configuration.trustAnchors(), revocation: nil),
            readFile: surroundings.readFile, logger: .silent, metrics: Metrics())
        defer { access.close() }
        return try body(access.client)
    }
}
