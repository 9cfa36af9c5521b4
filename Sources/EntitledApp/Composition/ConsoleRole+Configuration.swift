import API
import Base
import CLI
import Console
import Daemon
import Database
import Operator
import Schemas
import Subscriptions
import Synchronization

extension ConsoleSettings {
    init(_ configuration: Configuration) {
        self.init(
            desk: DeskSettings(configuration), proxies: configuration.api.limits.proxies,
            openAPI: OpenAPIDocument.operatorBytes)
    }
}

extension PageSettings {
    init(_ configuration: Configuration) {
        self.init(
            address: configuration.console.address, limits: configuration.console.limits,
            proxies: configuration.api.limits.proxies, proxyLogin: configuration.console.proxy?.login)
    }
}

extension DeskSettings {
    init(_ configuration: Configuration) {
        self.init(
            scopes: configuration.apps.flatMap { app in
                app.environments.sorted().map { AppScope(app: app.id, environment: $0) }
            },
            foldSettings: configuration.foldSettings, catalogue: configuration.catalogue,
            sandboxRule: configuration.sandboxRule, expiryPatience: configuration.worker.expiryPatience,
            lease: configuration.worker.lease, healthPolicy: configuration.healthPolicy,
            retrySchedule: RetrySchedule(waits: configuration.webhooks.retrySchedule.map(\.milliseconds)))
        let zone = configuration.reports.timeZone
        // A name that this host does not know is UTC, and is called so.
        charts = TimeZoneDatabase.zone(zone).map { ChartSettings(zone: $0, zoneName: zone) } ?? ChartSettings()
        catalogueCheck = CatalogueCheck(
            entitlements: configuration.catalogue, offerings: configuration.offerings,
            durations: Set(configuration.productDurations.keys))
        refundApps = configuration.refundApps
        webhookAddress = configuration.webhookAddress
        deletion = configuration.privacy.deletion
        serverAPIApps = Set(configuration.apps.filter { $0.serverAPI != nil }.map(\.id))
        inForce = configuration.settings.map { setting in
            ShownSetting(
                key: setting.key, value: setting.value == .null ? "not set" : setting.value.text,
                origin: setting.origin.text, isStandard: setting.origin == .standard)
        }
    }
}

/// A part of a process that does without it: where it cannot start, a warning says so, and all else goes on.
struct OptionalService: Service {
    let service: any Service
    let logger: Logger

    var name: String { service.name }

    func start() {
        do {
            try service.start()
        } catch {
            OptionalService.warn("\(error)", logger)
        }
    }

    func drain(until deadline: ContinuousClock.Instant) { service.drain(until: deadline) }

    static func warn(_ error: String, _ logger: Logger) {
        logger.warning("console not started", ["error": .string(error)])
    }
}

/// Says once what keeps the console of a process that does without it from the database.
final class OptionalRefusal: Sendable {
    private let isTold = Mutex(false)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func tell(_ reason: String) {
        let isFirst = isTold.withLock { told in
            defer { told = true }
            return !told
        }
        if isFirst { OptionalService.warn(reason, logger) }
    }
}
