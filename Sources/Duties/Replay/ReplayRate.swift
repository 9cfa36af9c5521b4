/// How many deliveries of an endpoint a replay lets be due at once, so that a live event waits behind few.
///
/// A consumer that has taken all of them by the next look gets twice as many, as far as a sender keeps in memory; one
/// that has not taken half of them within a second gets half as many. So a live event waits for about a second where it
/// would have to wait at all, whatever the consumer's pace is.
struct ReplayRate {
    static let least = 64
    static let most = 512
    private static let patience = Duration.seconds(1)

    private(set) var limit = least
    /// Whether any were put in line, so that none being due means that they were taken.
    private var hasQueued = false
    private var waitsSince: ContinuousClock.Instant?

    /// How many more may be put in line; nil while there are enough.
    ///
    /// - Parameter due: how many are.
    mutating func room(due: Int, at instant: ContinuousClock.Instant) -> Int? {
        guard due <= limit / 2 else {
            let since = waitsSince ?? instant
            waitsSince = since
            if instant - since >= ReplayRate.patience {
                limit = max(ReplayRate.least, limit / 2)
                waitsSince = instant
            }
            return nil
        }
        waitsSince = nil
        if due == 0, hasQueued { limit = min(ReplayRate.most, limit * 2) }
        hasQueued = false
        return limit - due
    }

    /// So many were put in line.
    mutating func queued(_ count: Int) {
        hasQueued = hasQueued || count > 0
    }
}
