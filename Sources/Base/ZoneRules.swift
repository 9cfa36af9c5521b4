/// The rules of a time zone, as a compiled file of the IANA database has them (RFC 9636, "TZif").
package struct ZoneRules: Sendable {
    private struct Change: Sendable {
        /// Seconds since 1970, inclusive.
        let from: Int64
        let offset: LocalZone.Offset
    }

    /// Before the first change.
    private let first: LocalZone.Offset
    /// In the order of time.
    private let changes: [Change]
    /// From the last change on; nil: what it brought stays.
    private let rule: PosixZone?

    /// Nil for what is no such file: it is cut off, of the first version, which ends in 2038, or counts leap seconds, which no
    /// instant here does.
    package init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes)
        // The data of the first version stand before those of the later ones, for readers that know no other.
        guard let old = Header(&reader), old.version >= UInt8(ascii: "2"), reader.skip(old.size(ofTime: 4)),
            let header = Header(&reader), header.leaps == 0, header.types > 0
        else { return nil }
        var times: [Int64] = []
        for _ in 0..<header.times {
            guard let time = reader.integer(8), times.last.map({ $0 < time }) ?? true else { return nil }
            times.append(time)
        }
        guard let indexes = reader.bytes(header.times), let types = reader.bytes(header.types * 6),
            let names = reader.bytes(header.names), reader.skip(header.standards + header.universals)
        else { return nil }
        var offsets: [LocalZone.Offset] = []
        for start in stride(from: types.startIndex, to: types.endIndex, by: 6) {
            var type = Reader(Array(types[start..<start + 6]))
            guard let seconds = type.integer(4), type.skip(1), let place = type.integer(1),
                (-86_400...86_400).contains(seconds), place < names.count
            else { return nil }
            let name = names.dropFirst(Int(place)).prefix { $0 != 0 }
            offsets.append((seconds, String(decoding: name, as: UTF8.self)))
        }
        var changes: [Change] = []
        for (time, index) in zip(times, indexes) {
            guard Int(index) < offsets.count else { return nil }
            changes.append(Change(from: time, offset: offsets[Int(index)]))
        }
        guard let footer = reader.line() else { return nil }
        self.changes = changes
        first = offsets[0]
        rule = PosixZone(footer)
        if rule == nil, !footer.isEmpty { return nil }
    }

    /// Seconds east of UTC and the abbreviation, at an instant in ms since 1970.
    package func offset(at instant: Int64) -> LocalZone.Offset {
        let (quotient, remainder) = instant.quotientAndRemainder(dividingBy: 1000)
        let seconds = remainder < 0 ? quotient - 1 : quotient
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].from <= seconds { low = middle + 1 } else { high = middle }
        }
        if low == changes.count, let rule { return rule.offset(at: seconds) }
        return low == 0 ? first : changes[low - 1].offset
    }

    /// RFC 9636, 3.1.
    private struct Header {
        let version: UInt8
        let universals, standards, leaps, times, types, names: Int

        init?(_ reader: inout Reader) {
            guard reader.bytes(4).map({ $0.elementsEqual("TZif".utf8) }) ?? false, let version = reader.bytes(1)?.first,
                reader.skip(15)
            else { return nil }
            self.version = version
            var counts: [Int] = []
            for _ in 0..<6 {
                // More than any zone has, so that nothing below overflows.
                guard let count = reader.integer(4), (0...100_000).contains(count) else { return nil }
                counts.append(Int(count))
            }
            (universals, standards, leaps, times, types, names) =
                (counts[0], counts[1], counts[2], counts[3], counts[4], counts[5])
        }

        /// Bytes of the data behind it.
        func size(ofTime width: Int) -> Int {
            times * (width + 1) + types * 6 + names + leaps * (width + 4) + standards + universals
        }
    }

    private struct Reader {
        private var rest: ArraySlice<UInt8>

        init(_ bytes: [UInt8]) { rest = bytes[...] }

        mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func skip(_ count: Int) -> Bool { bytes(count) != nil }

        /// Of so many bytes, 1, 4 or 8, the most significant first; with a sign where there are several.
        mutating func integer(_ count: Int) -> Int64? {
            guard let bytes = bytes(count) else { return nil }
            let pattern = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            switch count {
            case 4: return Int64(Int32(truncatingIfNeeded: pattern))
            default: return Int64(bitPattern: pattern)
            }
        }

        /// What stands between two line ends.
        mutating func line() -> String? {
            guard bytes(1)?.first == UInt8(ascii: "\n"), let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                return nil
            }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
    }
}
