import Base
import CLI
import Database
import Postgres
import Subscriptions

/// Apps: when they were heard of last, and what their products give.
enum AppChecks {
    static let all = [
        Check("apps.configured", within: .seconds(5)) { configured($0) },
        Check("apps.notifications") { context, connection in try notifications(context, connection) },
        Check("apps.products") { context, connection in try products(context, connection) },
    ]

    private static func configured(_ context: CheckContext) -> [Finding] {
        let apps = context.configuration.apps
        guard !apps.isEmpty else {
            return [.error("no app is configured: every notification is rejected", "add one to apps")]
        }
        return apps.map { app in
            let places = app.environments.map(\.rawValue).joined(separator: ", ")
            guard app.serverAPI == nil else { return .ok("\(app.id): \(app.bundleID), \(places)") }
            return .warning(
                "\(app.id): \(app.bundleID), \(places), without apps[].server_api, so missed notifications are not fetched",
                "create an In-App Purchase key in App Store Connect, and set server_api")
        }
    }

    /// Days.
    private static let reach: Int64 = 90
    /// Subscribers renew every day where there are some.
    private static let silence: Int64 = 7 * 86_400_000

    private static func notifications(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let now = context.clock.now()
        let sources = context.configuration.apps.flatMap { app in
            app.environments.map { NewestNotifications.Source(app: app.id, environment: $0) }
        }
        let newest = try NewestNotifications(of: sources, reach: reach, now: now, on: connection).newest
        return sources.map { source in
            let name = "\(source.app), \(source.environment.rawValue)"
            let action = "look at the URL in App Store Connect (App Information, App Store Server Notifications, V2)"
            guard let last = newest[source] else {
                let message = "\(name): no notification in the last \(reach) days"
                return source.environment == .production ? .warning(message, action) : .ok(message)
            }
            let message = "\(name): the last notification came \(ago(now - last)), \(Timestamp.text(last))"
            return source.environment == .production && now - last > silence ? .warning(message, action) : .ok(message)
        }
    }

    private static func ago(_ age: Int64) -> String { age < 2000 ? "just now" : "\(RelativeTime.text(age)) ago" }

    private static func products(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let catalogue = context.configuration.catalogue
        let products = try ProductTable.list(on: connection).map(\.product.productID)
        let unmapped = Set(products).filter { catalogue.entitlements(of: $0).isEmpty }.sorted()
        guard !unmapped.isEmpty else {
            return [
                .ok(products.isEmpty ? "nothing was bought yet" : "every purchased product belongs to an entitlement")
            ]
        }
        let few = unmapped.prefix(5).joined(separator: ", ") + (unmapped.count > 5 ? ", …" : "")
        return [
            .warning(
                "\(unmapped.count.counted("purchased product")) without an entitlement: \(few)",
                "add them to entitlements; `entitled products list --unmapped` shows all")
        ]
    }
}
