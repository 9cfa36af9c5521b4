/// When something that is repeated beside the lanes is due again: after an interval, and later where it takes so long that it
/// would take more than its share of the thread's time. Pure.
struct Pace {
    typealias Instant = ContinuousClock.Instant

    private let interval: Duration
    /// Rest for each unit of time that a run takes.
    private let restFactor: Double
    private var next: Instant

    /// - Parameters:
    ///   - interval: between the end of a run and the next one.
    ///   - share: of the time, at most; nil: as much as a run takes.
    ///   - first: how long the first run waits.
    init(every interval: Duration, share: Double? = nil, firstAfter first: Duration = .zero, now: Instant = .now) {
        self.interval = interval
        restFactor = share.map { 1 / $0 } ?? 0
        next = now + first
    }

    func isDue(at now: Instant = .now) -> Bool { now >= next }

    /// A run ended, however it went.
    ///
    /// - Parameter hasMore: whether only the share is to be kept, because more waits.
    mutating func ran(since begun: Instant, hasMore: Bool = false, now: Instant = .now) {
        next = now + max(hasMore ? .zero : interval, (now - begun) * restFactor)
    }

    /// The next run is due at once.
    mutating func hurry(at now: Instant = .now) {
        next = now
    }
}
