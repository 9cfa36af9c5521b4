/// Where values stand between two edges of a drawing, with a few round values to mark.
package struct ChartScale: Sendable, Equatable {
    package let low: Int64
    package let high: Int64
    /// From the lowest to the highest; 0 is among them.
    package let ticks: [Int64]

    /// Round steps: 1, 2 or 5 times a power of ten.
    ///
    /// - Parameters:
    ///   - values: what must have room; 0 has always.
    ///   - least: the smallest step, such as that of a unit of money.
    package init(_ values: [Int64], least: Int64 = 1, steps: Int64 = 5) {
        let (bottom, top) = (Swift.min(values.min() ?? 0, 0), Swift.max(values.max() ?? 0, 0))
        let span = Swift.max(Double(top) - Double(bottom), Double(least))
        var step = Swift.max(1, least)
        var factors: [Int64] = [2, 5, 10]
        var base = step
        while Double(step) * Double(steps) < span, base < Int64.max / 20 {
            if factors.isEmpty {
                base *= 10
                factors = [2, 5, 10]
            }
            step = base * factors.removeFirst()
        }
        func units(_ value: Int64) -> Int64 { value / step + (value % step == 0 ? 0 : value.signum()) }
        let (first, last) = (units(bottom), Swift.max(units(top), units(bottom) == 0 ? 1 : 0))
        let size = Int128(step)
        ticks = (first...Swift.max(first, last)).map { Int64(clamping: Int128($0) * size) }
        low = ticks.first ?? 0
        high = ticks.last ?? 1
    }

    /// From 0 at the low end to 1 at the high one.
    package func share(of value: Int64) -> Double {
        high > low ? (Double(value) - Double(low)) / (Double(high) - Double(low)) : 0
    }
}
