import AppStoreAPI
import Base
import Daemon
import HTTP
import Schemas

/// Apple's Server API: the clock, the keys, and whether a notification finds its way.
enum AppleChecks {
    static func all(_ configuration: Configuration) -> [Check] {
        let apps = configuration.apps.filter { $0.serverAPI != nil }
        var checks: [Check] = []
        if apps.contains(where: { $0.serverAPI?.baseURL == nil }) {
            checks.append(Check("app_store.clock", within: .seconds(25)) { try clock($0) })
        }
        checks += apps.map { app in Check("app_store.key", within: .seconds(90)) { try key(app, $0) } }
        for app in apps {
            for environment in app.environments {
                checks.append(
                    Check("app_store.round_trip", as: .api, within: .seconds(180)) { context in
                        try RoundTrip(app, environment, context).run()
                    })
            }
        }
        return checks
    }

    /// How long one call may take, with all that it is tried again.
    static let patience = Duration.seconds(20)

    // MARK: - The clock

    /// Without a token: any answer has the time.
    private static func clock(_ context: CheckContext) throws -> [Finding] {
        let http = try HTTPClient(configuration: HTTPClientConfiguration(), logger: .silent, metrics: Metrics())
        http.start()
        defer { http.stop() }
        let before = context.clock.now()
        let outcome = http.sendAndWait(
            OutgoingRequest(url: "https://api.storekit.apple.com/", method: "GET", timeout: .seconds(15)))
        switch outcome {
        case .failure(let failure):
            return [
                .error("Apple cannot be reached: \(failure.message)", "let this host reach api.storekit.apple.com:443")
            ]
        case .response(let response):
            guard let date = response.date.flatMap({ HTTPDate.parse($0, now: before) }) else {
                return [.warning("Apple's answer has no date", nil)]
            }
            // Whole seconds: half of one is the best guess of the rest.
            let middle = before + (context.clock.now() - before) / 2
            return [ClockChecks.compared(middle - date - 500, with: "Apple's")]
        }
    }

    // MARK: - The keys

    private static func key(_ app: Configuration.App, _ context: CheckContext) throws -> [Finding] {
        try context.withApple(app) { client in key(app, client, context) } ?? []
    }

    private static func key(_ app: Configuration.App, _ client: ServerAPIClient, _ context: CheckContext) -> [Finding] {
        var errors: [StoreEnvironment: ServerAPIError] = [:]
        for environment in app.environments {
            context.progress(0, "asking Apple (\(app.id), \(environment.rawValue))")
            let now = context.clock.now()
            do throws(ServerAPIError) {
                _ = try client.notificationPage(
                    NotificationHistoryQuery(from: now - 3_600_000, to: now), in: environment,
                    CallOptions(within: patience))
            } catch {
                errors[environment] = error
            }
        }
        return app.environments.map { environment in
            let name = "\(app.id), \(environment.rawValue)"
            guard let error = errors[environment] else {
                return .ok("\(name): Apple takes the key \(app.serverAPI?.keyID ?? "")")
            }
            // The sandbox takes the same key, so the key is right.
            if case .unauthorized(let refusal) = error, !refusal.isClockWrong, environment == .production,
                app.environments.contains(.sandbox), errors[.sandbox] == nil
            {
                return .warning(
                    "\(name): Apple rejects the key (401), which it accepts in the sandbox: the app was not released"
                        + " yet",
                    "nothing, until the app is in the App Store")
            }
            return .error("\(name): \(message(error, of: app))", action(error))
        }
    }

    private static func message(_ error: ServerAPIError, of app: Configuration.App) -> String {
        guard case .unauthorized(let refusal) = error, !refusal.isClockWrong else { return "\(error)" }
        let production = refusal.environment == .production ? ", as it does before an app's first release" : ""
        return "Apple rejects the key \(app.serverAPI?.keyID ?? "") (401) and gave no reason\(production)"
    }

    /// What to do about it.
    static func action(_ error: ServerAPIError) -> String {
        switch error {
        case .unauthorized(let refusal):
            refusal.isClockWrong
                ? "let this host set its clock by NTP"
                : "compare issuer_id, key_id and bundle_id \(refusal.bundleID) with App Store Connect (Users and Access,"
                    + " Integrations, In-App Purchase); if the key was revoked there, make another"
        case .refused(let refusal) where refusal.code == .serverNotificationURLNotFound:
            "set the URL in App Store Connect (App Information, App Store Server Notifications, Version 2)"
        case .unreachable, .outOfTime, .cancelled: "let this host reach Apple's Server API, and run it again"
        case .limited: "run it again once Apple takes requests of the app"
        case .untrusted: "look at trust.root_sha256 and trust.root_files"
        case .refused, .malformed, .tooLarge, .invalid: "run it again later; if it stays so, look at server_api"
        }
    }
}
