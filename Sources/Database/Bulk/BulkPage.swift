import Base

/// Some of the rows of a `BulkSelection` in an order that no change of them alters, and where to go on behind them.
package struct BulkPage<Row: Sendable>: Sendable {
    package let rows: [Row]
    /// Words; what follows begins behind it.
    package let end: [String]
    package let isLast: Bool
    /// How far that is, from 0 to 1.
    package let fraction: Double

    package init(rows: [Row], end: [String], isLast: Bool, fraction: Double) {
        self.rows = rows
        self.end = end
        self.isLast = isLast
        self.fraction = fraction
    }
}

/// Why a row of a selection is left as it is.
package enum BulkSkip: String, Sendable, CaseIterable {
    /// It is on its way already.
    case open
    /// It was delivered or given up.
    case ended
    case endpointDisabled = "endpoint_disabled"
    case endpointRemoved = "endpoint_removed"
    /// Retention has dropped what would be sent.
    case notKept = "not_kept"
    /// It is not what it was when it was read, or there is none of this id.
    case changed
    /// No customer has the id, or not any more.
    case unknown
    /// Another id of a customer who is meant, too.
    case sameCustomer = "same_customer"
    /// The customer got the same shortly before.
    case repeated
    /// It failed, alone as among others.
    case failed
}

/// What a page came to.
package struct BulkDone: Sendable {
    package var queued: Int64 = 0
    package var skipped: [BulkSkip: Int64] = [:]

    package init() {}

    package mutating func skip(_ reason: BulkSkip, _ count: Int = 1) {
        if count > 0 { skipped[reason, default: 0] += Int64(count) }
    }

    package static func += (a: inout BulkDone, b: BulkDone) {
        a.queued += b.queued
        a.skipped.merge(b.skipped, uniquingKeysWith: +)
    }

    /// `{"open": 3}`
    package var skippedJSON: JSON {
        .object(
            skipped.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                JSON.Member(name: $0.key.rawValue, value: .int($0.value))
            })
    }

    /// Reads what `skippedJSON` is.
    package static func skipped(_ text: String) -> [BulkSkip: Int64] {
        let members = (try? JSON(parsing: Array(text.utf8)))?.members ?? []
        return members.reduce(into: [:]) { counts, member in
            if let reason = BulkSkip(rawValue: member.name) { counts[reason] = member.value.intValue ?? 0 }
        }
    }
}
