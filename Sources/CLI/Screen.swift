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

    /// Makes the zone that of the process: libc knows one zone at a time.
    package static func adopt(_ name: TimeZoneName) -> LocalZone {
        guard name != .utc else { return .utc }
        setenv("TZ", ":\(name.text)", 1)
        tzset()
        return .ofProcess
    }
}

extension TimeZoneName {
    /// Where the time zone database is (tzset(3)).
    private static let folder = "/usr/share/zoneinfo"

    /// For help and messages.
    package static let allowed =
        "a time zone that this host knows, such as UTC or Europe/Vienna (Debian's package tzdata has them)"

    /// Whether this host knows the zone.
    ///
    /// Zones of `right/` count leap seconds, which no instant here does.
    package var isKnown: Bool {
        guard self != .utc else { return true }
        guard !text.hasPrefix("right/"), let file = fopen("\(TimeZoneName.folder)/\(text)", "r") else { return false }
        defer { fclose(file) }
        var magic: [UInt8] = [0, 0, 0, 0]
        // RFC 8536, 3.1. A folder gives no bytes.
        return fread(&magic, 1, 4, file) == 4 && magic == Array("TZif".utf8)
    }
}
