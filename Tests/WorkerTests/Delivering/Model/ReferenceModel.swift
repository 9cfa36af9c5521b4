import Database

/// What deliveries should do, as simply as it can be said: no database, no threads, no network.
struct ReferenceModel {
    enum State: Int16 {
        case pending = 0, delivered, dead, held, blocked
    }

    struct Endpoint {
        let id: String
        let isOrdered: Bool
        var isDisabled = false
        var isRemoved = false
    }

    struct Delivery {
        let endpoint: String
        let purchase: String?
        let sequence: Int64?
        let isOrdered: Bool
        /// Milliseconds.
        let created: Int64
        var state: State {
            didSet { if state == .pending || state == .held { wasFree = true } }
        }
        var attempts = 0
        var roundStart = 0
        /// Whether it was ever delivered or given up: what comes behind it may have gone out since.
        var wasEnded = false
        /// Whether it was ever due or held, so that it may be on its way whatever it is now.
        var wasFree = false
        /// Earlier ones that were made when it was free already.
        var passed: Set<DeliveryID> = []

        var isOpen: Bool { [.pending, .held, .blocked].contains(state) }
        var isEnded: Bool { state == .delivered || state == .dead }
    }

    struct Published: Hashable {
        let lane: Lane
        let id: [UInt8]
        let purchase: String?
        /// For one endpoint alone.
        var isCopy = false
    }

    /// One attempt: how the delivery was when it began, and what became of it.
    struct Attempt {
        enum Outcome {
            case arrived, failed, gone, interrupted
        }

        let delivery: DeliveryID
        let attempts: Int
        let roundStart: Int
        let outcome: Outcome
    }

    /// Attempts of one round.
    let rounds: Int
    private(set) var endpoints: [Endpoint] = []
    private(set) var deliveries: [DeliveryID: Delivery] = [:]
    /// In the order in which they were made: ids are different each time.
    private(set) var order: [DeliveryID] = []
    private(set) var sequences: [[UInt8]: Int64?] = [:]
    /// In the order in which they were made.
    private(set) var events: [Published] = []
    private var last: [String: Int64] = [:]

    init(rounds: Int) {
        self.rounds = rounds
    }

    func endpoint(_ id: String) -> Endpoint? { endpoints.first { $0.id == id } }

    mutating func add(_ endpoint: Endpoint) { endpoints.append(endpoint) }

    mutating func publish(_ new: [NewEvent], at now: Int64) {
        for event in new where sequences[event.id] == nil {
            var sequence: Int64?
            if let purchase = event.originalTransactionID {
                last[purchase, default: 0] += 1
                sequence = last[purchase]
            }
            sequences[event.id] = .some(sequence)
            let published = Published(lane: event.lane, id: event.id, purchase: event.originalTransactionID)
            events.append(published)
            for endpoint in endpoints where !endpoint.isRemoved {
                make(published, for: endpoint, at: now) { model, delivery in
                    !model.earlier(than: delivery).isEmpty ? .blocked : endpoint.isDisabled ? .held : .pending
                }
            }
        }
    }

    @discardableResult
    private mutating func make(
        _ event: Published, for endpoint: Endpoint, at now: Int64, _ state: (Self, Delivery) -> State
    ) -> DeliveryID {
        let sequence = sequences[event.id] ?? nil
        var delivery = Delivery(
            endpoint: endpoint.id, purchase: event.purchase, sequence: sequence,
            isOrdered: endpoint.isOrdered && event.purchase != nil, created: now, state: .blocked)
        delivery.state = state(self, delivery)
        let id = DeliveryID(lane: event.lane, event: event.id, endpoint: endpoint.id)
        deliveries[id] = delivery
        order.append(id)
        return id
    }

    /// The open ones of the same purchase and endpoint before it; none where nobody asked for an order.
    private func earlier(than one: Delivery) -> [DeliveryID] {
        guard one.isOrdered, let sequence = one.sequence else { return [] }
        return line(of: one).filter { (deliveries[$0]?.sequence ?? 0) < sequence }
    }

    private func line(of one: Delivery) -> [DeliveryID] {
        deliveries.filter { entry in
            entry.value.isOrdered && entry.value.isOpen && entry.value.purchase == one.purchase
                && entry.value.endpoint == one.endpoint
        }.sorted { ($0.value.sequence ?? 0) < ($1.value.sequence ?? 0) }.map(\.key)
    }

    mutating func settle(_ attempts: [Attempt]) {
        for attempt in attempts {
            guard var delivery = deliveries[attempt.delivery] else { continue }
            let isUnchanged =
                delivery.state == .pending && delivery.attempts == attempt.attempts
                && delivery.roundStart == attempt.roundStart
            if isUnchanged || attempt.outcome == .arrived { delivery.state = after(attempt) }
            let counts = attempt.outcome == .interrupted ? 0 : 1
            delivery.attempts = max(delivery.attempts, attempt.attempts + counts)
            if delivery.isEnded { delivery.wasEnded = true }
            deliveries[attempt.delivery] = delivery
        }
        release(attempts.map(\.delivery).filter { deliveries[$0]?.isEnded == true })
    }

    /// The first of the line of each goes.
    private mutating func release(_ changed: [DeliveryID]) {
        for id in changed {
            guard let delivery = deliveries[id], delivery.isOrdered, let first = line(of: delivery).first,
                deliveries[first]?.state == .blocked
            else { continue }
            deliveries[first]?.state = .pending
        }
    }

    private func after(_ attempt: Attempt) -> State {
        switch attempt.outcome {
        case .arrived: .delivered
        case .gone: .held
        case .interrupted: .pending
        case .failed: attempt.attempts - attempt.roundStart + 1 >= rounds ? .dead : .pending
        }
    }

    mutating func change(_ endpoint: String, _ body: (inout Endpoint) -> Void) {
        for place in endpoints.indices where endpoints[place].id == endpoint { body(&endpoints[place]) }
    }

    /// Deliveries do as their endpoints did.
    mutating func follow() {
        for (id, delivery) in deliveries where delivery.isOpen {
            guard let endpoint = endpoint(delivery.endpoint) else { continue }
            if endpoint.isRemoved {
                deliveries[id]?.state = .dead
                deliveries[id]?.wasEnded = true
            } else if endpoint.isDisabled, delivery.state == .pending {
                deliveries[id]?.state = .held
            } else if !endpoint.isDisabled, delivery.state == .held {
                deliveries[id]?.state = .pending
                deliveries[id]?.roundStart = delivery.attempts
            }
        }
    }

    mutating func resend(_ id: DeliveryID) {
        guard let delivery = deliveries[id], let endpoint = endpoint(delivery.endpoint), !endpoint.isRemoved,
            !endpoint.isDisabled
        else { return }
        let isFirst = earlier(than: delivery).isEmpty
        deliveries[id]?.state = isFirst ? .pending : .blocked
        deliveries[id]?.roundStart = delivery.attempts
    }

    /// Events once more to an endpoint that failed; if all of them are meant, also those that arrived or were never made.
    mutating func replay(_ events: [Published], to id: String, isAll: Bool, at now: Int64) {
        guard let endpoint = endpoint(id), !endpoint.isRemoved, !endpoint.isDisabled else { return }
        var changed: [DeliveryID] = []
        for event in events {
            let id = DeliveryID(lane: event.lane, event: event.id, endpoint: endpoint.id)
            if let known = deliveries[id] {
                guard known.state == .dead || isAll && known.state == .delivered else { continue }
                deliveries[id]?.state = known.isOrdered ? .blocked : .pending
                deliveries[id]?.roundStart = known.attempts
            } else if isAll, !event.isCopy {
                make(event, for: endpoint, at: now) { _, delivery in delivery.isOrdered ? .blocked : .pending }
                for later in later(than: id) where deliveries[later]?.wasFree == true {
                    deliveries[later]?.passed.insert(id)
                }
            } else {
                continue
            }
            changed.append(id)
        }
        release(changed)
    }

    /// Those of the same purchase and endpoint behind it, open or not.
    private func later(than id: DeliveryID) -> [DeliveryID] {
        guard let one = deliveries[id], one.isOrdered, let sequence = one.sequence else { return [] }
        return deliveries.filter { entry in
            entry.value.isOrdered && entry.value.purchase == one.purchase && entry.value.endpoint == one.endpoint
                && (entry.value.sequence ?? 0) > sequence
        }.map(\.key)
    }

    /// The same event under another id, for the endpoint of this delivery.
    mutating func copy(_ id: DeliveryID, as event: [UInt8], at now: Int64) {
        guard let original = deliveries[id], let endpoint = endpoint(original.endpoint), !endpoint.isRemoved,
            !endpoint.isDisabled
        else { return }
        sequences[event] = .some(original.sequence)
        let copy = Published(lane: id.lane, id: event, purchase: nil, isCopy: true)
        events.append(copy)
        make(copy, for: endpoint, at: now) { _, _ in .pending }
    }

    /// What waits for a disabled endpoint is given up, as far as it was made by then.
    mutating func drop(_ endpoint: String, madeUntil instant: Int64) {
        let dropped = order.filter { id in
            deliveries[id].map { $0.endpoint == endpoint && $0.isOpen && $0.created <= instant } ?? false
        }
        for id in dropped {
            deliveries[id]?.state = .dead
            deliveries[id]?.wasEnded = true
        }
        release(dropped)
    }

    /// Why this may not be sent for the first time now; nil if it may.
    func objection(toFirstArrivalOf id: DeliveryID) -> String? {
        guard let delivery = deliveries[id] else { return "nobody made it" }
        guard delivery.isOrdered, let sequence = delivery.sequence else { return nil }
        let before = deliveries.filter { id, other in
            other.isOrdered && other.purchase == delivery.purchase && other.endpoint == delivery.endpoint
                && (other.sequence ?? 0) < sequence && !other.wasEnded && !delivery.passed.contains(id)
        }
        return before.isEmpty
            ? nil : "number \(sequence) came before \(before.values.compactMap(\.sequence).sorted())"
    }
}
