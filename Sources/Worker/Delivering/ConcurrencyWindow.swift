/// How many requests one endpoint may have in flight: halves with each sign of strain, and grows by one with each whole
/// window of successes (additive increase, multiplicative decrease, as in RFC 5681 §3.1).
///
/// Pure. Between 1 and the limit that is given, which may change.
package struct ConcurrencyWindow: Sendable, Equatable {
    /// Nil until strain was seen: as much as the limit allows.
    private var size: Double?

    package init() {}

    package func places(limit: Int) -> Int {
        let limit = max(1, limit)
        guard let size else { return limit }
        return max(1, min(limit, Int(size)))
    }

    package mutating func succeeded(limit: Int) {
        guard let old = size else { return }
        let grown = old + 1 / max(1, old)
        size = grown >= Double(max(1, limit)) ? nil : grown
    }

    package mutating func strained(limit: Int) {
        size = max(1, min(size ?? .infinity, Double(max(1, limit))) / 2)
    }
}
