/// SplitMix64: the same numbers for the same seed, everywhere.
package struct FuzzRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// From 0 to below `bound`, which is at least 1; a little uneven, which does no harm here.
    package mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 33) % max(1, bound)
    }
}
