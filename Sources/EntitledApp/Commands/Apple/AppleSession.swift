import AppStore
import AppStoreAPI
import Base
import CLI
import Daemon

/// One command's talk with Apple about one app.
struct AppleSession {
    let app: Configuration.App
    let client: ServerAPIClient

    /// Runs `body` with the app that is meant: the one that is named, or the only one with a key.
    static func with<Result>(
        _ target: AppleTarget, _ configuration: Configuration, _ context: CommandContext,
        _ body: (AppleSession) throws -> Result
    ) throws -> Result {
        let app = try app(target, configuration)
        if let environment = target.environment, !app.environments.contains(environment) {
            throw UsageError("--environment: the app \(app.id) does not accept data of \(environment.rawValue)")
        }
        let terminal = context.terminal
        let logger = Logger(minimum: .warning) { terminal.printError(String(decoding: $0, as: UTF8.self)) }
        let verifier = SignedDataVerifier(trust: try configuration.trustAnchors())
        let access = try ServerAPIAccess(
            app, verifier: verifier, readFile: context.surroundings.readFile, logger: logger, metrics: Metrics())
        defer { access.close() }
        return try body(AppleSession(app: app, client: access.client))
    }

    private static func app(_ target: AppleTarget, _ configuration: Configuration) throws -> Configuration.App {
        if let id = target.app { return try configuration.app(named: id) }
        let able = configuration.apps.filter { $0.serverAPI != nil }
        guard let app = able.first else {
            throw CommandFailure("no app has a server_api in the configuration, so Apple cannot be queried")
        }
        guard able.count == 1 else {
            throw UsageError(
                "several apps have a Server API key; name one with --app: \(able.map(\.id).joined(separator: ", "))")
        }
        return app
    }

    /// Where to look up what has an id.
    func choice(_ target: AppleTarget) -> EnvironmentChoice {
        target.environment.map { .only($0) } ?? .productionThenSandbox
    }

    /// Where to do what has one place: production, if the app has it.
    func environment(_ target: AppleTarget) -> StoreEnvironment {
        target.environment ?? (app.environments.contains(.production) ? .production : .sandbox)
    }
}
