import Base
import Subscriptions

/// Something that the records say otherwise than the log.
package struct Difference: Sendable, Equatable {
    package enum Subject: Sendable, Equatable {
        case purchase(PurchaseKey)
        /// An app user id.
        case customer(String)
    }

    package let subject: Subject
    /// What differs: a member of the record, or `record`, `identifier`, `app_user_id`, `alias`.
    package let member: String
    /// What the records say; nil: nothing.
    package let found: JSON?
    /// What the log says; nil: nothing.
    package let expected: JSON?

    package var json: JSON {
        let subject: JSON =
            switch subject {
            case .purchase(let key):
                .object([
                    "app": .string(key.app), "environment": .string(key.environment.rawValue),
                    "original_transaction_id": .string(key.originalTransactionID),
                ])
            case .customer(let id): .object(["app_user_id": .string(id)])
            }
        let more = JSON.object([
            "differs": .string(member), "found": found ?? .null, "expected": expected ?? .null,
        ])
        return .object((subject.members ?? []) + (more.members ?? []))
    }

    /// One line for people.
    package var line: String {
        let name: String =
            switch subject {
            case .purchase(let key): "purchase \(key.originalTransactionID) (\(key.app), \(key.environment.rawValue))"
            case .customer(let id): "customer \(id)"
            }
        return "\(name): \(member) is \(Difference.text(found)), should be \(Difference.text(expected))"
    }

    private static func text(_ value: JSON?) -> String {
        value.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "missing"
    }
}
