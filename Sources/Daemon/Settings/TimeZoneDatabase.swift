import Base
import Synchronization

/// The time zones that this host knows: the compiled files of the IANA database, which Debian's package tzdata has.
package enum TimeZoneDatabase {
    private static let folder = "/usr/share/zoneinfo"
    /// There are some 600 names, with the former ones.
    private static let mostKept = 1000

    private static let kept = Mutex<[TimeZoneName: LocalZone]>([:])

    /// For help and messages.
    package static let allowed =
        "a time zone that this host knows, such as UTC or Europe/Vienna (Debian's package tzdata has them)"

    /// The names of the zones of today, in their order; none where this host has no list of them.
    package static let names: [TimeZoneName] = {
        guard case .contents(let bytes) = FileReading.read("\(folder)/zone.tab") else { return [] }
        // Country, place, name and comments.
        let lines = bytes.split(separator: UInt8(ascii: "\n")).filter { $0.first != UInt8(ascii: "#") }
        let names = lines.compactMap { line -> TimeZoneName? in
            let columns = line.split(separator: UInt8(ascii: "\t"))
            return columns.count > 2 ? TimeZoneName(String(decoding: columns[2], as: UTF8.self)) : nil
        }
        return Set(names).sorted { $0.text < $1.text }
    }()

    /// The same for a text; nil, too, for what is no name.
    package static func zone(named text: String?) -> LocalZone? {
        text.flatMap { TimeZoneName($0) }.flatMap { zone($0) }
    }

    /// Nil where this host does not know the zone. Read once in the life of a process.
    ///
    /// Zones of `right/` count leap seconds, which no instant here does.
    package static func zone(_ name: TimeZoneName) -> LocalZone? {
        guard name != .utc else { return .utc }
        if let zone = kept.withLock({ $0[name] }) { return zone }
        guard !name.text.hasPrefix("right/"), case .contents(let bytes) = FileReading.read("\(folder)/\(name.text)"),
            let rules = ZoneRules(bytes)
        else { return nil }
        let zone = LocalZone { rules.offset(at: $0) }
        kept.withLock { kept in
            if kept.count < mostKept { kept[name] = zone }
        }
        return zone
    }
}
