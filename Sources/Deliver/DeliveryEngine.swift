import Base
import HTTPClient
import Lifecycle
import Queue
import Records
import Telemetry

/// What came of one attempt, on its way into the database.
package struct AttemptResult: Sendable {
    package let delivery: DueDelivery
    /// Milliseconds since 1970, by this process' clock.
    package let started: Int64
    package let outcome: TransferOutcome
    /// The endpoint's own, as it was when the attempt ended; nil for the configuration's.
    package var schedule: RetrySchedule?
}

/// Sends deliveries: keeps those that are due in a line of their own for each endpoint, and a few of each in flight.
///
/// The lines take fair turns, so that a slow or dead consumer costs the others nothing. They are bounded; what does not
/// fit stays in the database, which remains the truth: whatever is lost here is read there again.
package final class DeliveryEngine: Sendable {
    private struct Line {
        var waiting: [DueDelivery] = []
        var inFlight = 0
        /// The database has more for it than was put here.
        var hasMore = false
    }

    private struct State {
        var endpoints: [String: Endpoint] = [:]
        var lines: [String: Line] = [:]
        /// Whose turn is next.
        var turns: [String] = []
        /// Everything that is waiting, in flight, or done and not yet written down.
        var known: Set<DeliveryID> = []
        var results: [AttemptResult] = []
        var inFlight = 0
        var isDraining = false
    }

    /// Requests in flight to one endpoint.
    private static let perEndpoint = 8
    /// Deliveries of one endpoint that wait in memory.
    private static let lineLimit = 512
    private static let inFlightLimit = 256

    private let state = Monitor(State())
    private let client: HTTPClient
    private let timeout: Duration
    private let clock: any WallClock
    private let metrics: Metrics
    private let onResult: @Sendable () -> Void

    /// - Parameter onResult: called from any thread when there is a result to take.
    package init(
        client: HTTPClient, timeout: Duration, clock: any WallClock, metrics: Metrics,
        onResult: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.timeout = timeout
        self.clock = clock
        self.metrics = metrics
        self.onResult = onResult
    }

    /// The endpoints as the database has them now.
    package func update(_ endpoints: [Endpoint]) {
        state.change { state in
            state.endpoints = Dictionary(endpoints.map { ($0.id, $0) }) { first, _ in first }
            for (id, line) in state.lines where state.endpoints[id].map({ $0.isEnabled && $0.isSendable }) != true {
                state.known.subtract(line.waiting.map(\.id))
                state.lines[id]?.waiting = []
            }
        }
        send()
    }

    /// How many more deliveries of each endpoint are welcome; only of those that may be sent to now.
    ///
    /// - Parameter onlyLow: only for lines that run low and are known to be longer in the database.
    package func room(now: Int64, onlyLow: Bool = false) -> [String: Int] {
        state.read { state in
            guard !state.isDraining else { return [:] }
            var room: [String: Int] = [:]
            var unwritten: [String: Int] = [:]
            for result in state.results { unwritten[result.delivery.endpoint, default: 0] += 1 }
            for endpoint in state.endpoints.values
            where endpoint.isEnabled && endpoint.isSendable && endpoint.pausedUntil <= now {
                let line = state.lines[endpoint.id]
                let waiting = line?.waiting.count ?? 0
                let isLow = line?.hasMore == true && waiting < DeliveryEngine.lineLimit / 4
                if onlyLow ? isLow : waiting < DeliveryEngine.lineLimit / 2 {
                    // What is in flight, or done and not written down, is due in the database too: so it is asked for
                    // beside what is wanted.
                    let inFlight = line?.inFlight ?? 0
                    let done = unwritten[endpoint.id] ?? 0
                    room[endpoint.id] = DeliveryEngine.lineLimit - waiting + inFlight + done
                }
            }
            return room
        }
    }

    /// Begins nothing more to these until the next `update`; what waits for them comes again from the database.
    package func hold(_ endpoints: [String]) {
        guard !endpoints.isEmpty else { return }
        state.change { state in
            for id in endpoints {
                state.endpoints[id] = nil
                state.known.subtract(state.lines[id]?.waiting.map(\.id) ?? [])
                state.lines[id]?.waiting = []
            }
        }
    }

    /// Whether to look for more in the database now, because a line runs low that is known to be longer there.
    package func wantsMore(now: Int64) -> Bool {
        state.read { state in
            !state.isDraining
                && state.lines.contains { id, line in
                    line.hasMore && line.waiting.count < DeliveryEngine.lineLimit / 4
                        && state.endpoints[id].map { $0.isEnabled && $0.isSendable && $0.pausedUntil <= now } ?? false
                }
        }
    }

    /// What a look into the database said about these endpoints: whether it left deliveries behind that are due.
    package func note(hasMore: Set<String>, of endpoints: some Sequence<String>) {
        state.change { state in
            for endpoint in endpoints {
                state.lines[endpoint]?.hasMore = hasMore.contains(endpoint)
            }
        }
    }

    /// Puts these into their lines; what is known already, or does not fit, is passed over.
    package func add(_ deliveries: [DueDelivery]) {
        state.change { state in
            guard !state.isDraining else { return }
            for delivery in deliveries {
                var line = state.lines[delivery.endpoint] ?? Line()
                guard line.waiting.count < DeliveryEngine.lineLimit else {
                    state.lines[delivery.endpoint]?.hasMore = true
                    continue
                }
                guard let endpoint = state.endpoints[delivery.endpoint], endpoint.isEnabled, endpoint.isSendable,
                    state.known.insert(delivery.id).inserted
                else { continue }
                line.waiting.append(delivery)
                if state.lines[delivery.endpoint] == nil {
                    state.turns.append(delivery.endpoint)
                }
                state.lines[delivery.endpoint] = line
            }
        }
        send()
    }

    /// Results that are to be written down; `forget` them when that is done.
    package func takeResults(atMost limit: Int) -> [AttemptResult] {
        state.change { state in
            let taken = Array(state.results.prefix(limit))
            state.results.removeFirst(taken.count)
            return taken
        }
    }

    /// These are written down, or somebody else's: if they are due again, they may come back.
    package func forget(_ deliveries: some Sequence<DeliveryID>) {
        state.change { $0.known.subtract(deliveries) }
    }

    /// Puts results back that could not be written down.
    package func giveBack(_ results: [AttemptResult]) {
        state.change { $0.results.insert(contentsOf: results, at: 0) }
    }

    /// Forgets what waits in lanes that are somebody else's now; what is in flight comes to its end.
    package func drop(_ lanes: Set<Lane>) {
        guard !lanes.isEmpty else { return }
        state.change { state in
            for (id, line) in state.lines {
                let gone = line.waiting.filter { lanes.contains($0.id.lane) }
                state.known.subtract(gone.map(\.id))
                state.lines[id]?.waiting.removeAll { lanes.contains($0.id.lane) }
            }
        }
    }

    package var inFlight: Int { state.read { $0.inFlight } }

    /// The lanes of what is in flight, or done and not yet written down.
    package var busyLanes: Set<Lane> { state.read { Set($0.known.map(\.lane)) } }

    /// Begins nothing more; what is in flight comes to its end.
    package func close() {
        state.change { state in
            state.isDraining = true
            for (id, line) in state.lines {
                state.known.subtract(line.waiting.map(\.id))
                state.lines[id]?.waiting = []
            }
        }
    }

    /// Cuts what is still in flight; its results say so and cost no attempt.
    package func cut() {
        client.stop()
        _ = state.wait(timeout: .seconds(2)) { $0.inFlight == 0 ? true : nil }
    }

    // MARK: - Sending

    private func send() {
        for (delivery, endpoint) in state.change({ DeliveryEngine.next(&$0, now: clock.now()) }) {
            submit(delivery, to: endpoint)
        }
    }

    /// Takes turns: one of each endpoint, until nobody has any left or there is no more room in flight.
    private static func next(_ state: inout State, now: Int64) -> [(DueDelivery, Endpoint)] {
        var chosen: [(DueDelivery, Endpoint)] = []
        var idleTurns = 0
        while idleTurns < state.turns.count, state.inFlight < inFlightLimit {
            let id = state.turns.removeFirst()
            state.turns.append(id)
            idleTurns += 1
            guard var line = state.lines[id], !line.waiting.isEmpty, line.inFlight < perEndpoint,
                let endpoint = state.endpoints[id], endpoint.isEnabled, endpoint.isSendable,
                endpoint.pausedUntil <= now
            else { continue }
            chosen.append((line.waiting.removeFirst(), endpoint))
            line.inFlight += 1
            state.lines[id] = line
            state.inFlight += 1
            idleTurns = 0
        }
        return chosen
    }

    private func submit(_ delivery: DueDelivery, to endpoint: Endpoint) {
        let started = clock.now()
        let request = WebhookRequest.make(
            delivery, endpoint: endpoint, timestamp: started / 1000, timeout: timeout)
        FailPoint.deliverBeforeSend.pass()
        client.submit(request) { [self] outcome in
            FailPoint.deliverAfterSend.pass()
            finished(AttemptResult(delivery: delivery, started: started, outcome: outcome))
        }
    }

    private func finished(_ result: AttemptResult) {
        state.change { state in
            state.inFlight -= 1
            state.lines[result.delivery.endpoint]?.inFlight -= 1
            var result = result
            result.schedule = state.endpoints[result.delivery.endpoint]?.retrySchedule
            state.results.append(result)
        }
        onResult()
        send()
    }
}
