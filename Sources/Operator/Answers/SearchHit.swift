import Base

/// Something that a searched text names.
package struct SearchHit: DeskAnswer, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case customer, event, delivery, notification, endpoint
    }

    package let kind: Kind
    /// By which it is shown; of a notification its UUID.
    package let id: String
    /// Of a notification.
    package let app: String?
    package let environment: StoreEnvironment?
    /// By what it was found, in words: `user id, differs in case only`.
    package let matched: String

    package init(
        _ kind: Kind, _ id: String, app: String? = nil, environment: StoreEnvironment? = nil, matched: String
    ) {
        self.kind = kind
        self.id = id
        self.app = app
        self.environment = environment
        self.matched = matched
    }

    package var json: JSON {
        .object([
            "kind": .string(kind.rawValue), "id": .string(id), "app": .text(app),
            "environment": .text(environment?.rawValue), "matched": .string(matched),
        ])
    }
}
