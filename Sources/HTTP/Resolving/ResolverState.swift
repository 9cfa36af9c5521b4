/// What a resolver knows and has to do: names waiting, names being looked up, answers remembered. No threads, no clock.
///
/// One lookup serves everybody who asks for a name meanwhile. A name that took longer than the budget is slow: slow
/// names get at most half of the threads, so that names of dead servers leave the others room.
struct ResolverState {
    typealias Instant = ContinuousClock.Instant
    typealias Completion = @Sendable (Resolution) -> Void

    struct Limits: Sendable {
        var threads = 6
        /// Names waiting for a thread.
        var queue = 1024
        /// Answers remembered.
        var cache = 8192
        /// From the question to the answer, whatever the system's resolver does.
        var budget = Duration.seconds(3)
        var positive = Duration.seconds(60)
        var negative = Duration.seconds(10)
        /// How much longer a good answer serves when the name's servers fail (RFC 8767).
        var stale = Duration.seconds(600)
    }

    private struct Answer {
        let resolution: Resolution
        let freshUntil: Instant
        let usableUntil: Instant
    }

    struct Waiter {
        let deadline: Instant
        let completion: Completion
    }

    private struct Lookup {
        var waiters: [Waiter] = []
        var running = false
        let slow: Bool
    }

    let limits: Limits
    private(set) var stopped = false
    private var answers: [String: Answer] = [:]
    private var lookups: [String: Lookup] = [:]
    private var waiting: [String] = []
    private var slowNames: Set<String> = []
    private var slowRunning = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// The answer, if there is one already; else the completion is kept.
    mutating func ask(
        _ name: String, now: Instant, patience: Duration?, completion: @escaping Completion
    ) -> Resolution? {
        if stopped { return .infrastructure("stopped") }
        if let answer = answers[name], answer.freshUntil > now { return answer.resolution }
        let waiter = Waiter(deadline: now + min(patience ?? limits.budget, limits.budget), completion: completion)
        if lookups[name] != nil {
            lookups[name]?.waiters.append(waiter)
            return nil
        }
        guard waiting.count < limits.queue else {
            return staleAnswer(name, now) ?? .infrastructure("too many names wait for the resolver")
        }
        lookups[name] = Lookup(waiters: [waiter], slow: slowNames.contains(name))
        waiting.append(name)
        return nil
    }

    /// The next name to look up, for a thread that has nothing to do.
    mutating func next() -> String? {
        let slowAllowed = slowRunning < max(1, limits.threads / 2)
        // Names that had an answer before go first: many new ones that hang must not hold them up.
        let known = waiting.firstIndex { answers[$0] != nil && lookups[$0]?.slow != true }
        guard let index = known ?? waiting.firstIndex(where: { slowAllowed || lookups[$0]?.slow != true }) else {
            return nil
        }
        let name = waiting.remove(at: index)
        lookups[name]?.running = true
        if lookups[name]?.slow == true { slowRunning += 1 }
        return name
    }

    /// Takes a lookup's answer; gives who waits for it, and what to tell them.
    mutating func finish(
        _ name: String, _ resolution: Resolution, took: Duration, now: Instant
    ) -> ([Waiter], Resolution) {
        guard let lookup = lookups.removeValue(forKey: name) else { return ([], resolution) }
        if lookup.slow { slowRunning -= 1 }
        if took < limits.budget {
            slowNames.remove(name)
        } else {
            markSlow(name)
        }
        return (lookup.waiters, remember(name, resolution, now))
    }

    /// Gives up on behalf of those who waited long enough.
    mutating func expire(now: Instant) -> [(Waiter, Resolution)] {
        var due: [(Waiter, Resolution)] = []
        for (name, lookup) in lookups where lookup.waiters.contains(where: { $0.deadline <= now }) {
            // One that was not even asked for says nothing of the name.
            let failed: Resolution =
                lookup.running ? .temporarily : .infrastructure("too many names wait for the resolver")
            let answer = staleAnswer(name, now) ?? failed
            due += lookup.waiters.filter { $0.deadline <= now }.map { ($0, answer) }
            let rest = lookup.waiters.filter { $0.deadline > now }
            if rest.isEmpty, !lookup.running {
                lookups[name] = nil
                waiting.removeAll { $0 == name }
            } else {
                lookups[name]?.waiters = rest
            }
            if lookup.running { markSlow(name) }
        }
        return due
    }

    /// When the next question times out.
    var nextDeadline: Instant? {
        lookups.values.lazy.flatMap(\.waiters).map(\.deadline).min()
    }

    /// Everybody who still waits; nothing is looked up any more.
    mutating func stop() -> [Waiter] {
        stopped = true
        defer {
            lookups = [:]
            waiting = []
        }
        return lookups.values.flatMap(\.waiters)
    }

    private mutating func remember(_ name: String, _ resolution: Resolution, _ now: Instant) -> Resolution {
        switch resolution {
        case .addresses:
            store(
                name,
                Answer(
                    resolution: resolution, freshUntil: now + limits.positive,
                    usableUntil: now + limits.positive + limits.stale), now)
        case .notFound:
            store(
                name,
                Answer(
                    resolution: resolution, freshUntil: now + limits.negative, usableUntil: now + limits.negative), now)
        case .temporarily, .infrastructure:
            // An earlier good answer goes on serving, and is asked again after the time of a negative one.
            guard let stale = staleAnswer(name, now), let kept = answers[name] else {
                if case .temporarily = resolution {
                    let until = now + limits.negative
                    store(name, Answer(resolution: resolution, freshUntil: until, usableUntil: until), now)
                }
                return resolution
            }
            store(
                name,
                Answer(
                    resolution: stale, freshUntil: now + limits.negative, usableUntil: kept.usableUntil), now)
            return stale
        }
        return resolution
    }

    /// Addresses that were right not long ago.
    private func staleAnswer(_ name: String, _ now: Instant) -> Resolution? {
        guard let answer = answers[name], answer.usableUntil > now, case .addresses = answer.resolution else {
            return nil
        }
        return answer.resolution
    }

    private mutating func store(_ name: String, _ answer: Answer, _ now: Instant) {
        if answers.count >= limits.cache, answers[name] == nil {
            answers = answers.filter { $0.value.usableUntil > now }
            if answers.count >= limits.cache { answers.removeAll(keepingCapacity: true) }
        }
        answers[name] = answer
    }

    private mutating func markSlow(_ name: String) {
        if slowNames.count >= limits.cache { slowNames.removeAll() }
        slowNames.insert(name)
    }
}
