import Subscriptions

/// Which events each of Apple's notifications makes: what `EventDeriver` is tested against, row by row.
///
/// The deriver does not read it: it compares states, and this is what comes of that. Where what is known of
/// RevenueCat's service leaves a choice, the row says how it was made.
package enum EventTypeTable {
    /// One condition under which a notification is heard. Rows of one number are its cases.
    package struct Row: Sendable {
        /// From 1 on.
        package let number: Int
        /// Apple's `notificationType`, or "any".
        package let notificationType: String
        package let subtype: String?
        /// What makes it this row and no other one of its notification.
        package let condition: String
        /// In the order in which they are told.
        package let outcomes: [Outcome]
        package let certainty: Certainty
        /// Why it is so; where it is inferred there is always a reason.
        package let decision: String

        package var name: String { "\(number) \(condition)" }
    }

    package enum Certainty: String, Sendable {
        /// RevenueCat or Apple say so.
        case certain
        /// Chosen, because neither does.
        case inferred
    }

    /// An event, and the members that matter in this row.
    package struct Outcome: Sendable {
        package let type: EventType
        package let reason: EventReason?
        /// Member of the event to its value: as JSON has it, texts without quotes, or where it is taken from.
        /// `T.` is a member of the transaction that is heard, `R.` of the renewal info, `stored.` of the latest period
        /// before.
        package let members: KeyValuePairs<String, String>

        /// As in `CANCELLATION(UNSUBSCRIBE)`.
        package var name: String { reason.map { "\(type.rawValue)(\($0.rawValue))" } ?? type.rawValue }
    }

    package static let rows: [Row] =
        startRows + renewalRows + choiceRows + offerRows + failureRows + endRows + priceRows + refundRows + otherRows
}

extension EventTypeTable {
    static func certain(
        _ number: Int, _ notificationType: String, _ subtype: String?, _ condition: String, _ outcomes: [Outcome],
        _ decision: String = ""
    ) -> Row {
        Row(
            number: number, notificationType: notificationType, subtype: subtype, condition: condition,
            outcomes: outcomes, certainty: .certain, decision: decision)
    }

    static func inferred(
        _ number: Int, _ notificationType: String, _ subtype: String?, _ condition: String, _ outcomes: [Outcome],
        _ decision: String
    ) -> Row {
        Row(
            number: number, notificationType: notificationType, subtype: subtype, condition: condition,
            outcomes: outcomes, certainty: .inferred, decision: decision)
    }

    static func event(
        _ type: EventType, _ reason: EventReason? = nil, _ members: KeyValuePairs<String, String> = [:]
    ) -> Outcome {
        Outcome(type: type, reason: reason, members: members)
    }
}
