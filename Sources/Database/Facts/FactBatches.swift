import Base
import Postgres
import Subscriptions

/// Parts of a list of purchases whose facts are in memory together: one purchase may have as many as a thousand others.
package enum FactBatches {
    /// Rows of `fact` that a part has at most, unless it is one purchase.
    private static let rows = 20_000

    /// Consecutive ranges of the list, which cover it.
    package static func split(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [Range<Int>] {
        split(try FactTable.counts(of: keys, upTo: rows, on: connection), atMost: rows)
    }

    /// Pure: the same by the number of rows of each.
    package static func split(_ counts: [Int], atMost limit: Int) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var (start, sum) = (0, 0)
        for (place, count) in counts.enumerated() {
            if place > start, sum + count > limit {
                parts.append(start..<place)
                (start, sum) = (place, 0)
            }
            sum += count
        }
        if start < counts.count { parts.append(start..<counts.count) }
        return parts
    }
}
