import Base

/// Reproducible randomness (SplitMix64): the same seed and stream give the same choices on every machine.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Streams of one seed do not follow from each other: one for each subscriber, for example.
    package init(seed: UInt64, stream: UInt64 = 0) {
        state = SeededRandom.mix(SeededRandom.mix(seed) ^ (stream &* 0xD1B5_4A32_D192_ED03))
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SeededRandom.mix(state)
    }

    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A random UUID (version 4) in lower case, as Apple spells notification ids and app account tokens.
    package mutating func uuid() -> String {
        var bytes: [UInt8] = []
        for word in [next(), next()] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let hex = Array(Hex.encode(bytes).utf8)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: hex[$0], as: UTF8.self) }
        return groups.joined(separator: "-")
    }

    /// True this many times out of a hundred.
    package mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    /// One of these, as often as its weight says.
    mutating func pick<Value>(_ weighted: KeyValuePairs<Value, Int>) -> Value {
        precondition(weighted.contains { $0.value > 0 }, "nothing to pick from")
        var left = Int.random(in: 0..<weighted.reduce(0) { $0 + $1.value }, using: &self)
        for (value, weight) in weighted {
            if left < weight { return value }
            left -= weight
        }
        return weighted[0].key
    }

    /// An instant at random from this range; its beginning if it is empty.
    mutating func instant(from start: Int64, to end: Int64) -> Int64 {
        start < end ? Int64.random(in: start..<end, using: &self) : start
    }
}
