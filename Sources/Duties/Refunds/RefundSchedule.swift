/// When an answer that Apple did not take is sent again: soon at first, and never after the deadline. Pure.
package enum RefundSchedule {
    private static let minute: Int64 = 60_000
    /// Minutes after the attempts; the last one from then on.
    private static let waits: [Int64] = [1, 5, 15, 30, 60]

    /// - Parameters:
    ///   - attempts: so many failed, at least one.
    ///   - now: ms since 1970, as the deadline.
    /// - Returns: nil where the deadline comes before.
    package static func next(after attempts: Int64, now: Int64, deadline: Int64) -> Int64? {
        let place = Int(clamping: min(max(attempts, 1), Int64(waits.count))) - 1
        let next = now + waits[place] * minute
        return next < deadline ? next : nil
    }
}
