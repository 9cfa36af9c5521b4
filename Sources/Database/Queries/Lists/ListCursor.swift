import Base
import Crypto

/// The last row that a page of a list showed: the next page begins after it.
///
/// Its text is opaque. It names the filters that the page was asked with, so that a cursor of another list, or of the
/// same list with other filters, is rejected instead of answered with the wrong rows.
package struct ListCursor: Equatable, Sendable {
    /// What the list is ordered by, the greatest first: ms since 1970, or a position in the log.
    package let order: Int64
    /// Tells rows apart that have the same `order`: a lane and 16 bytes. The least lane is before all of them.
    package let lane: Int16
    package let id: [UInt8]

    private static let version: UInt8 = 1
    private static let filterLength = 8
    private static let idLength = 16

    package init(order: Int64, lane: Int16, id: [UInt8] = []) {
        self.order = order
        self.lane = lane
        self.id = id + [UInt8](repeating: 0, count: max(0, ListCursor.idLength - id.count))
    }

    /// Before all rows of an instant: what is later was read when the budget of a page ended.
    ///
    /// - Parameters:
    ///   - order: of the instant.
    ///   - part: of the scan, in ms.
    init(stoppedAt order: Int64, part: Int64) {
        let bytes = withUnsafeBytes(of: part.bigEndian) { Array($0) }
        self.init(order: order, lane: .min, id: [UInt8](repeating: 0, count: ListCursor.idLength - bytes.count) + bytes)
    }

    /// The part with which a scan goes on, in ms; nil: the cursor is that of a row.
    var part: Int64? {
        guard lane == .min else { return nil }
        let part = id.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return part == 0 ? nil : Int64(clamping: part)
    }

    /// Reads a cursor's text.
    ///
    /// - Parameter filters: a spelling of the list and its filters, the same for every page.
    package init(text: String, filters: String) throws(ListCursorError) {
        let length = 1 + ListCursor.filterLength + 8 + 2 + ListCursor.idLength
        guard let bytes = Base64.decodeURL(text.utf8), bytes.count == length, bytes.first == ListCursor.version else {
            throw .unreadable
        }
        var rest = bytes.dropFirst()
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard take(ListCursor.filterLength) == ListCursor.hash(filters) else { throw .otherFilters }
        let order = take(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let lane = take(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
        self.init(order: Int64(bitPattern: order), lane: Int16(bitPattern: lane), id: take(ListCursor.idLength))
    }

    package func text(filters: String) -> String {
        var bytes = [ListCursor.version] + ListCursor.hash(filters)
        withUnsafeBytes(of: order.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: lane.bigEndian) { bytes += $0 }
        return Base64.encodeURL(bytes + id)
    }

    private static func hash(_ filters: String) -> [UInt8] {
        Array(Digest.sha256(Array(filters.utf8)).prefix(filterLength))
    }
}

/// Why a text names no position in a list.
package enum ListCursorError: Error, CustomStringConvertible {
    case unreadable
    case otherFilters

    package var description: String {
        switch self {
        case .unreadable: "is not a cursor of a list; use the value of `next` of the previous page"
        case .otherFilters: "belongs to a list with other filters; repeat the filters of the previous page"
        }
    }
}

/// The part of a list that is asked for.
package struct ListRange: Sendable {
    /// ms since 1970, inclusive.
    package let since: Int64?
    /// ms since 1970, exclusive.
    package let until: Int64?
    package let after: ListCursor?
    /// Rows at most, at least 1.
    package let limit: Int
    /// How long is looked for rows; nil: until the page is full or the list ends.
    package let budget: Duration?

    package init(
        since: Int64? = nil, until: Int64? = nil, after: ListCursor? = nil, limit: Int, budget: Duration? = nil
    ) {
        self.since = since
        self.until = until
        self.after = after
        self.limit = limit
        self.budget = budget
    }
}

/// A page of a list.
package struct ListPage<Row: Sendable>: Sendable {
    package let rows: [Row]
    /// Where the next page begins; nil when this is the last.
    package let next: ListCursor?
    /// Up to when the list was read where its budget ended before, in ms since 1970; nil: the page is full, or the last.
    package let lookedBackTo: Int64?

    /// - Parameters:
    ///   - found: one row more than `limit` where there is another page.
    ///   - stop: where the budget ended.
    package init(
        _ found: [Row], limit: Int, stop: (instant: Int64, cursor: ListCursor)? = nil, cursor: (Row) -> ListCursor
    ) {
        rows = Array(found.prefix(limit))
        let isFull = found.count > limit
        next = isFull ? rows.last.map(cursor) : stop?.cursor
        lookedBackTo = isFull ? nil : stop?.instant
    }

    package func map<Other>(_ transform: ([Row]) throws -> [Other]) rethrows -> ListPage<Other> {
        ListPage<Other>(rows: try transform(rows), next: next, lookedBackTo: lookedBackTo)
    }

    private init(rows: [Row], next: ListCursor?, lookedBackTo: Int64?) {
        self.rows = rows
        self.next = next
        self.lookedBackTo = lookedBackTo
    }
}
