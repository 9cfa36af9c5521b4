import Base
import Daemon

/// Looks names up on a few threads of its own: libcurl 7.88 would start one thread for each lookup and wait for it when
/// a transfer is cut.
///
/// Answers are remembered: good ones 60 s, others 10 s. Every question is answered within 3 s, and half a second more
/// where it is unknown whether the name servers answer at all.
package final class Resolver: Sendable {
    /// Looks one name up, for as long as it takes.
    package typealias Lookup = @Sendable (String) -> Resolution

    private let state: Monitor<ResolverState>
    private let lookup: Lookup
    private let probe: NameServerProbe
    private let metrics: Metrics

    /// Asks the system.
    ///
    /// - Parameter allowedNetworks: where there are any, names without a dot may be completed by the search domains, as
    ///   container networks need it; all other names are whole.
    package convenience init(metrics: Metrics, allowedNetworks: [Network] = []) {
        self.init(metrics: metrics, search: allowedNetworks.isEmpty ? .never : .singleLabels)
    }

    convenience init(metrics: Metrics, search: SystemLookup.Search) {
        self.init(metrics: metrics, probe: NameServerProbe(), lookup: SystemLookup(search: search).addresses(of:))
    }

    package convenience init(
        metrics: Metrics, probe: NameServerProbe = NameServerProbe { true }, lookup: @escaping Lookup
    ) {
        self.init(limits: ResolverState.Limits(), metrics: metrics, probe: probe, lookup: lookup)
    }

    init(
        limits: ResolverState.Limits, metrics: Metrics, probe: NameServerProbe = NameServerProbe { true },
        lookup: @escaping Lookup
    ) {
        state = Monitor(ResolverState(limits))
        self.lookup = lookup
        self.probe = probe
        self.metrics = metrics
    }

    package func start() {
        let state = state
        let probe = probe
        let metrics = metrics
        let lookup: Lookup = { [lookup] in Resolver.judged(lookup($0), by: probe) }
        let threads = state.read { $0.limits.threads }
        for number in 1...max(1, threads) {
            _ = ServiceThread("resolver-\(number)") { Resolver.work(state, lookup, metrics) }
        }
        _ = ServiceThread("resolver-clock") { Resolver.watchDeadlines(state, probe) }
    }

    /// Answers everybody who waits. A lookup in progress cannot be cut: its thread ends when the system answers.
    package func stop() {
        for waiter in state.change({ $0.stop() }) {
            waiter.completion(.infrastructure("stopped"))
        }
    }

    /// The answer, for addresses and for names whose answer is remembered. Else nil, and the completion gets it on
    /// another thread, at most `patience` (never more than 3 s) from now.
    package func resolve(
        _ host: String, patience: Duration? = nil, completion: @escaping @Sendable (Resolution) -> Void
    ) -> Resolution? {
        if let address = IPAddress(parsing: host) { return .addresses([address]) }
        let now = ContinuousClock.now
        return state.change { $0.ask(host, now: now, patience: patience, completion: completion) }
    }

    /// Waits for the answer, for at most some 3 s: for command lines, and for what an operator asked for.
    package func resolveAndWait(_ host: String) -> Resolution {
        let answer = Monitor<Resolution?>(nil)
        let known = resolve(host) { resolution in answer.change { $0 = resolution } }
        return known ?? answer.wait { $0 } ?? .temporarily
    }

    private static func work(_ state: Monitor<ResolverState>, _ lookup: Lookup, _ metrics: Metrics) {
        while true {
            let task: String?? = state.wait { $0.stopped ? .some(nil) : $0.next().map { .some($0) } }
            guard case .some(.some(let name)) = task else { return }
            let began = ContinuousClock.now
            let resolution = lookup(name)
            let now = ContinuousClock.now
            let (waiters, answer) = state.change { $0.finish(name, resolution, took: now - began, now: now) }
            metrics.count(.dnsLookups, ["result": resolution.label])
            metrics.observe(.dnsLookupSeconds, now - began)
            for waiter in waiters {
                waiter.completion(answer)
            }
        }
    }

    /// No answer in time is the name's fault only if other names would get one.
    private static func judged(_ resolution: Resolution, by probe: NameServerProbe) -> Resolution {
        guard resolution == .temporarily, !probe.isAlive() else { return resolution }
        return .infrastructure("no name server answers")
    }

    private static func watchDeadlines(_ state: Monitor<ResolverState>, _ probe: NameServerProbe) {
        while true {
            let earliest: ContinuousClock.Instant?? = state.wait {
                $0.stopped ? .some(nil) : $0.nextDeadline.map { .some($0) }
            }
            guard case .some(.some(let deadline)) = earliest else { return }
            let pause = max(.zero, deadline - ContinuousClock.now)
            // Ends early for a deadline that is earlier still.
            _ = state.wait(timeout: pause) { $0.stopped || ($0.nextDeadline ?? deadline) < deadline ? true : nil }
            let now = ContinuousClock.now
            for (waiter, answer) in state.change({ $0.expire(now: now) }) {
                waiter.completion(judged(answer, by: probe))
            }
        }
    }
}
