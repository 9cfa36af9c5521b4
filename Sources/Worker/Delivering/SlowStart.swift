import Base

/// Lets an endpoint that comes back after an outage take its backlog in at a pace that grows: 1 request in the first
/// second, then 2, 4, 8, … until the pace no longer matters.
///
/// Pure; instants are given, by a clock that never jumps.
package struct SlowStart: Sendable, Equatable {
    private enum Phase: Sendable, Equatable {
        case free
        /// So many failures in a row.
        case failing(Int)
        case pacing(since: ContinuousClock.Instant, next: ContinuousClock.Instant)
    }

    private var phase = Phase.free

    /// Fewer failures in a row are no outage: a consumer that now and then answers 500 keeps its pace.
    package static let outage = 5
    /// The pace doubles so often; a thousand a second is more than any limit of places lets through.
    private static let doublings = 10
    /// A turn that comes late may catch up with so much.
    private static let catchUp = Duration.milliseconds(100)

    package init() {}

    package var failures: Int {
        if case .failing(let count) = phase { count } else { 0 }
    }

    package var isPacing: Bool {
        if case .pacing = phase { true } else { false }
    }

    package mutating func failed() {
        switch phase {
        case .free: phase = .failing(1)
        case .failing(let count): phase = .failing(min(count, 1_000_000) + 1)
        // It is not back yet: the next success begins anew.
        case .pacing: phase = .failing(SlowStart.outage)
        }
    }

    /// What others saw of this endpoint.
    package mutating func learn(failures: Int) {
        switch phase {
        case .free: phase = .failing(failures)
        case .failing(let count): phase = .failing(max(count, failures))
        case .pacing: break
        }
    }

    package mutating func succeeded(now: ContinuousClock.Instant) {
        guard case .failing(let count) = phase else { return }
        phase = count >= SlowStart.outage ? .pacing(since: now, next: now) : .free
    }

    /// Whether a request may begin now; if so, it counts.
    ///
    /// - Parameter workers: how many workers share the pace.
    package mutating func take(now: ContinuousClock.Instant, workers: Int) -> Bool {
        guard case .pacing(let since, let next) = phase else { return true }
        let doubled = Int(max(0, (now - since).seconds))
        guard doubled < SlowStart.doublings else {
            phase = .free
            return true
        }
        guard now >= next else { return false }
        let interval = Duration.seconds(1) * max(1, workers) / (1 << doubled)
        phase = .pacing(since: since, next: max(next, now - SlowStart.catchUp) + interval)
        return true
    }
}
