import Base
import Database
import Foundation
import HTTP
import Worker

extension Configuration {
    /// - Parameter id: as the owner of lanes is named.
    func workerSettings(id: [UInt8], _ history: HistoryServices) -> WorkerSettings {
        WorkerSettings(
            lanes: lanes(id: id, history), client: webhookClient,
            limits: SendLimits(perEndpoint: webhooks.maxInFlightPerEndpoint, total: webhooks.maxInFlight),
            timeout: webhooks.timeout, retries: DeliveryRetryPolicy(schedule: webhooks.retrySchedule),
            keepsResponses: webhooks.keepResponseBodies)
    }

    private func lanes(id: [UInt8], _ history: HistoryServices) -> LaneWorkerConfiguration {
        LaneWorkerConfiguration(
            worker: id, host: ProcessInfo.processInfo.hostName, lease: worker.lease,
            expiryPatience: worker.expiryPatience, drainTimeout: drainTimeout, foldSettings: foldSettings,
            bodies: eventBodies, document: subscriberDocument, health: healthPolicy,
            operationsURL: webhooks.operationsURL,
            reconciliation: history.reconciliation.map {
                LaneWorkerConfiguration.Reconciliation(
                    places: $0.places, interval: $0.interval, asksStatuses: reconcile.statusCallsPerHour > 0)
            },
            bundleIDs: Dictionary(apps.map { ($0.id, $0.bundleID) }) { first, _ in first },
            ownerWaits: Dictionary(apps.map { ($0.id, $0.ownerWait) }) { first, _ in first },
            owners: ownerSettings)
    }

    /// Which URLs endpoints may have.
    var webhookAddress: WebhookAddress {
        WebhookAddress(
            allowed: webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)), isProxied: webhooks.proxy != nil)
    }

    private var webhookClient: HTTPClientConfiguration {
        var settings = HTTPClientConfiguration(
            allowedNetworks: webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)),
            maxConnections: webhooks.maxInFlight)
        settings.proxy = webhooks.proxy.flatMap { ProxyServer(parsing: $0.exposed) }
        settings.offersHTTP2 = webhooks.http2
        return settings
    }
}
