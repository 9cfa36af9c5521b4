/// Instants are milliseconds since 1970 that come from outside, so that sums of them must not trap.
extension Int64 {
    static let second: Int64 = 1000
    static let hour: Int64 = 3600 * second
    static let day: Int64 = 24 * hour

    /// The sum, or the nearest instant that can be said.
    func later(by milliseconds: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(milliseconds)
        guard overflow else { return sum }
        return milliseconds < 0 ? .min : .max
    }
}
