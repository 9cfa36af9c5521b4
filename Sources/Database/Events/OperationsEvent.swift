import Base
import Crypto
import Subscriptions

/// What operators should know about their consumers and their database, as an event: `{"type":…,"timestamp":…,"data":{…}}`, the shape that
/// Standard Webhooks 1.0.0 recommends.
package struct OperationsEvent: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// An endpoint has failed for so long that an operator should look after it.
        case failing = "endpoint.failing"
        case disabled = "endpoint.disabled"
        /// An endpoint that a notice was sent about works again.
        case recovered = "endpoint.recovered"
        /// Deliveries were given up.
        case dead = "delivery.dead"
        /// The database went back to an earlier state, or may have.
        case databaseReturned = "database.returned"
        /// Asked for by hand.
        case test = "operations.test"
    }

    package let kind: Kind
    /// What the id follows from, so that two workers tell it once.
    package let cause: String
    /// Milliseconds.
    package let at: Int64
    package let data: JSON

    package init(_ kind: Kind, cause: String, at: Int64, data: JSON) {
        self.kind = kind
        self.cause = cause
        self.at = at
        self.data = data
    }

    /// No event of a subscription has such a type.
    package static func isOne(_ type: String) -> Bool { Kind(rawValue: type) != nil }

    /// 16 bytes that follow from the cause.
    package var id: [UInt8] {
        let digest = Digest.sha256(Array("operations\u{0}\(kind.rawValue)\u{0}\(cause)".utf8))
        return UUIDText.bytes(EventID.uuid(of: digest)) ?? []
    }

    /// In the first lane, whose owner tells such events.
    package var event: NewEvent {
        let body = JSON.object([
            "type": .string(kind.rawValue), "timestamp": .string(Timestamp.precise(at)), "data": data,
        ])
        return NewEvent(
            lane: Lane.first, id: id, type: kind.rawValue, app: "", environment: .production,
            originalTransactionID: nil, body: body.bytes)
    }
}
