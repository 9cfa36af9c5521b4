import Base
import Database
import Subscriptions

/// An outage with what Apple's history had of its time. Instants are in ms since 1970.
package struct OutageAnswer: DeskAnswer {
    package let row: OutageRow
    /// Notifications that were signed in the gap, and found in Apple's history within `searchedFor` after it.
    package let found: [NotificationRow]
    /// Up to when it was searched back where that is not all; nil: it is all.
    package let lookedBackTo: Int64?
    /// Whether there are more than were read.
    package let isCut: Bool

    package var json: JSON {
        .object(
            (row.json.members ?? []) + [
                JSON.Member(name: "found", value: .array(found.map(\.json))),
                JSON.Member(name: "looked_back_to", value: .date(lookedBackTo)),
                JSON.Member(name: "is_cut", value: .bool(isCut)),
            ])
    }
}

extension OutageRow {
    /// By which one is asked for: the minute since 1970 in which it began.
    package var number: Int64 { from / 60_000 }
}
