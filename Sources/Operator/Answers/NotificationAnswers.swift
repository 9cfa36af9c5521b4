import Base
import Database

package typealias NotificationRow = NotificationSummary

extension NotificationSummary: DeskAnswer {
    /// The members of its JSON document.
    package var members: [JSON.Member] { json.members ?? [] }

    package var json: JSON {
        .object([
            "uuid": .string(identity.uuid), "app": .string(identity.app),
            "environment": .string(identity.environment.rawValue), "type": .string(type), "subtype": .text(subtype),
            "state": .string(state.rawValue), "reason": .text(hold?.reason),
            "attempts": hold.map { .int(Int64($0.attempts)) } ?? .null, "next_attempt_at": .date(hold?.nextAttempt),
            "original_transaction_id": .text(originalTransactionID), "signed_at": .date(signed),
            "received_at": .date(received),
        ])
    }
}

/// A notification with what Apple signed.
package struct StoredNotificationAnswer: DeskAnswer {
    package let whole: NotificationQuery.Whole
    /// Whether what Apple signed is shown, which may name an account of the app.
    package let isPayloadShown: Bool

    package var json: JSON {
        .object(
            whole.summary.members + [
                JSON.Member(name: "payload", value: whole.gap == nil && isPayloadShown ? .raw(whole.payload) : .null),
                JSON.Member(name: "gap", value: .text(whole.gap)),
                JSON.Member(
                    name: "signed_payload",
                    value: .text(
                        whole.signedPayload.isEmpty || !isPayloadShown
                            ? nil : String(decoding: whole.signedPayload, as: UTF8.self))),
            ])
    }
}
