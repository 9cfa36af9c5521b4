import Base
import Database
import Postgres
import Subscriptions

/// Customers who were first seen in a time, a row each. In one snapshot, and in the memory of some hundred customers.
package struct CustomerFeed: Sendable {
    package static let columns = [
        "rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "first_seen_time", "last_seen_time", "aliases",
        "reserved_subscriber_attributes", "custom_subscriber_attributes",
    ]

    private let seen: Range<Int64>
    private let showsAttributes: Bool

    /// - Parameters:
    ///   - seen: in which they were first seen, in ms.
    ///   - showsAttributes: which are personal data.
    package init(seen: Range<Int64>, showsAttributes: Bool) {
        self.seen = seen
        self.showsAttributes = showsAttributes
    }

    /// - Parameters:
    ///   - progress: gets the part that is done, from 0 to 1, and the rows so far.
    ///   - write: gets some rows at a time.
    /// - Returns: how many rows there are.
    package func run(
        on connection: PostgresConnection, progress: (Double, Int64) -> Void, write: ([[String]]) throws -> Void
    ) throws -> Int64 {
        try connection.transaction(opening: [FeedSnapshot.isolation]) { _ in
            let total = try CustomerTable.count(firstSeen: seen, on: connection)
            var count: Int64 = 0
            var last = ""
            while true {
                let roots = try CustomerTable.page(after: last, firstSeen: seen, on: connection)
                guard let end = roots.last else { return count }
                last = end
                let customers = try CustomerTable.load(Set(roots), on: connection)
                let rows = roots.compactMap { customers[$0] }.map(fields)
                count += Int64(rows.count)
                try write(rows)
                progress(Double(count) / Double(max(1, total)), count)
            }
        }
    }

    private func fields(_ customer: Customer) -> [String] {
        let lastSeen = customer.seen.values.max() ?? customer.firstSeen
        return [
            customer.originalAppUserID, customer.lastSeenID ?? customer.originalAppUserID,
            FeedTime.text(customer.firstSeen), FeedTime.text(lastSeen), JSON.strings(customer.appUserIDs).text,
        ]
            + (showsAttributes
                ? [customer.attributes.part(isReserved: true), customer.attributes.part(isReserved: false)] : ["", ""])
    }
}

/// Times as RevenueCat's exports spell them, in UTC.
enum FeedTime {
    /// - Parameter instant: ms since 1970; nil is empty.
    static func text(_ instant: Int64?) -> String {
        instant.map { Timestamp.text($0).replacing("T", with: " ").replacing("Z", with: "") } ?? ""
    }
}

extension CustomerAttributes {
    /// `{key: {"value", "updated_at_ms"}}` of those whose keys begin with "$", or of the others.
    func part(isReserved: Bool) -> String {
        JSON.object((json.members ?? []).filter { $0.name.hasPrefix("$") == isReserved }).text
    }
}
