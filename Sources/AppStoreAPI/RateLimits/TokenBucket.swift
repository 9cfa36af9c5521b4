/// A rate with room for bursts, for one group of endpoints. Pure: the caller brings the time, in milliseconds of any
/// clock that does not go back.
struct TokenBucket: Sendable {
    /// Requests in a second.
    private(set) var rate: Double
    /// So many may go at once after a pause.
    private(set) var burst: Double
    private var tokens: Double
    private var filled: Int64
    private var closedUntil = Int64.min

    init(rate: Double, burst: Double, now: Int64) {
        self.rate = max(rate, 0.001)
        self.burst = max(burst, 1)
        tokens = self.burst
        filled = now
    }

    /// From now on another rate. Tokens that are there stay, as far as the burst has room for them.
    mutating func change(rate: Double, burst: Double, now: Int64) {
        fill(now)
        self.rate = max(rate, 0.001)
        self.burst = max(burst, 1)
        tokens = min(tokens, self.burst)
    }

    private mutating func fill(_ now: Int64) {
        guard now > filled else { return }
        tokens = min(burst, tokens + Double(now - filled) / 1000 * rate)
        filled = now
    }

    /// Takes a token: nil. Without one: when to ask again.
    mutating func take(at now: Int64) -> Int64? {
        if now < closedUntil { return closedUntil }
        fill(now)
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        return now + max(1, Int64(((1 - tokens) / rate * 1000).rounded(.up)))
    }

    /// Gives nothing before that time, and no burst after it: the server had enough.
    mutating func close(until time: Int64, now: Int64) {
        closedUntil = max(closedUntil, time)
        tokens = 1
        filled = max(now, closedUntil)
    }
}
