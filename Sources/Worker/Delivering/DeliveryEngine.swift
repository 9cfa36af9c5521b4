import Base
import Daemon
import Database
import HTTP

/// What came of one attempt, on its way into the database.
package struct AttemptResult: Sendable {
    package let delivery: DueDelivery
    /// Milliseconds since 1970, by the database's clock as far as it is known.
    package let started: Int64
    /// As it is written down.
    package let outcome: TransferOutcome
    /// As it was, for the log and the metrics of the host alone.
    let cause: TransferOutcome
    /// The endpoint's own, as it was when the attempt ended; nil for the configuration's.
    package var schedule: RetrySchedule?

    package init(delivery: DueDelivery, started: Int64, outcome: TransferOutcome, schedule: RetrySchedule? = nil) {
        (self.delivery, self.started, self.schedule) = (delivery, started, schedule)
        (self.outcome, cause) = (outcome.telling(nothingOf: delivery), outcome)
    }
}

extension TransferOutcome {
    /// A host without an address and one whose addresses are refused are one outcome, and took no time. Operators read what is
    /// written down of attempts, and from a difference they would learn which names the network behind the worker has.
    fileprivate func telling(nothingOf delivery: DueDelivery) -> TransferOutcome {
        guard isOfName else { return self }
        return .failure(
            TransferFailure(
                unsent: .refusedAddress,
                message: "the host of \(delivery.endpoint) has no address that webhooks may be sent to"))
    }

    /// Whether the name or its addresses were the reason that nothing was sent.
    var isOfName: Bool {
        guard case .failure(let failure) = self else { return false }
        return failure.kind == .dnsNotFound || failure.kind == .refusedAddress
    }
}

/// Sends deliveries: keeps those that are due in a line of their own for each endpoint, and a few of each in flight.
///
/// The lines take fair turns, so that a slow or dead consumer costs the others nothing. They are bounded; what does not
/// fit stays in the database, which remains the truth: whatever is lost here is read there again.
package final class DeliveryEngine: Sendable {
    private struct State {
        var queue: SendQueue
        /// Everything that is waiting, in flight, or done and not yet written down.
        var known: Set<DeliveryID> = []
        var results: [AttemptResult] = []
        /// The database's clock at an instant of ours: consumers judge signatures by their time, and this host's wall
        /// clock may be wrong.
        var serverClock: (time: Int64, at: ContinuousClock.Instant)?
        /// When the secrets of the endpoints were read, or found unchanged, last.
        var secretsRead: ContinuousClock.Instant?
        var isDraining = false
    }

    private let state: Monitor<State>
    private let client: HTTPClient
    private let timeout: Duration
    private let secretTrust: Duration?
    private let clock: any WallClock
    private let instant: @Sendable () -> ContinuousClock.Instant
    private let metrics: Metrics
    private let tracer: Tracer
    private let onResult: @Sendable () -> Void

    /// - Parameters:
    ///   - secretTrust: how long it signs with secrets that were read; nil: without limit.
    ///   - instant: of a clock that never jumps, which paces and pauses go by.
    ///   - onResult: called from any thread when there is a result to take.
    package init(
        client: HTTPClient, limits: SendLimits = SendLimits(), timeout: Duration, secretTrust: Duration? = nil,
        clock: any WallClock,
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, metrics: Metrics,
        tracer: Tracer = .off, onResult: @escaping @Sendable () -> Void
    ) {
        state = Monitor(State(queue: SendQueue(limits: limits)))
        self.client = client
        self.timeout = timeout
        self.secretTrust = secretTrust
        self.clock = clock
        self.instant = instant
        self.metrics = metrics
        self.tracer = tracer
        self.onResult = onResult
    }

    /// The endpoints as the database has them at an instant of its clock.
    ///
    /// - Parameters:
    ///   - failures: in a row, as all workers together saw them; of those endpoints that were ever sent to.
    ///   - workers: how many are alive.
    ///   - read: before the endpoints were read; nil: now.
    package func update(
        _ endpoints: [Endpoint], failures: [String: Int] = [:], workers: Int = 1, now: Int64,
        readAt read: ContinuousClock.Instant? = nil
    ) {
        let instant = self.instant()
        metrics.gauge(.clockDifference, Double(clock.now() - now) / 1000)
        state.change { state in
            state.secretsRead = read ?? instant
            state.serverClock = (now, instant)
            state.queue.limits.workers = workers
            state.known.subtract(
                state.queue.update(endpoints, failures: failures, serverNow: now, now: instant))
        }
        send()
    }

    /// The secrets of the last `update` were still all that there are, then.
    package func confirmSecrets(at read: ContinuousClock.Instant) {
        state.change { $0.secretsRead = read }
        send()
    }

    /// How many more deliveries of each endpoint are welcome; only of those that may be sent to now.
    ///
    /// - Parameter onlyLow: only for lines that run low and are known to be longer in the database.
    package func room(onlyLow: Bool = false) -> [String: Int] {
        let now = instant()
        return state.read { state in
            guard !state.isDraining else { return [:] }
            var room: [String: Int] = [:]
            var unwritten: [String: Int] = [:]
            for result in state.results { unwritten[result.delivery.endpoint, default: 0] += 1 }
            func ask(_ id: String) {
                guard state.queue.takes(id), !state.queue.isPaused(id, now: now) else { return }
                let line = state.queue.lines[id]
                let (free, waiting) = (state.queue.room(id), line?.waiting.count ?? 0)
                // Half empty, or nearly so.
                guard onlyLow ? waiting * 3 < free : waiting < free else { return }
                // What is in flight, or done and not written down, is due in the database too: so it is asked for
                // beside what is wanted.
                room[id] = free + (line?.flights.count ?? 0) + (unwritten[id] ?? 0)
            }
            if onlyLow { state.queue.longer.forEach(ask) } else { state.queue.endpoints.keys.forEach(ask) }
            return room
        }
    }

    /// Begins nothing more to these until the next `update`; what waits for them comes again from the database.
    package func hold(_ endpoints: [String]) {
        guard !endpoints.isEmpty else { return }
        state.change { state in
            for id in endpoints { state.known.subtract(state.queue.hold(id)) }
        }
    }

    /// Whether to look for more in the database now, because a line runs low that is known to be longer there.
    package var wantsMore: Bool { !room(onlyLow: true).isEmpty }

    /// What a look into the database said about these endpoints: whether it left deliveries behind that are due.
    package func note(hasMore: Set<String>, of endpoints: some Sequence<String>) {
        state.change { state in
            for endpoint in endpoints {
                state.queue.note(hasMore: hasMore.contains(endpoint), of: endpoint)
            }
        }
    }

    /// Puts these into their lines; what is known already, or does not fit, is passed over, and so is what goes with its
    /// customers and comes without them: it is fetched with them.
    package func add(_ deliveries: [DueDelivery]) {
        state.change { state in
            guard !state.isDraining else { return }
            for delivery in deliveries {
                let isWhole =
                    delivery.customers != nil
                    || !delivery.needsCustomers && !state.queue.needsCustomers(delivery.endpoint)
                guard isWhole, state.queue.room(delivery.endpoint) > 0 else {
                    state.queue.note(hasMore: true, of: delivery.endpoint)
                    continue
                }
                guard !state.known.contains(delivery.id), state.queue.add(delivery) else { continue }
                state.known.insert(delivery.id)
            }
        }
        send()
    }

    /// Sends what had to wait for its pace; call often.
    package func resume() {
        guard state.change({ $0.queue.resume() }) else { return }
        send()
    }

    /// Results that are to be written down, the oldest first; `forget` them when that is done.
    ///
    /// - Parameter isLeft: which of them stay for now; nil: none.
    package func takeResults(atMost limit: Int, except isLeft: ((AttemptResult) -> Bool)? = nil) -> [AttemptResult] {
        state.change { state in
            guard let isLeft else {
                let taken = Array(state.results.prefix(limit))
                state.results.removeFirst(taken.count)
                return taken
            }
            var (taken, left) = ([AttemptResult](), [AttemptResult]())
            for result in state.results {
                if taken.count < limit, !isLeft(result) { taken.append(result) } else { left.append(result) }
            }
            state.results = left
            return taken
        }
    }

    /// These are recorded, or another worker's: if they are due again, they may come back.
    package func forget(_ deliveries: some Sequence<DeliveryID>) {
        state.change { $0.known.subtract(deliveries) }
    }

    /// Puts results back that could not be written down.
    package func giveBack(_ results: [AttemptResult]) {
        state.change { $0.results.insert(contentsOf: results, at: 0) }
    }

    /// Forgets what waits in lanes that another worker holds now; what is in flight comes to its end.
    package func drop(_ lanes: Set<Lane>) {
        guard !lanes.isEmpty else { return }
        state.change { state in
            for id in Array(state.queue.lines.keys) {
                state.known.subtract(state.queue.drop(id) { lanes.contains($0.id.lane) })
            }
        }
    }

    package var inFlight: Int { state.read { $0.queue.inFlight } }

    /// The lanes of what is in flight, or done and not yet written down.
    package var busyLanes: Set<Lane> { state.read { Set($0.known.map(\.lane)) } }

    /// Begins nothing more; what is in flight comes to its end.
    package func close() {
        state.change { state in
            state.isDraining = true
            for id in Array(state.queue.lines.keys) { state.known.subtract(state.queue.clear(id)) }
        }
    }

    /// Cuts what is still in flight; its results say so and cost no attempt.
    package func cut() {
        client.stop()
        _ = state.wait(timeout: .seconds(2)) { $0.queue.inFlight == 0 ? true : nil }
    }

    // MARK: - Sending

    private func send() {
        let now = instant()
        let (chosen, time) = state.change { state in
            let isTrusted = secretTrust.map { trust in state.secretsRead.map { now - $0 < trust } ?? false } ?? true
            return (
                isTrusted ? state.queue.next(now: now) : [],
                state.serverClock.map { $0.time + (now - $0.at).milliseconds }
            )
        }
        for (delivery, endpoint) in chosen {
            submit(delivery, to: endpoint, at: time ?? clock.now())
        }
    }

    private func submit(_ delivery: DueDelivery, to endpoint: Endpoint, at started: Int64) {
        let isRecorded = delivery.trace.map(tracer.records) ?? false
        let request = WebhookRequest.make(
            delivery, endpoint: endpoint, timestamp: started / 1000, timeout: timeout, isRecorded: isRecorded)
        FailPoint.deliverBeforeSend.pass()
        let begun = isRecorded ? Span.now() : 0
        client.submit(request) { [self, tracer] outcome in
            FailPoint.deliverAfterSend.pass()
            if isRecorded, let trace = delivery.trace {
                tracer.record(
                    .attempt(delivery, of: trace, to: endpoint, at: started / 1000, begun: begun, outcome))
            }
            finished(AttemptResult(delivery: delivery, started: started, outcome: outcome))
        }
    }

    private func finished(_ result: AttemptResult) {
        let now = instant()
        state.change { state in
            var result = result
            result.schedule = state.queue.endpoints[result.delivery.endpoint]?.retrySchedule
            state.queue.landed(result.delivery, SendQueue.Answer(result.outcome), now: now)
            state.results.append(result)
        }
        onResult()
        send()
    }
}

extension SendQueue.Answer {
    /// Strain is what less traffic may mend; faults of our own say nothing of the consumer.
    init(_ outcome: TransferOutcome) {
        switch outcome {
        case .response(let response) where (200..<300).contains(response.status): self = .arrived
        case .response(let response): self = response.status >= 500 || response.status == 429 ? .strained : .refused
        case .failure(let failure):
            self = [.interrupted, .infrastructure].contains(failure.kind) ? .nothing : .strained
        }
    }
}
