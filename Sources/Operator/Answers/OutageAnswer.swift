import Base
import Database
import Subscriptions

/// An outage with what Apple's history had of its time, and what became of it. Instants are in ms since 1970.
package struct OutageAnswer: DeskAnswer {
    /// Events that an endpoint takes and never had.
    package struct Withheld: Sendable, Equatable {
        package let endpoint: String
        package let count: Int64
        /// Whether all were counted within the time that an answer may take.
        package let isComplete: Bool
    }

    package let row: OutageRow
    /// Notifications that were signed in the gap, and found in Apple's history within `time` after it.
    package let found: [NotificationRow]
    /// Up to when it was searched back where that is not all; nil: it is all.
    package let lookedBackTo: Int64?
    /// Whether there are more than were read.
    package let isCut: Bool
    /// From the beginning of the outage until what was found of it had been applied.
    package let time: Range<Int64>
    /// Events about the purchases of what was found, made since: with a delivery, and without one although an endpoint takes them.
    package let events: (sent: Int64, withheld: Int64)
    /// By endpoint: what a replay of missing events would send for that time. Endpoints without any are left out.
    package let withheld: [Withheld]

    package var applied: Int64 { Int64(found.count { $0.state == .applied }) }

    package var json: JSON {
        .object(
            (row.json.members ?? []) + [
                JSON.Member(name: "found", value: .array(found.map(\.json))),
                JSON.Member(name: "looked_back_to", value: .date(lookedBackTo)),
                JSON.Member(name: "is_cut", value: .bool(isCut)), JSON.Member(name: "applied", value: .int(applied)),
                JSON.Member(
                    name: "events",
                    value: .object(["sent": .int(events.sent), "withheld": .int(events.withheld)])),
                JSON.Member(
                    name: "time",
                    value: .object(["since": .date(time.lowerBound), "until": .date(time.upperBound)])),
                JSON.Member(
                    name: "withheld",
                    value: .array(
                        withheld.map { endpoint in
                            .object([
                                "endpoint": .string(endpoint.endpoint), "events": .int(endpoint.count),
                                "is_complete": .bool(endpoint.isComplete),
                            ])
                        })),
            ])
    }
}

extension OutageRow {
    /// By which one is asked for: the minute since 1970 in which it began.
    package var number: Int64 { from / 60_000 }
}
