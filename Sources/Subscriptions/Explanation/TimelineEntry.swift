import Base

/// Where a webhook stands.
package struct DeliveryTrace: Sendable, Equatable {
    package let endpoint: String
    /// `pending`, `delivered`, `dead`, `held`.
    package let state: String
    package let attempts: Int
    /// The HTTP status of the last attempt.
    package let lastStatus: Int?
    package let reason: String?
    /// When it was delivered, in ms.
    package let delivered: Int64?
    /// When it is tried next, in ms.
    package let next: Int64?

    package init(
        endpoint: String, state: String, attempts: Int, lastStatus: Int? = nil, reason: String? = nil,
        delivered: Int64? = nil, next: Int64? = nil
    ) {
        self.endpoint = endpoint
        self.state = state
        self.attempts = attempts
        self.lastStatus = lastStatus
        self.reason = reason
        self.delivered = delivered
        self.next = next
    }
}

/// An event that was really made, and what became of it.
package struct EventTrace: Sendable, Equatable {
    /// When it was made, in ms.
    package let made: Int64
    /// `cancel_reason` or `expiration_reason`, as it was sent.
    package let reason: String?
    package var deliveries: [DeliveryTrace]
    /// Whether it is on record what was sent, and what became of it; for events of long ago it is not.
    package let isKept: Bool

    package init(made: Int64, reason: String?, deliveries: [DeliveryTrace], isKept: Bool = true) {
        self.isKept = isKept
        self.made = made
        self.reason = reason
        self.deliveries = deliveries
    }

    /// When it was delivered, in ms, if that was not at once.
    package func lateDelivery(_ delivery: DeliveryTrace) -> Int64? {
        delivery.delivered.flatMap { $0 > made.later(by: 60 * .second) ? $0 : nil }
    }
}

/// One thing that happened to a customer's purchases.
package struct TimelineEntry: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case notification(NotificationFact)
        /// Facts that came without a notification.
        case observation
        /// Nothing came: time passed.
        case time
        /// An action; in words.
        case action(String)
    }

    package struct Event: Sendable, Equatable {
        package let id: String
        package let type: String
        package let reason: String?
        /// Nil if there is no record of it.
        package let trace: EventTrace?

        package init(id: String, type: String, reason: String?, trace: EventTrace?) {
            self.id = id
            self.type = type
            self.reason = reason
            self.trace = trace
        }
    }

    package let kind: Kind
    /// When it happened here, in ms.
    package let instant: Int64
    /// When it was signed, in ms.
    package let signed: Int64?
    package let purchase: PurchaseKey?
    package let productID: String?
    package let changes: [PurchaseChange]
    package let events: [Event]

    package init(
        _ kind: Kind, at instant: Int64, signed: Int64? = nil, purchase: PurchaseKey? = nil, productID: String? = nil,
        changes: [PurchaseChange] = [], events: [Event] = []
    ) {
        self.kind = kind
        self.instant = instant
        self.signed = signed
        self.purchase = purchase
        self.productID = productID
        self.changes = changes
        self.events = events
    }

    /// What came in, in Apple's words where it was Apple.
    package var title: String {
        switch kind {
        case .notification(let fact): fact.subtype.map { "\(fact.type) \($0)" } ?? fact.type
        case .observation: "learned without a notification"
        case .time: "time passed"
        case .action(let words): words
        }
    }

    /// The instant that it is ordered by, in ms.
    package func date(in order: TimelineOrder) -> Int64 {
        switch order {
        case .happened: signed ?? instant
        case .heard: instant
        }
    }

    /// Whether it came so much later than it was signed that it is worth telling.
    package var isLate: Bool {
        signed.map { instant > $0.later(by: 10 * 60 * .second) } ?? false
    }
}
