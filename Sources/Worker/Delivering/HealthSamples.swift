import Base
import Database

/// What this worker saw of its endpoints and did not write down yet: pure, instants are given.
///
/// What is new (the first failure, the first success after failures, a delivery given up) is due at once, further
/// failures every two seconds, and that a healthy endpoint is healthy once a minute.
package struct HealthSamples: Sendable {
    private struct Entry: Sendable {
        var pending: EndpointHealth.Observation?
        var isFailing = false
        var isUrgent = false
        var nextWrite: ContinuousClock.Instant?
    }

    private var entries: [String: Entry] = [:]
    /// Those that have something pending.
    private var open: Set<String> = []

    private static let failingInterval = Duration.seconds(2)
    private static let healthyInterval = Duration.seconds(60)

    package init() {}

    package enum Sight: Sendable {
        case arrived
        /// With its class.
        case failed(String)
    }

    /// - Parameters:
    ///   - dead: the delivery, if it was given up.
    ///   - instant: milliseconds, by the database's clock.
    package mutating func note(_ endpoint: String, _ sight: Sight, dead: String? = nil, at instant: Int64) {
        var entry = entries[endpoint] ?? Entry()
        var pending = entry.pending ?? EndpointHealth.Observation(endpoint: endpoint)
        switch sight {
        case .arrived:
            entry.isUrgent = entry.isUrgent || entry.isFailing
            entry.isFailing = false
            pending.succeeded(at: instant)
        case .failed(let outcome):
            entry.isUrgent = entry.isUrgent || !entry.isFailing
            entry.isFailing = true
            pending.failed(outcome, at: instant)
        }
        if let dead {
            pending.gaveUp(dead)
        }
        entry.pending = pending
        entries[endpoint] = entry
        open.insert(endpoint)
    }

    /// The endpoints that fail, as all workers together saw it: a success of theirs is news.
    package mutating func learn(failing: some Sequence<String>) {
        for endpoint in failing where entries[endpoint]?.isFailing != true {
            // What is pending here may be the success that ends it.
            entries[endpoint, default: Entry()].isFailing = entries[endpoint]?.pending == nil
            if entries[endpoint]?.pending != nil { entries[endpoint]?.isUrgent = true }
        }
    }

    /// What is to be written now, in the order of ids; `written` when that is done.
    package func due(now: ContinuousClock.Instant, all: Bool = false) -> [EndpointHealth.Observation] {
        open.sorted().compactMap { id in
            guard let entry = entries[id] else { return nil }
            return all || entry.isUrgent || now >= entry.nextWrite ?? now ? entry.pending : nil
        }
    }

    package mutating func written(_ seen: [EndpointHealth.Observation], now: ContinuousClock.Instant) {
        for id in seen.map(\.endpoint) {
            let isFailing = entries[id]?.isFailing ?? false
            let interval = isFailing ? HealthSamples.failingInterval : HealthSamples.healthyInterval
            entries[id] = Entry(isFailing: isFailing, nextWrite: now + interval)
            open.remove(id)
        }
    }

    /// Forgets those that are no more.
    package mutating func keep(_ endpoints: Set<String>) {
        for id in entries.keys where !endpoints.contains(id) {
            entries[id] = nil
            open.remove(id)
        }
    }
}
