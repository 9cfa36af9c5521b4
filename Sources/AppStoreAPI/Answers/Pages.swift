import AppStore
import Base

/// Some of a customer's transactions.
package struct TransactionPage: Sendable {
    package let transactions: [SignedItem<TransactionPayload>]
    /// For the next page; of the last one too, to ask for what changed later.
    package let revision: String?
    package let hasMore: Bool
}

/// Some of Apple's notification history.
package struct NotificationPage: Sendable {
    package let items: [NotificationHistoryItem]
    /// For the next page.
    package let paginationToken: String?
    package let hasMore: Bool
}

/// A notification that Apple sent or tried to.
package struct NotificationHistoryItem: Sendable {
    /// The compact JWS, as the endpoint gets it.
    package let signedPayload: String
    package let data: Result<InspectedData, VerificationFailure>
    /// The first one first; at most six.
    package let attempts: [SendAttempt]
}

/// Reads page after page. Never endless, whatever the server answers: each page must lead to another than all before,
/// and only so many in a row may be empty.
package struct PageReader<Page: Sendable>: Sendable {
    /// What a page says about the next one.
    struct Link {
        let mark: String?
        let hasMore: Bool
        let isEmpty: Bool
    }

    /// In a row.
    private static var emptyLimit: Int { 20 }
    /// Twenty million notifications or transactions.
    private static var pageLimit: Int { 1_000_000 }

    private let fetch: @Sendable (String?) -> Result<Page, ServerAPIError>
    private let link: @Sendable (Page) -> Link
    /// By hash: the marks are long, and a chance of one in 2^64 to stop too early does no harm.
    private var seen: Set<Int> = []
    private var (pages, empty) = (0, 0)
    private var isOver = false

    /// What the next page comes after; keep it to go on later. Nil: the beginning.
    package private(set) var position: String?

    init(
        from position: String?, link: @escaping @Sendable (Page) -> Link,
        fetch: @escaping @Sendable (String?) -> Result<Page, ServerAPIError>
    ) {
        self.position = position
        self.link = link
        self.fetch = fetch
    }

    /// The next page; nil behind the last one.
    package mutating func next() throws(ServerAPIError) -> Page? {
        guard !isOver else { return nil }
        let page = try fetch(position).get()
        let link = link(page)
        isOver = !link.hasMore
        guard link.hasMore else {
            position = link.mark ?? position
            return page
        }
        guard let mark = link.mark, !mark.isEmpty, mark.utf8.count <= 4096 else {
            throw .malformed("there are more pages, but nothing says how to get them")
        }
        pages += 1
        empty = link.isEmpty ? empty + 1 : 0
        guard mark != position, seen.insert(mark.hashValue).inserted else {
            throw .malformed("the pages go in a circle")
        }
        guard pages < PageReader.pageLimit, empty < PageReader.emptyLimit else {
            throw .malformed("the pages do not end")
        }
        position = mark
        return page
    }
}

extension PageReader<TransactionPage> {
    /// What all pages together hold.
    package mutating func all() throws(ServerAPIError) -> [SignedItem<TransactionPayload>] {
        var items: [SignedItem<TransactionPayload>] = []
        while let page = try next() {
            items += page.transactions
        }
        return items
    }
}
