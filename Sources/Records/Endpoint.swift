import Base

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
    /// Why nothing is sent to it; nil while it is enabled.
    package let disabledReason: String?
    /// Milliseconds; nothing is sent before, because the consumer asked for it.
    package let pausedUntil: Int64
    package let created: Int64
    /// The live signing secrets, newest first.
    package let secrets: [Redacted<[UInt8]>]
    /// Whether all of its secrets are here and open; without them nothing may be sent to it.
    package let isSendable: Bool

    package init(
        id: String, url: String, authorization: Redacted<String>? = nil, environments: [StoreEnvironment] = [],
        events: [String] = [], apps: [String] = [], disabledReason: String? = nil, pausedUntil: Int64 = 0,
        created: Int64, secrets: [Redacted<[UInt8]>] = [],
        isSendable: Bool = false
    ) {
        self.id = id
        self.url = url
        self.authorization = authorization
        self.environments = environments
        self.events = events
        self.apps = apps
        self.disabledReason = disabledReason
        self.pausedUntil = pausedUntil
        self.created = created
        self.secrets = secrets
        self.isSendable = isSendable
    }

    package var isEnabled: Bool { disabledReason == nil }

    /// Whether an event goes to this endpoint.
    package func wants(type: String, app: String, environment: StoreEnvironment) -> Bool {
        (events.isEmpty || events.contains(type)) && (apps.isEmpty || apps.contains(app))
            && (environments.isEmpty || environments.contains(environment))
    }
}

/// `whsec_` and the base64 of the secret's bytes, as Standard Webhooks 1.0.0 spells it.
package enum WebhookSecret {
    /// Bytes of a new secret: 24 need no padding in base64.
    package static let length = 24

    package static func text(_ bytes: [UInt8]) -> String { "whsec_" + Base64.encode(bytes) }

    /// Nil for what is not spelled so, or has no bytes.
    package static func bytes(_ text: String) -> [UInt8]? {
        guard text.hasPrefix("whsec_"), let bytes = Base64.decode(text.utf8.dropFirst(6)), !bytes.isEmpty else {
            return nil
        }
        return bytes
    }
}
