/// Changes bytes here and there: bits, bytes, pieces, and words that readers are known to stumble over.
package struct Mutator: Sendable {
    /// Bytes of the longest input.
    package static let longest = 256 * 1024

    private static let characters = Array("AZaz09-_.+/={}[]\":,\\ \0\n\r\t%@#?&;<>'~\u{7f}".utf8)
    private static let words: [[UInt8]] = [
        "null", "true", "0", "-0", "-1", "1e999", "-1e999", "0.1", "9223372036854775807", "9223372036854775808",
        "-9223372036854775809", "1e308", "\"\"", "[]", "{}", "[[[[[[[[", "{\"a\":", "\\u0000", "\\ud800", "\u{feff}",
        "\"signedDate\":", "\"environment\":", "\"x5c\":", "\"alg\":", "\"crit\":[]", ".", "..", "=", "==", "%00",
        "%2e%2e/", "::", "::ffff:", "/128", "/0", "/-1", "0x7f000001", "0177.1", "localhost", "[::1]", ":0", ":65536",
        "\u{130}", "\u{3002}", "xn--", "GMT", "Feb 30", "24:00:60", "0000", "9999", "inf", "nan", "\r\n", "//", "@",
        "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "\u{30}\u{7f}", "dlv_",
    ].map { Array($0.utf8) }
    /// Lengths and numbers of binary forms: DER, LEB128, zstd.
    private static let binary: [[UInt8]] = [
        [0x80], [0xff], [0x7f], [0x00, 0x00], [0x30, 0x80], [0x84, 0xff, 0xff, 0xff, 0xff], [0xff, 0xff, 0xff, 0x7f],
        [0x28, 0xb5, 0x2f, 0xfd], [0x05, 0x00], [0x02, 0x01, 0x00], [0x03, 0x00],
    ]

    private var random: FuzzRandom

    package init(seed: UInt64) {
        random = FuzzRandom(seed: seed)
    }

    /// One of the seeds with one to five changes, or seldom something that none of them is like.
    package mutating func input(from seeds: [[UInt8]]) -> [UInt8] {
        if random.below(50) == 0 {
            return (0..<random.below(64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        var bytes = pick(seeds)
        for _ in 0...random.below(5) {
            change(&bytes, seeds)
        }
        return bytes.count <= Mutator.longest ? bytes : Array(bytes.prefix(Mutator.longest))
    }

    private mutating func pick(_ list: [[UInt8]]) -> [UInt8] {
        list.isEmpty ? [] : list[random.below(list.count)]
    }

    private mutating func change(_ bytes: inout [UInt8], _ seeds: [[UInt8]]) {
        let place = random.below(bytes.count + 1)
        let isInside = place < bytes.count
        switch random.below(11) {
        case 0 where isInside: bytes[place] ^= 1 << UInt8(random.below(8))
        case 1 where isInside: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 2 where isInside: bytes[place] = Mutator.characters[random.below(Mutator.characters.count)]
        case 3: bytes.insert(Mutator.characters[random.below(Mutator.characters.count)], at: place)
        case 4: bytes.replaceSubrange(piece(bytes, from: place), with: [])
        case 5: bytes.insert(contentsOf: bytes[piece(bytes, from: place)], at: random.below(bytes.count + 1))
        case 6: bytes.insert(contentsOf: pick(Mutator.words), at: place)
        case 7: bytes.replaceSubrange(piece(bytes, from: place), with: pick(Mutator.words))
        case 8: bytes.insert(contentsOf: pick(Mutator.binary), at: place)
        case 9:
            let other = pick(seeds)
            bytes.replaceSubrange(
                piece(bytes, from: place), with: other[piece(other, from: random.below(other.count + 1))])
        default: bytes.removeLast(min(bytes.count, random.below(bytes.count / 4 + 2)))
        }
    }

    /// A range from a place, mostly short.
    private mutating func piece(_ bytes: [UInt8], from place: Int) -> Range<Int> {
        let longest = random.below(4) == 0 ? bytes.count : 8
        return place..<min(bytes.count, place + random.below(longest + 1))
    }
}
