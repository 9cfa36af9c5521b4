import Base

/// An answer to an operator. Pages, commands and the API show the same value.
package protocol DeskAnswer: Sendable {
    var json: JSON { get }
}

/// A page of a list.
package struct DeskList<Item: DeskAnswer>: DeskAnswer {
    package let items: [Item]
    /// The cursor of the next page; nil: this is the last one.
    package let next: String?
    /// How far back the list was read where that is not to its end, in ms since 1970: there may be more before, which the next
    /// page goes on with.
    package let lookedBackTo: Int64?
    /// All rows of the list, where they were counted.
    package var count: DeskCount?

    package init(_ items: [Item], next: String? = nil, lookedBackTo: Int64? = nil) {
        self.items = items
        self.next = next
        self.lookedBackTo = lookedBackTo
    }

    package var json: JSON {
        .object([
            "items": .array(items.map(\.json)), "next": .text(next), "looked_back_to": .date(lookedBackTo),
            "count": count?.json,
        ])
    }
}

/// How many rows a list has, as far as they were counted.
package struct DeskCount: Sendable, Equatable {
    package let value: Int64
    /// Whether there may be more: it ends at 10,000, and where counting takes too long.
    package let isCapped: Bool

    package init(_ value: Int64, isCapped: Bool) { (self.value, self.isCapped) = (value, isCapped) }

    package var json: JSON { .object(["value": .int(value), "is_capped": .bool(isCapped)]) }
}
