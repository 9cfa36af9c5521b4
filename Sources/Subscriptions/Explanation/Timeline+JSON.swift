import Base

extension Timeline {
    /// For programs: an array, oldest first in its order.
    package var json: JSON { .array(entries.map(\.json)) }
}

extension TimelineEntry {
    package var json: JSON {
        .object([
            "app": .text(purchase?.app), "arrived_at": .date(instant),
            "changes": .array(changes.map { .object(["change": .string($0.name), "text": .string($0.sentence)]) }),
            "environment": .text(purchase?.environment.rawValue), "events": .array(events.map(\.json)),
            "kind": .string(word), "original_transaction_id": .text(purchase?.originalTransactionID),
            "product_id": .text(productID), "signed_at": .date(signed), "title": .string(title),
            "type": .text(notification?.type), "subtype": .text(notification?.subtype),
            "uuid": .text(notification?.uuid),
        ])
    }

    private var notification: NotificationFact? {
        if case .notification(let fact) = kind { fact } else { nil }
    }

    private var word: String {
        switch kind {
        case .notification: "notification"
        case .observation: "observation"
        case .time: "time"
        case .action: "action"
        }
    }
}

extension TimelineEntry.Event {
    fileprivate var json: JSON {
        .object([
            "deliveries": .array((trace?.deliveries ?? []).map(\.json)), "id": .string(id),
            "made_at": .date(trace?.made), "on_record": .bool(trace?.isKept ?? false), "reason": .text(reason),
            "type": .string(type),
        ])
    }
}

extension DeliveryTrace {
    fileprivate var json: JSON {
        .object([
            "attempts": .int(Int64(attempts)), "delivered_at": .date(delivered), "endpoint_id": .string(endpoint),
            "last_status": .integer(lastStatus.map(Int64.init)), "next_at": .date(next), "reason": .text(reason),
            "state": .string(state),
        ])
    }
}
