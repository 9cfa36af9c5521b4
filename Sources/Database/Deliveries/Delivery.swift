import Base
import Crypto
import Postgres

/// Where a delivery stands.
package enum DeliveryState: Int16, Sendable, CaseIterable, ColumnDecodable {
    /// Will be tried, also again.
    case pending = 0
    case delivered = 1
    /// Given up: the dead letter.
    case dead = 2
    /// Its endpoint is disabled.
    case held = 3

    package var name: String { String(describing: self) }

    package init?(name: String) {
        guard let state = DeliveryState.allCases.first(where: { $0.name == name }) else { return nil }
        self = state
    }
}

/// Where a delivery stands as the database keeps it; operators see one that is blocked as pending, or held.
package enum DeliveryCode: Int16, Sendable, ColumnDecodable, CustomStringConvertible {
    case pending = 0
    case delivered = 1
    case dead = 2
    case held = 3
    /// It waits for an earlier delivery of its purchase.
    case blocked = 4

    /// As SQL has it.
    package var description: String { String(rawValue) }

    /// Lists for SQL: what may still be sent, and what never will be.
    package static let open = list([.pending, .held, .blocked])
    package static let ended = list([.delivered, .dead])

    package var isOpen: Bool { self != .delivered && self != .dead }

    private static func list(_ states: [DeliveryCode]) -> String {
        states.map(\.description).joined(separator: ", ")
    }
}

/// Names one delivery: the lane it is in, and 16 bytes that follow from its event and endpoint.
package struct DeliveryID: Hashable, Sendable {
    package let lane: Lane
    package let bytes: [UInt8]

    package init(lane: Lane, bytes: [UInt8]) {
        self.lane = lane
        self.bytes = bytes
    }

    /// One delivery for each event and endpoint, whichever process makes it and however often.
    package init(lane: Lane, event: [UInt8], endpoint: String) {
        self.lane = lane
        bytes = Array(Digest.sha256(event + Array(endpoint.utf8)).prefix(16))
    }

    /// One delivery for each notification that goes on as it came, and endpoint.
    package init(lane: Lane, notification: NotificationIdentity, endpoint: String) {
        let identity = notification.key + [UInt8(truncatingIfNeeded: notification.environment.code)]
        self.init(lane: lane, event: identity + Array("\(notification.app)\0".utf8), endpoint: endpoint)
    }

    /// The order in which transactions lock several deliveries, as Postgres sorts them.
    func isLocked(before other: DeliveryID) -> Bool {
        lane == other.lane ? bytes.lexicographicallyPrecedes(other.bytes) : lane < other.lane
    }

    /// `dlv_`, the lane in two hex digits, the bytes in 32.
    package var text: String { "dlv_" + Hex.encode([UInt8(truncatingIfNeeded: lane.number)] + bytes) }

    package init?(text: String) {
        guard text.hasPrefix("dlv_"), let bytes = Hex.decode(String(text.dropFirst(4))), bytes.count == 17,
            let lane = bytes.first
        else { return nil }
        self.init(lane: Lane(number: Int16(lane)), bytes: Array(bytes.dropFirst()))
    }
}

/// The customers of an event as they are when it is sent: never older than the event.
package struct DeliveryCustomers: Sendable {
    /// A document in JSON; nil where it is larger than what is sent with an event.
    package let customer: [UInt8]?
    /// Of TRANSFER: the customer who had the purchases. Nil for all other types.
    package let origin: [UInt8]?
    package let isTransfer: Bool

    package init(customer: [UInt8]?, origin: [UInt8]?, isTransfer: Bool) {
        self.customer = customer
        self.origin = origin
        self.isTransfer = isTransfer
    }
}

/// A delivery that is due, with all that sending it needs.
package struct DueDelivery: Sendable {
    package let id: DeliveryID
    package let endpoint: String
    /// Of a notification as it came: the bytes of its UUID.
    package let event: [UInt8]
    package let eventType: String
    /// What the consumer tells deliveries apart by, the same at every attempt.
    package let webhookID: String
    /// Attempts made so far, in all rounds.
    package let attempts: Int
    /// Attempts made before the present round of the schedule began.
    package let roundStart: Int
    /// The body, byte for byte the same at every attempt.
    package let body: [UInt8]
    /// Which event of its purchase it is, from 1; nil for what is about no purchase.
    package let sequence: Int64?
    /// The notification that made its event, by 16 bytes; nil: none did.
    package var cause: [UInt8]?
    /// Whether its endpoint, when it was made, got the customers of events.
    package var needsCustomers = false
    /// For endpoints that get them; looked up anew for every attempt.
    package var customers: DeliveryCustomers?

    package init(
        id: DeliveryID, endpoint: String, event: [UInt8], eventType: String, webhookID: String? = nil, attempts: Int,
        roundStart: Int, body: [UInt8], sequence: Int64? = nil
    ) {
        self.id = id
        self.endpoint = endpoint
        self.event = event
        self.eventType = eventType
        self.webhookID = webhookID ?? UUIDText.upper(event)
        self.attempts = attempts
        self.roundStart = roundStart
        self.body = body
        self.sequence = sequence
    }
}
