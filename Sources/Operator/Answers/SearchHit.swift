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

    /// What an app said of the customer, and may have said of others.
    package var isByAttribute: Bool { matched.hasPrefix(SearchHit.attribute) }

    static let attribute = "attribute, as the app says: "
    /// Hits by attributes at most.
    package static let mostByAttribute = 50

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
