import Base
import Subscriptions

/// A consumer of webhooks.
package struct Endpoint: Sendable {
    package let id: String
    package let url: String
    /// Sent verbatim in `authorization`.
    package let authorization: Redacted<String>?
    /// Which events it gets; an empty list is no filter.
    package let environments: [StoreEnvironment]
    package let events: [String]
    package let apps: [String]
    package let ordering: Ordering
    package let format: EndpointFormat
    /// Its own; nil for the configuration's.
    package let retrySchedule: RetrySchedule?
    package let hasAuthorization: Bool
    /// Of its custom headers, which are no secret.
    package let headerNames: [String]
    /// Sent with every request.
    package let headers: [CustomHeader]
    /// Why nothing is sent to it; nil while it is enabled.
    package let disabledReason: String?
    /// Milliseconds; nothing is sent before, because the consumer asked for it.
    package let pausedUntil: Int64
    package let created: Int64
    /// The live signing secrets, newest first.
    package let secrets: [WebhookSecret]
    /// The private halves of its live key pairs, newest first (`Ed25519Key.init(seed:)`).
    package let signingKeys: [Redacted<[UInt8]>]
    /// Whether all that is sealed of it is here and open; without that nothing may be sent to it.
    package let isSendable: Bool
    /// What no key given opens.
    package let unreadable: [SealedPart]

    package init(
        id: String, url: String, authorization: Redacted<String>? = nil, environments: [StoreEnvironment] = [],
        events: [String] = [], apps: [String] = [], format: EndpointFormat = .revenuecat, ordering: Ordering = .none,
        retrySchedule: RetrySchedule? = nil, hasAuthorization: Bool = false, headerNames: [String] = [],
        headers: [CustomHeader] = [], disabledReason: String? = nil, pausedUntil: Int64 = 0, created: Int64,
        secrets: [WebhookSecret] = [], signingKeys: [Redacted<[UInt8]>] = [], isSendable: Bool = false,
        unreadable: [SealedPart] = []
    ) {
        self.id = id
        self.url = url
        self.authorization = authorization
        self.environments = environments
        self.events = events
        self.apps = apps
        self.ordering = ordering
        self.format = format
        self.retrySchedule = retrySchedule
        self.hasAuthorization = hasAuthorization
        self.headerNames = headerNames
        self.headers = headers
        self.disabledReason = disabledReason
        self.pausedUntil = pausedUntil
        self.created = created
        self.secrets = secrets
        self.signingKeys = signingKeys
        self.isSendable = isSendable
        self.unreadable = unreadable
    }

    package var isEnabled: Bool { disabledReason == nil }
    /// Whether it is the one that gets what operators should know, and nothing else.
    package var isOperations: Bool { id == OperationsEndpoint.id }

    /// Whether an event, or a notification as it came, goes to this endpoint: what its filters say.
    package func wants(type: String, app: String, environment: StoreEnvironment) -> Bool {
        isOperations == OperationsEvent.isOne(type)
            && (events.isEmpty ? EventType(rawValue: type)?.isForAll ?? true : events.contains(type))
            && (apps.isEmpty || apps.contains(app))
            && (environments.isEmpty || environments.contains(environment))
    }
}

/// What an endpoint gets.
package enum EndpointFormat: Int16, Sendable, CaseIterable {
    /// Events, as RevenueCat writes them.
    case revenuecat = 0
    /// Apple's notifications, as they came.
    case raw = 1

    package var name: String { String(describing: self) }

    package init?(name: String) {
        guard let format = EndpointFormat.allCases.first(where: { $0.name == name }) else { return nil }
        self = format
    }
}
