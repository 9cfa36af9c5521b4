/// Times as people tell them: how long something took, and how long ago it was.
enum RelativeTime {
    /// In the largest unit that is there at least twice: `300 ms`, `90 s`, `3 h`, `12 days`.
    static func text(_ milliseconds: Int64) -> String {
        let amount = max(0, milliseconds)
        if amount < 2000 { return "\(amount) ms" }
        for (size, unit) in [(Int64(86_400_000), "days"), (3_600_000, "h"), (60_000, "min")] where amount >= 2 * size {
            return "\(amount / size) \(unit)"
        }
        return "\(amount / 1000) s"
    }
}
