import Base
import Database
import Subscriptions

/// An outage with what Apple's history had of its time, and what became of it. Instants are in ms since 1970.
package struct OutageAnswer: DeskAnswer {
    /// Events that an endpoint takes and never had.
    package struct Lack: Sendable, Equatable {
        package let endpoint: String
        package let events: Int64
        /// Whether all were looked at that an answer may take the time for.
        package let isComplete: Bool
    }

    package let row: OutageRow
    /// Notifications that were signed in the gap, and found in Apple's history within `time` after it.
    package let found: [NotificationRow]
    /// Up to when it was searched back where that is not all; nil: it is all.
    package let lookedBackTo: Int64?
    /// Whether there are more than were read.
    package let isCut: Bool
    /// Events about the purchases of what was found, made since: with a delivery to any endpoint, and without one although an
    /// endpoint takes them.
    package let events: (sent: Int64, withheld: Int64)
    /// The same events by endpoint: those that it takes and never had, whether another one got them or not. Endpoints without
    /// any are left out, and those that were added after the outage.
    package let lacking: [Lack]
    /// Endpoints that are not in `lacking` because there are so many.
    package let uncountedEndpoints: Int

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
                    name: "lacking",
                    value: .array(
                        lacking.map { endpoint in
                            .object([
                                "endpoint": .string(endpoint.endpoint), "events": .int(endpoint.events),
                                "is_complete": .bool(endpoint.isComplete),
                            ])
                        })),
                JSON.Member(name: "uncounted_endpoints", value: .int(Int64(uncountedEndpoints))),
            ])
    }
}

extension OutageRow {
    /// By which one is asked for: the minute since 1970 in which it began.
    package var number: Int64 { from / 60_000 }
}
