import Database

/// What waits for one endpoint in memory, what is in flight to it, and how it has been doing.
struct EndpointQueue: Sendable {
    /// In flight, the oldest first.
    struct Flight: Sendable {
        let id: DeliveryID
        let begun: ContinuousClock.Instant
    }

    var waiting: [DueDelivery] = []
    var flights: [Flight] = []
    var window = ConcurrencyWindow()
    var slowStart = SlowStart()
    /// It has a place in one of the lines of turns.
    var isQueued = false
    /// Its last answer took long, or one that is awaited does.
    var isSlow = false

    /// It has ever answered, or failed to; until then it gets one request at a time.
    private(set) var isTried = false
    private var hasArrived = false

    /// An answer that takes longer is slow.
    private static let slow = Duration.seconds(2)
    /// So many failures in a row are a bad time.
    private static let bad = 3

    /// It may be about to hold its places until they time out.
    var isSuspect: Bool { isSlow || slowStart.failures >= EndpointQueue.bad }

    /// Its last answer was a success, and quick.
    var isProven: Bool { hasArrived && !isSlow }

    /// How many may wait in memory: few where they will wait for long.
    var room: Int { isSuspect || !isTried ? 32 : 512 }

    /// How many may be in flight.
    func places(limit: Int) -> Int { isTried ? window.places(limit: limit) : 1 }

    /// What all workers together saw: failures in a row, none if its last answer was a success.
    mutating func learn(failures: Int) {
        if !isTried { hasArrived = failures == 0 }
        isTried = true
        if failures > slowStart.failures { slowStart.learn(failures: failures) }
    }

    /// Slow as soon as an answer is awaited for long, not only when it comes.
    mutating func grow(older now: ContinuousClock.Instant) {
        if let oldest = flights.first, now - oldest.begun > EndpointQueue.slow { isSlow = true }
    }

    mutating func landed(
        _ id: DeliveryID, _ answer: SendQueue.Answer, limit: Int, now: ContinuousClock.Instant
    ) {
        guard let place = flights.firstIndex(where: { $0.id == id }) else { return }
        let flight = flights.remove(at: place)
        switch answer {
        case .arrived:
            window.succeeded(limit: limit)
            slowStart.succeeded(now: now)
        case .refused: slowStart.failed()
        case .strained:
            window.strained(limit: limit)
            slowStart.failed()
        case .nothing: return
        }
        isTried = true
        hasArrived = answer == .arrived
        isSlow = now - flight.begun > EndpointQueue.slow
        grow(older: now)
    }
}
