import Base
import Database

/// Which delivery is sent next: a line for each endpoint, and fair turns among those that have something to send.
///
/// Pure; instants are given. A delivery costs the same however many endpoints there are: only those that could send
/// stand in the lines of turns, and who cannot leaves them until something of its own changes.
package struct SendQueue: Sendable {
    /// What the end of a request says about its endpoint.
    package enum Answer: Sendable {
        case arrived
        /// An answer of a consumer that is up and does not want it.
        case refused
        /// It fails, times out, or has too much to do.
        case strained
        case nothing
    }

    private(set) var endpoints: [String: Endpoint] = [:]
    private(set) var lines: [String: EndpointQueue] = [:]
    package private(set) var inFlight = 0
    package private(set) var suspectsInFlight = 0
    /// Lines that are known to be longer in the database.
    private(set) var longer: Set<String> = []
    private var turns = OrderedIDQueue()
    /// Those that fail or are slow, which share half of all places.
    private var suspects = OrderedIDQueue()
    /// Those for whom there was no room; they ask again as places become free.
    private var crowded = OrderedIDQueue()
    private var isSuspectsTurn = false
    /// Those that may not send before some instant.
    private var paced: Set<String> = []
    private var pauses: [String: ContinuousClock.Instant] = [:]
    /// In a row, as all workers together saw them; of those that were ever sent to.
    private var failures: [String: Int] = [:]
    package var limits: SendLimits

    package init(limits: SendLimits) {
        self.limits = limits
    }

    /// The endpoints as the database has them at an instant of its clock; what waits for those that get nothing now
    /// comes back, to be forgotten.
    ///
    /// - Parameter failures: in a row, as all workers together saw them; of those endpoints that were ever sent to.
    package mutating func update(
        _ list: [Endpoint], failures: [String: Int], serverNow: Int64, now: ContinuousClock.Instant
    ) -> [DeliveryID] {
        endpoints = Dictionary(list.map { ($0.id, $0) }) { first, _ in first }
        self.failures = failures
        longer = longer.filter { takes($0) }
        pauses = [:]
        for endpoint in list where endpoint.pausedUntil > serverNow {
            let (wait, overflows) = endpoint.pausedUntil.subtractingReportingOverflow(serverNow)
            pauses[endpoint.id] = now + .milliseconds(overflows ? .max / 2 : wait)
        }
        var gone: [DeliveryID] = []
        for id in Array(lines.keys) {
            if !takes(id) { gone += clear(id) }
            change(id) { line in
                line.grow(older: now)
                if let count = failures[id] { line.learn(failures: count) }
            }
            gone += trim(id)
            queue(id)
        }
        while let id = crowded.next() { queue(left(id)) }
        for (id, line) in lines where endpoints[id] == nil && line.flights.isEmpty && !line.isQueued {
            lines[id] = nil
        }
        return gone
    }

    /// How many more may wait for this endpoint.
    package func room(_ id: String) -> Int {
        let line = lines[id] ?? newLine(id)
        return line.room - line.waiting.count
    }

    /// What waits beyond that goes back to the database.
    private mutating func trim(_ id: String) -> [DeliveryID] {
        guard let line = lines[id], line.waiting.count > line.room else { return [] }
        let gone = line.waiting[line.room...].map(\.id)
        lines[id]?.waiting.removeLast(gone.count)
        longer.insert(id)
        return gone
    }

    /// Whether anything is sent to it, now or after a pause.
    package func takes(_ id: String) -> Bool {
        endpoints[id].map { $0.isEnabled && $0.isSendable } ?? false
    }

    /// Whether what is sent to it goes with the customers of events.
    func needsCustomers(_ id: String) -> Bool { endpoints[id]?.needsCustomers ?? false }

    package func isPaused(_ id: String, now: ContinuousClock.Instant) -> Bool {
        pauses[id].map { $0 > now } ?? false
    }

    /// Puts a delivery into its line; false if nothing is sent to its endpoint.
    package mutating func add(_ delivery: DueDelivery) -> Bool {
        let id = delivery.endpoint
        guard takes(id) else { return false }
        if lines[id] == nil { lines[id] = newLine(id) }
        lines[id]?.waiting.append(delivery)
        queue(id)
        return true
    }

    private func newLine(_ id: String) -> EndpointQueue {
        var line = EndpointQueue()
        if let count = failures[id] { line.learn(failures: count) }
        return line
    }

    package mutating func note(hasMore: Bool, of id: String) {
        if hasMore, takes(id) { longer.insert(id) } else { longer.remove(id) }
    }

    /// Empties the line; what waited in it.
    package mutating func clear(_ id: String) -> [DeliveryID] {
        drop(id) { _ in true }
    }

    package mutating func drop(_ id: String, where isGone: (DueDelivery) -> Bool) -> [DeliveryID] {
        let gone = lines[id]?.waiting.filter(isGone).map(\.id) ?? []
        if !gone.isEmpty { lines[id]?.waiting.removeAll(where: isGone) }
        return gone
    }

    /// Begins nothing more to this endpoint until the next `update`.
    package mutating func hold(_ id: String) -> [DeliveryID] {
        endpoints[id] = nil
        return clear(id)
    }

    /// Lets those ask again who had to wait for their pace; whether there are any.
    package mutating func resume() -> Bool {
        defer { paced = [] }
        for id in paced { queue(id) }
        return !paced.isEmpty
    }

    package mutating func landed(
        _ delivery: DueDelivery, _ answer: Answer, now: ContinuousClock.Instant
    ) {
        inFlight -= 1
        let limit = limits.share
        change(delivery.endpoint) { $0.landed(delivery.id, answer, limit: limit, now: now) }
        queue(delivery.endpoint)
        // One place for one of them, and one more so that they all come to it.
        for _ in 0..<2 { if let id = crowded.next() { queue(left(id)) } }
    }

    // MARK: - Turns

    /// Takes turns, one of each endpoint, until no endpoint can send or all places are taken.
    package mutating func next(now: ContinuousClock.Instant) -> [(delivery: DueDelivery, endpoint: Endpoint)] {
        var chosen: [(delivery: DueDelivery, endpoint: Endpoint)] = []
        while inFlight < limits.total, let id = nextTurn() {
            guard let endpoint = endpoints[id], let delivery = begin(id, now: now) else { continue }
            chosen.append((delivery, endpoint))
            queue(id)
        }
        return chosen
    }

    /// Who is next; the two lines of turns alternate.
    private mutating func nextTurn() -> String? {
        isSuspectsTurn.toggle()
        if isSuspectsTurn, suspectsInFlight < limits.forSuspects, let id = suspects.next() { return left(id) }
        while let id = turns.next() {
            guard lines[id]?.isSuspect == true, suspectsInFlight >= limits.forSuspects else { return left(id) }
            suspects.append(id)
        }
        guard suspectsInFlight < limits.forSuspects else { return nil }
        return suspects.next().flatMap { left($0) }
    }

    private mutating func left(_ id: String) -> String {
        lines[id]?.isQueued = false
        return id
    }

    private mutating func begin(_ id: String, now: ContinuousClock.Instant) -> DueDelivery? {
        guard takes(id), !isPaused(id, now: now), let place = lines.index(forKey: id) else { return nil }
        let count = lines.values[place].flights.count
        guard !lines.values[place].waiting.isEmpty, count < lines.values[place].places(limit: limits.share) else {
            return nil
        }
        let (free, isProven) = (limits.total - inFlight, lines.values[place].isProven)
        guard limits.leavesRoom(inFlight: count, free: free, isProven: isProven) else {
            lines.values[place].isQueued = true
            crowded.append(id)
            return nil
        }
        guard lines.values[place].slowStart.take(now: now, workers: limits.workers) else {
            paced.insert(id)
            return nil
        }
        inFlight += 1
        return change(id) { line in
            let delivery = line.waiting.removeFirst()
            line.flights.append(EndpointQueue.Flight(id: delivery.id, begun: now))
            return delivery
        }
    }

    /// Gives an endpoint that has something to send its place among the turns.
    private mutating func queue(_ id: String) {
        guard let place = lines.index(forKey: id), !lines.values[place].waiting.isEmpty,
            !lines.values[place].isQueued
        else { return }
        lines.values[place].isQueued = true
        if lines.values[place].isSuspect { suspects.append(id) } else { turns.append(id) }
    }

    /// Changes a line where it is, and keeps the count of what suspects have in flight.
    @discardableResult
    private mutating func change<Result>(_ id: String, _ body: (inout EndpointQueue) -> Result) -> Result? {
        guard let place = lines.index(forKey: id) else { return nil }
        let before = lines.values[place].isSuspect ? lines.values[place].flights.count : 0
        let result = body(&lines.values[place])
        let after = lines.values[place].isSuspect ? lines.values[place].flights.count : 0
        suspectsInFlight += after - before
        return result
    }
}
