/// Times as people say them: how long something took, and how long ago it was.
package enum RelativeTime {
    /// In the largest unit of which there are at least two: `300 ms`, `90 s`, `3 h`, `12 days`.
    package static func text(_ milliseconds: Int64) -> String {
        let amount = max(0, milliseconds)
        if amount < 2000 { return "\(amount) ms" }
        for (size, unit) in [(Int64(86_400_000), "days"), (3_600_000, "h"), (60_000, "min")] where amount >= 2 * size {
            return "\(amount / size) \(unit)"
        }
        return "\(amount / 1000) s"
    }

    /// `3 h ago`, `in 12 days`; `now` within two seconds.
    package static func phrase(_ instant: Int64, now: Int64) -> String {
        let (distance, overflow) = instant.subtractingReportingOverflow(now)
        if overflow { return instant > now ? "in the far future" : "long ago" }
        let amount = Int64(clamping: distance.magnitude)
        guard amount >= 2000 else { return "now" }
        return distance < 0 ? "\(text(amount)) ago" : "in \(text(amount))"
    }
}
