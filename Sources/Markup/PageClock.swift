import Base

/// The instant of a page and the zone of its reader: how instants are written on it.
package struct PageClock: Sendable {
    /// Milliseconds since 1970.
    package let now: Int64
    package let zone: PageZone

    package init(now: Int64, zone: PageZone = .utc) {
        self.now = now
        self.zone = zone
    }

    /// `3 h ago` with `2026-11-21 01:02 UTC` beside; to the second in `title`.
    package func time(_ instant: Int64) -> Node {
        let offset = zone.offset(at: instant)
        let local = PageClock.shifted(instant, by: offset.seconds)
        return Tag.time(.datetime(Timestamp.text(instant)), .title("\(local) \(offset.name)")) {
            RelativeTime.phrase(instant, now: now)
            " "
            Tag.small { "\(local.dropLast(3)) \(offset.name)" }
        }
    }

    /// `2026-11-21 01:02 UTC` alone.
    package func absolute(_ instant: Int64) -> Node {
        let offset = zone.offset(at: instant)
        let local = PageClock.shifted(instant, by: offset.seconds)
        return Tag.time(.datetime(Timestamp.text(instant)), .title("\(local) \(offset.name)")) {
            "\(local.dropLast(3)) \(offset.name)"
        }
    }

    /// `2026-11-21 01:02:03` by clocks that are so many seconds east of UTC.
    private static func shifted(_ instant: Int64, by seconds: Int64) -> String {
        let (local, overflow) = instant.addingReportingOverflow(seconds * 1000)
        return String(Timestamp.text(overflow ? instant : local).dropLast().map { $0 == "T" ? " " : $0 })
    }
}

/// A time zone: how far its clocks are from UTC at an instant.
package struct PageZone: Sendable {
    /// As the zone's database names it, or `UTC`.
    package let name: String
    private let lookUp: @Sendable (Int64) -> (seconds: Int64, name: String)

    /// - Parameter offset: seconds east of UTC and the abbreviation at an instant, which is in ms since 1970.
    package init(name: String, offset: @escaping @Sendable (Int64) -> (seconds: Int64, name: String)) {
        self.name = name
        lookUp = offset
    }

    package static let utc = PageZone(name: "UTC") { _ in (0, "UTC") }

    func offset(at instant: Int64) -> (seconds: Int64, name: String) { lookUp(instant) }
}
