/// A time zone: how far its clocks are from UTC at an instant.
package struct LocalZone: Sendable {
    /// Seconds east of UTC, and the zone's abbreviation.
    package typealias Offset = (seconds: Int64, name: String)

    private let offset: @Sendable (_ instant: Int64) -> Offset

    /// - Parameter offset: the offset at an instant, in ms since 1970.
    package init(_ offset: @escaping @Sendable (_ instant: Int64) -> Offset) {
        self.offset = offset
    }

    package static let utc = LocalZone { _ in (0, "UTC") }

    /// What the zone's clocks show at an instant in ms since 1970, as an instant of UTC.
    private func shown(_ instant: Int64) -> Int64 {
        let (shown, overflow) = instant.addingReportingOverflow(offset(instant).seconds * 1000)
        return overflow ? instant : shown
    }

    /// The calendar day of the zone at an instant in ms since 1970.
    package func day(of instant: Int64) -> Day { Day(of: shown(instant)) }

    /// When a calendar day of the zone begins, in ms since 1970: at the first instant whose clocks show it.
    package func start(of day: Day) -> Int64 {
        let midnight = day.start
        // Clocks are changed once within two days at most, so the day begins under the offset before it or after it.
        let candidates = [day.adding(-1), day.adding(1)].map { midnight - offset($0.start).seconds * 1000 }
        return candidates.sorted().first { shown($0) >= midnight } ?? midnight
    }

    /// Its abbreviation at an instant in ms since 1970, such as `CEST`; for zones without one, the hours such as `+03`.
    package func name(at instant: Int64) -> String { offset(instant).name }

    /// `2026-11-21 02:02:03`, as the zone's clocks show an instant in ms since 1970.
    package func clock(_ instant: Int64) -> String {
        String(Timestamp.text(shown(instant)).dropLast().map { $0 == "T" ? " " : $0 })
    }

    /// `02:02:03 CET`, after the date where that differs from the date in UTC; nil where clocks show UTC, and for an instant
    /// at the end of what can be counted, as a payload may have it.
    package func text(_ instant: Int64) -> String? {
        let (seconds, name) = offset(instant)
        guard seconds != 0, !instant.addingReportingOverflow(seconds * 1000).overflow else { return nil }
        let local = Timestamp.text(shown(instant)).dropLast()
        let time = local.suffix(8)
        let isSameDay = local.prefix(10) == Timestamp.text(instant).prefix(10)
        return (isSameDay ? "" : "\(local.prefix(10)) ") + "\(time) \(name)"
    }
}

/// The name of a time zone in the IANA database, such as `Europe/Vienna`.
package struct TimeZoneName: Hashable, Sendable {
    package let text: String

    package static let utc = TimeZoneName(known: "UTC")

    private init(known text: String) {
        self.text = text
    }

    /// Nil for a text that cannot be such a name (Theory and pragmatics of the tz code and data, "Names of timezones").
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isNamed = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.count <= 32
                && part.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                        UInt8(ascii: "+"):
                        true
                    default: false
                    }
                }
        }
        guard isNamed, parts.count <= 4 else { return nil }
        self.text = text
    }
}
