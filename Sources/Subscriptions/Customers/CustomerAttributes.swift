import Base

/// What is known of one attribute.
package struct AttributeValue: Sendable, Equatable {
    /// Nil: it was deleted.
    package let value: String?
    /// When its writer says that it was written, in ms since 1970.
    package let updated: Int64

    package init(value: String?, updated: Int64) {
        self.value = value
        self.updated = updated
    }
}

/// The attributes of a customer (`subscriber_attributes`), of all ids together.
package struct CustomerAttributes: Sendable, Equatable {
    /// By key, with those that were deleted.
    package private(set) var all: [String: AttributeValue] = [:]

    package init() {}

    /// Takes in what another id brings, in any order: the newer counts, at one instant the greater value; of what is set
    /// once the older.
    package mutating func add(_ key: String, _ new: AttributeValue) {
        guard let known = all[key] else {
            all[key] = new
            return
        }
        let isNewer = (known.updated, known.value ?? "") < (new.updated, new.value ?? "")
        if isNewer != AttributePolicy.isWrittenOnce(key) { all[key] = new }
    }

    /// Those that are set.
    package var live: [String: AttributeValue] { all.filter { $0.value.value != nil } }

    /// `{key: {"value", "updated_at_ms"}}`, sorted by key.
    package var json: JSON {
        .object(
            live.sorted { $0.key < $1.key }.map { key, attribute in
                JSON.Member(
                    name: key,
                    value: .object(["updated_at_ms": .int(attribute.updated), "value": .text(attribute.value)]))
            })
    }
}
