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

    package init(_ items: [Item], next: String? = nil, lookedBackTo: Int64? = nil) {
        self.items = items
        self.next = next
        self.lookedBackTo = lookedBackTo
    }

    package var json: JSON {
        .object([
            "items": .array(items.map(\.json)), "next": .text(next), "looked_back_to": .date(lookedBackTo),
        ])
    }
}
