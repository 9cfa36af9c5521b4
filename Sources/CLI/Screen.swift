import Base
import Glibc

/// A terminal that a person looks at: its width, and the person's time zone.
package struct Screen: Sendable {
    /// Characters of a line.
    package let columns: Int
    /// Lines; nil where that is unknown.
    package let rows: Int?
    private let zone: LocalZone
    private let clock: any WallClock

    /// The width of a terminal that does not report one.
    private static let standardColumns = 80
    /// A narrower terminal is treated as this wide: no text can be laid out in less.
    private static let fewestColumns = 20

    package init(columns: Int, rows: Int? = nil, zone: LocalZone = .utc, clock: any WallClock = SystemClock()) {
        self.rows = rows
        self.columns = max(Screen.fewestColumns, columns)
        self.zone = zone
        self.clock = clock
    }

    /// The terminal behind a file descriptor; nil for a file or a pipe.
    static func behind(_ file: Int32, _ environment: [String: String]) -> Screen? {
        guard isatty(file) == 1 else { return nil }
        var size = winsize()
        let isKnown = ioctl(file, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let reported = isKnown ? Int(size.ws_col) : environment["COLUMNS"].flatMap { Int($0) }
        return Screen(
            columns: reported ?? standardColumns, rows: isKnown && size.ws_row > 0 ? Int(size.ws_row) : nil,
            zone: .ofProcess)
    }

    /// Milliseconds since 1970.
    package var now: Int64 { clock.now() }

    /// `2026-11-21T01:02:03Z (02:02:03 CET, 3 h ago)`; the local time is missing where it is UTC.
    package func time(_ instant: Int64) -> String {
        Timestamp.text(instant) + remark(instant)
    }

    /// ` (02:02:03 CET, 3 h ago)`, to stand behind an instant in UTC.
    package func remark(_ instant: Int64) -> String {
        let remarks = [zone.text(instant), RelativeTime.phrase(instant, now: now)].compactMap(\.self)
        return " (\(remarks.joined(separator: ", ")))"
    }
}

extension LocalZone {
    /// The zone that `TZ` names, else the zone of this host.
    package static let ofProcess = LocalZone { instant in
        var seconds = time_t((Double(instant) / 1000).rounded(.down))
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return (0, "UTC") }
        return (Int64(parts.tm_gmtoff), parts.tm_zone.map { String(cString: $0) } ?? "")
    }
}
