import Base

/// The event that purchases went from one customer to another (TRANSFER). It is about no period.
package struct TransferEvent: Sendable, Equatable {
    package let app: String
    package let environment: StoreEnvironment
    /// All ids of who had the purchases, and of who has them now.
    package let from: [String]
    package let to: [String]
    /// The number of the action in the log: told once.
    package let action: Int64
    /// When it happened, in ms since 1970.
    package let at: Int64

    package init(
        app: String, environment: StoreEnvironment, from: [String], to: [String], action: Int64, at: Int64
    ) {
        self.app = app
        self.environment = environment
        self.from = from
        self.to = to
        self.action = action
        self.at = at
    }

    /// An upper-case UUID of app, environment and action.
    package var id: String {
        let content = [EventType.transfer.rawValue, app, environment.rawValue, "action/\(action)"]
        return EventID.uuid(hashing: content.joined(separator: "|"))
    }

    /// - Parameters:
    ///   - id: the event's id.
    ///   - attributes: `subscriber_attributes` of who has the purchases now.
    package func json(id: String, attributes: JSON = .object([])) -> JSON {
        let pairs: KeyValuePairs<String, JSON> = [
            "event_timestamp_ms": .int(at), "environment": .string(environment.eventName),
            "store": .string("APP_STORE"), "transferred_from": .strings(from), "transferred_to": .strings(to),
            "subscriber_attributes": attributes,
        ]
        let members = pairs.map { JSON.Member(name: $0, value: $1) }
        return EventBody.envelope(members + EventBody.closing(.transfer, id: id, appID: app))
    }
}
