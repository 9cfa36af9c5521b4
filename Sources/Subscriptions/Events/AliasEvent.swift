import Base

/// The event that an anonymous owner of purchases became known (SUBSCRIBER_ALIAS). It is about no period.
package struct AliasEvent: Sendable, Equatable {
    package let app: String
    package let environment: StoreEnvironment
    /// The customer, with the id that joined the others.
    package let identity: EventIdentity
    package let joined: String
    /// When it became known, in ms since 1970.
    package let at: Int64

    package init(app: String, environment: StoreEnvironment, identity: EventIdentity, joined: String, at: Int64) {
        self.app = app
        self.environment = environment
        self.identity = identity
        self.joined = joined
        self.at = at
    }

    /// An upper-case UUID of app, environment, the id that joined, and the instant.
    package var id: String {
        let content = [EventType.subscriberAlias.rawValue, app, environment.rawValue, joined, String(at)]
        return EventID.uuid(hashing: content.joined(separator: "|"))
    }

    /// - Parameter id: the event's id.
    package func json(id: String) -> JSON {
        let pairs: KeyValuePairs<String, JSON> = [
            "event_timestamp_ms": .int(at), "environment": .string(environment.eventName),
            "app_user_id": .string(identity.appUserID), "aliases": .strings(identity.aliases),
            "original_app_user_id": .string(identity.originalAppUserID),
            "subscriber_attributes": identity.attributes, "store": .string("APP_STORE"),
        ]
        let members = pairs.map { JSON.Member(name: $0, value: $1) }
        return EventBody.envelope(members + EventBody.closing(.subscriberAlias, id: id, appID: app))
    }
}
