import Base
import Crypto

/// An event before it has a receiver's identity: what happened, and to which period.
package struct EventDraft: Sendable, Equatable {
    package let type: EventType
    /// What it is told for, within its type, app and environment; the same cause is told once.
    package let cause: String
    package let purchase: PurchaseKey
    /// The period it speaks of, as it is now.
    package let period: Period
    /// `event_timestamp_ms`: when the event was made.
    package let timestamp: Int64
    /// `expiration_at_ms`.
    package let expiration: Int64?
    package let payment: Payment
    /// `cancel_reason` or `expiration_reason`.
    package let reason: EventReason?
    /// `new_product_id` of a PRODUCT_CHANGE.
    package let newProductID: String?
    /// `grace_period_expiration_at_ms` of a BILLING_ISSUE.
    package let graceUntil: Int64?
    /// `is_trial_conversion`: by this event it becomes known that a trial was paid on.
    package let isTrialConversion: Bool

    /// What it depends on whether it is told at all; nil: nothing.
    package internal(set) var sequel: Sequel?

    /// Of an EXPIRATION of a period that was extended. If the extension is heard of when its end has passed too, one end
    /// would be told twice.
    package struct Sequel: Sendable, Equatable {
        /// Causes of the EXPIRATIONs that the period may have had before.
        package let ends: [String]
        /// Causes of SUBSCRIPTION_EXTENDED: after that, an end is an end again.
        package let extensions: [String]
    }

    /// Whether it repeats an end that was told.
    ///
    /// - Parameter told: whether there is such an event.
    package func isRepetition(told: (EventType, _ cause: String) throws -> Bool) rethrows -> Bool {
        guard let sequel, try !sequel.extensions.contains(where: { try told(.subscriptionExtended, $0) }) else {
            return false
        }
        return try sequel.ends.contains { try told(.expiration, $0) }
    }

    /// Money that moved, and where to; a nil charge is of what was free.
    package enum Payment: Sendable, Equatable {
        case none
        case received(Charge?)
        case returned(Charge?)
    }

    init(
        _ type: EventType, cause: String, of period: Period, in purchase: PurchaseKey, at timestamp: Int64,
        expiration: Int64?? = nil, payment: Payment = .none, reason: EventReason? = nil, newProductID: String? = nil,
        graceUntil: Int64? = nil, isTrialConversion: Bool = false
    ) {
        self.type = type
        self.cause = cause
        self.purchase = purchase
        self.period = period
        self.timestamp = timestamp
        self.expiration = expiration ?? period.transaction.expiresDate
        self.payment = payment
        self.reason = reason
        self.newProductID = newProductID
        self.graceUntil = graceUntil
        self.isTrialConversion = isTrialConversion
    }
}

extension EventDraft {
    /// An upper-case UUID (RFC 9562, version 8) of type, app, environment and cause: two drafts for one cause have one
    /// id, whenever and wherever they are made.
    package var id: String { id(of: type, cause) }

    /// The id of another event of the same purchase.
    package func id(of type: EventType, _ cause: String) -> String {
        let content = [type.rawValue, purchase.app, purchase.environment.rawValue, cause].joined(separator: "|")
        return EventID.uuid(hashing: content)
    }
}

/// Ids of events.
package enum EventID {
    /// The id that follows from this text, by SHA-256.
    package static func uuid(hashing text: String) -> String { uuid(of: Digest.sha256(Array(text.utf8))) }

    /// The first 16 bytes as an upper-case UUID with the bits of version 8; missing bytes are zero.
    package static func uuid(of digest: [UInt8]) -> String {
        var bytes = Array(digest.prefix(16))
        bytes += [UInt8](repeating: 0, count: 16 - bytes.count)
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = Hex.encode(bytes).uppercased()
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place == 8 || place == 12 || place == 16 || place == 20 { text.append("-") }
            text.append(digit)
        }
        return text
    }
}
