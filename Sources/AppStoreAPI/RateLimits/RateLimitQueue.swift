/// Who waits for one token bucket, in order: a person who looks on goes before a sweep. Pure, as the bucket is.
struct RateLimitQueue: Sendable {
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
        fileprivate let priority: CallOptions.Priority
    }

    enum Answer: Sendable, Equatable {
        /// Send now; the ticket is used up.
        case go
        /// Ask again at that time.
        case wait(until: Int64)
        /// Ask again when a request ahead went or left.
        case queue
    }

    private var bucket: TokenBucket
    private var waiting: [Ticket] = []
    private var issued: UInt64 = 0

    init(_ bucket: TokenBucket) {
        self.bucket = bucket
    }

    mutating func join(_ priority: CallOptions.Priority) -> Ticket {
        issued &+= 1
        let ticket = Ticket(number: issued, priority: priority)
        let place = waiting.firstIndex { $0.priority < priority } ?? waiting.endIndex
        waiting.insert(ticket, at: place)
        return ticket
    }

    mutating func ask(_ ticket: Ticket, at now: Int64) -> Answer {
        guard waiting.first == ticket else { return .queue }
        if let later = bucket.take(at: now) { return .wait(until: later) }
        waiting.removeFirst()
        return .go
    }

    func isFirst(_ ticket: Ticket) -> Bool { waiting.first == ticket }

    mutating func leave(_ ticket: Ticket) {
        waiting.removeAll { $0 == ticket }
    }

    mutating func change(rate: Double, burst: Double, now: Int64) {
        bucket.change(rate: rate, burst: burst, now: now)
    }

    mutating func close(until time: Int64, now: Int64) {
        bucket.close(until: time, now: now)
    }
}
