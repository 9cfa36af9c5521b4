import Base

/// The past, read in parts from its end on, for lists that no index orders with their filters.
///
/// Parts grow while they are quick. With a budget they shrink where they are slow, and the scan stops when the budget is used up.
struct BackwardScan {
    /// Exclusive, ms since 1970: what is later was read.
    private var end: Int64
    private let least: Int64
    private let now: Int64
    private var part: Int64
    private let deadline: ContinuousClock.Instant?
    private var began: ContinuousClock.Instant?

    /// The instant up to which was read when the budget ended, in ms since 1970; nil: it did not end.
    private(set) var stop: Int64?

    /// The first part, in ms.
    private static let firstPart: Int64 = 900_000
    /// Longer than there are rows for; some centuries.
    private static let longestPart: Int64 = 1 << 44
    /// The time of a part that the next may be longer than.
    private static let quick = Duration.milliseconds(20)

    /// - Parameters:
    ///   - least: inclusive, ms since 1970.
    ///   - end: exclusive; may lie in the future, since another host's clock may be ahead.
    init(from least: Int64, to end: Int64, now: Int64, budget: Duration?) {
        (self.least, self.end, self.now, part) = (least, end, now, BackwardScan.firstPart)
        deadline = budget.map { .now + $0 }
    }

    /// The next part; nil: the beginning was reached, or the budget is used up.
    mutating func next() -> Range<Int64>? {
        guard end > least else { return nil }
        let instant = ContinuousClock.now
        if let began {
            if let deadline, instant >= deadline {
                stop = end
                return nil
            }
            let isQuick = deadline == nil || instant - began < BackwardScan.quick
            part = isQuick ? min(BackwardScan.longestPart, part * 2) : max(1000, part / 2)
        }
        began = instant
        let start = max(least, min(end, now) - part)
        defer { end = start }
        return start..<end
    }
}
