import Base
import Postgres
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
    /// The types that it does not get; empty where it names those that it gets.
    package let exceptedEvents: [String]
    package let apps: [String]
    package let ordering: Ordering
    package let format: EndpointFormat
    /// Whether each event carries the document of its customer.
    package let includesSubscriber: Bool
    /// The version of RevenueCat's Firebase extension that receives the events, each in a token; nil: they are sent as
    /// they are.
    package let extensionVersion: String?
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
        events: [String] = [], exceptedEvents: [String] = [], apps: [String] = [],
        format: EndpointFormat = .revenuecat, includesSubscriber: Bool = false, extensionVersion: String? = nil,
        ordering: Ordering = .none,
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
        self.exceptedEvents = exceptedEvents
        self.apps = apps
        self.ordering = ordering
        self.format = format
        self.includesSubscriber = includesSubscriber
        self.extensionVersion = extensionVersion
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
    package var formatName: String { extensionVersion == nil ? format.name : EndpointFormat.firebase }
    /// Whether it is the one that gets what operators should know, and nothing else.
    package var isOperations: Bool { id == OperationsEndpoint.id }

    /// Whether an event, or a notification as it came, goes to this endpoint: what its filters say.
    package func wants(type: String, app: String, environment: StoreEnvironment) -> Bool {
        isOperations == OperationsEvent.isOne(type)
            && (events.isEmpty ? isForAll(type) && !exceptedEvents.contains(type) : events.contains(type))
            && (apps.isEmpty || apps.contains(app))
            && (environments.isEmpty || environments.contains(environment))
    }

    /// Apple's types are for all; one of them is called as an event of ours.
    private func isForAll(_ type: String) -> Bool {
        format == .raw || EventType(rawValue: type)?.isForAll ?? true
    }

    /// Whether an event is sent with the documents of its customers (`DeliveryCustomers`).
    package var needsCustomers: Bool { includesSubscriber || extensionVersion != nil }
}

/// What an endpoint gets.
package enum EndpointFormat: Int16, Sendable, CaseIterable, ColumnDecodable {
    /// Events, as RevenueCat writes them.
    case revenuecat = 0
    /// Apple's notifications, as they came.
    case raw = 1

    package var name: String { String(describing: self) }

    /// The name of events for RevenueCat's Firebase extension, which are `revenuecat` in a token.
    package static let firebase = "firebase"
    /// The extension's newest version in public: extension.yaml of RevenueCat/firestore-revenuecat-purchases, May 2026.
    package static let newestExtension = "0.1.18"

    package init?(name: String) {
        guard let format = EndpointFormat.allCases.first(where: { $0.name == name }) else { return nil }
        self = format
    }
}
