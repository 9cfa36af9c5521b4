import Subscriptions

/// Finds names of a set in texts, in a time that the length of a text decides and hardly the number of names. Letters of
/// ASCII are one letter in either case, so it finds a UUID in any spelling; of other names it may find a few too many.
struct NameSearch: Sendable, Equatable {
    /// A name by its bytes, in lower case.
    private struct Entry: Sendable, Equatable {
        let name: String
        let bytes: [UInt8]
    }

    /// Names of at least four bytes, by the last eight of them, or by the last four where it has no more than seven.
    private var long: [UInt64: [Entry]] = [:]
    private var short: [UInt64: [Entry]] = [:]
    /// Shorter ones, which every text may have.
    private var tiny: [String] = []
    /// Names that are not all of ASCII: a text may have another Unicode form of them, with other bytes.
    private var composed: [String] = []
    /// Bits by a hash of a name's last four bytes: most places of most texts are passed over by a look at it.
    private var filter = [Bool](repeating: false, count: 1 << NameSearch.bits)

    private static let bits: UInt32 = 14

    init(_ names: some Sequence<String>) {
        for name in names {
            if !name.utf8.allSatisfy({ $0 < 0x80 }) { composed.append(name) }
            let entry = Entry(name: name, bytes: name.utf8.map(NameSearch.lower))
            guard entry.bytes.count >= 4 else {
                if !name.isEmpty { tiny.append(name) }
                continue
            }
            let last = entry.bytes.reduce(0) { $0 << 8 | UInt64($1) }
            filter[NameSearch.place(of: last)] = true
            if entry.bytes.count >= 8 {
                long[last, default: []].append(entry)
            } else {
                short[last & 0xffff_ffff, default: []].append(entry)
            }
        }
    }

    static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

    /// By the last four bytes.
    private static func place(of last: UInt64) -> Int {
        Int((UInt32(truncatingIfNeeded: last) &* 0x9e37_79b1) >> (32 - bits))
    }

    /// The names that a text has in it, as characters.
    func names(in text: String) -> Set<String> {
        var found = Set(tiny)
        guard !long.isEmpty || !short.isEmpty else { return found }
        let bytes = text.utf8.map(NameSearch.lower)
        if !composed.isEmpty, bytes.contains(where: { $0 >= 0x80 }) {
            found.formUnion(composed.filter { text.contains($0) })
        }
        var last: UInt64 = 0
        for (place, byte) in bytes.enumerated() {
            last = last << 8 | UInt64(byte)
            guard place >= 3, filter[NameSearch.place(of: last)] else { continue }
            for entry in long[last] ?? [] where ends(entry, at: place, of: bytes) { found.insert(entry.name) }
            for entry in short[last & 0xffff_ffff] ?? [] where ends(entry, at: place, of: bytes) {
                found.insert(entry.name)
            }
        }
        return found
    }

    private func ends(_ entry: Entry, at place: Int, of bytes: [UInt8]) -> Bool {
        let start = place + 1 - entry.bytes.count
        return start >= 0 && bytes[start...place].elementsEqual(entry.bytes)
    }
}
