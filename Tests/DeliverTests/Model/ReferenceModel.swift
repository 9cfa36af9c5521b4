import Queue
import Records

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
        var state: State
        var attempts = 0
        var roundStart = 0
        /// Whether it was ever delivered or given up: what comes behind it may have gone out since.
        var wasEnded = false

        var isOpen: Bool { [.pending, .held, .blocked].contains(state) }
        var isEnded: Bool { state == .delivered || state == .dead }
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
    private var last: [String: Int64] = [:]

    init(rounds: Int) {
        self.rounds = rounds
    }

    func endpoint(_ id: String) -> Endpoint? { endpoints.first { $0.id == id } }

    mutating func add(_ endpoint: Endpoint) { endpoints.append(endpoint) }

    mutating func publish(_ events: [NewEvent]) {
        for event in events where sequences[event.id] == nil {
            var sequence: Int64?
            if let purchase = event.originalTransactionID {
                last[purchase, default: 0] += 1
                sequence = last[purchase]
            }
            sequences[event.id] = .some(sequence)
            for endpoint in endpoints where !endpoint.isRemoved {
                let id = DeliveryID(lane: event.lane, event: event.id, endpoint: endpoint.id)
                var delivery = Delivery(
                    endpoint: endpoint.id, purchase: event.originalTransactionID, sequence: sequence,
                    isOrdered: endpoint.isOrdered && sequence != nil, state: endpoint.isDisabled ? .held : .pending)
                if !earlier(than: delivery).isEmpty { delivery.state = .blocked }
                deliveries[id] = delivery
                order.append(id)
            }
        }
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
        for attempt in attempts {
            guard let ended = deliveries[attempt.delivery], ended.isOrdered, ended.isEnded,
                let first = line(of: ended).first, deliveries[first]?.state == .blocked
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

    /// Why this may not be sent for the first time now; nil if it may.
    func objection(toFirstArrivalOf id: DeliveryID) -> String? {
        guard let delivery = deliveries[id] else { return "nobody made it" }
        guard delivery.isOrdered, let sequence = delivery.sequence else { return nil }
        let before = deliveries.values.filter { other in
            other.isOrdered && other.purchase == delivery.purchase && other.endpoint == delivery.endpoint
                && (other.sequence ?? 0) < sequence && !other.wasEnded
        }
        return before.isEmpty ? nil : "number \(sequence) came before \(before.compactMap(\.sequence).sorted())"
    }
}
