import Base

/// The instant of a page and the zone of its reader: how instants are written on it.
package struct PageClock: Sendable {
    /// Milliseconds since 1970.
    package let now: Int64
    package let zone: LocalZone

    package init(now: Int64, zone: LocalZone = .utc) {
        self.now = now
        self.zone = zone
    }

    /// `3 h ago` with `2026-11-21 01:02 UTC` beside; to the second in `title`.
    package func time(_ instant: Int64) -> Node {
        let (local, name) = (zone.clock(instant), zone.name(at: instant))
        return Tag.time(.datetime(Timestamp.text(instant)), .title("\(local) \(name)")) {
            RelativeTime.phrase(instant, now: now)
            " "
            Tag.small { "\(local.dropLast(3)) \(name)" }
        }
    }

    /// `2026-11-21 01:02 UTC` alone.
    package func absolute(_ instant: Int64) -> Node {
        let (local, name) = (zone.clock(instant), zone.name(at: instant))
        return Tag.time(.datetime(Timestamp.text(instant)), .title("\(local) \(name)")) {
            "\(local.dropLast(3)) \(name)"
        }
    }
}
