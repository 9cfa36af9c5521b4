import Base

/// Durations counted in buckets about 3 % wide, from a microsecond to a day.
package struct LatencyHistogram: Sendable {
    private var buckets = [Int](repeating: 0, count: 37 * 32)
    package private(set) var count = 0
    package private(set) var longest = Duration.zero

    package init() {}

    package mutating func add(_ duration: Duration) {
        let microseconds = max(0, Int64(clamping: Int(duration.seconds * 1_000_000)))
        buckets[min(LatencyHistogram.bucket(microseconds), buckets.count - 1)] += 1
        count += 1
        longest = max(longest, duration)
    }

    package mutating func add(_ other: LatencyHistogram) {
        for index in buckets.indices {
            buckets[index] += other.buckets[index]
        }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// Milliseconds that this share (0…1) of the durations does not exceed; 0 when there are none.
    package func percentile(_ share: Double) -> Double {
        let wanted = Int((Double(count) * share).rounded(.up))
        var seen = 0
        for (index, amount) in buckets.enumerated() where amount > 0 {
            seen += amount
            if seen >= wanted { return min(LatencyHistogram.upperBound(index) / 1000, longest.seconds * 1000) }
        }
        return 0
    }

    /// Below 32 µs one bucket each, then 32 for each power of two.
    private static func bucket(_ microseconds: Int64) -> Int {
        guard microseconds >= 32 else { return Int(microseconds) }
        let power = 63 - microseconds.leadingZeroBitCount
        return (power - 4) * 32 + Int(microseconds >> Int64(power - 5)) - 32
    }

    private static func upperBound(_ bucket: Int) -> Double {
        guard bucket >= 32 else { return Double(bucket + 1) }
        let power = bucket / 32 + 4
        return Double((bucket % 32 + 33)) * Double(Int64(1) << Int64(power - 5))
    }
}
