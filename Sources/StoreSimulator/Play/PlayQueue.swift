import Base
import Daemon

/// What is to be sent, by when: filled by the plan, signed ahead by signers, taken by senders, and put back by them when
/// it has to be tried again.
///
/// Nothing is given out before as much is signed as fits, so that the receiver is measured and not the signing. The plan
/// and the signers wait on the state; senders wait each on a bed of its own, so that one is woken and not all.
final class PlayQueue: Sendable {
    struct Delivery: Sendable {
        let letter: PlannedNotification
        /// Counted from 1.
        var attempt: Int
        /// When it should be sent; latencies of a paced play are counted from here.
        var due: ContinuousClock.Instant
    }

    /// Where a sender sleeps: true once it is woken.
    private typealias Bed = Monitor<Bool>

    private struct State {
        var queue: [PlannedNotification] = []
        /// How many of the queue were taken by senders, and by signers.
        var taken = 0
        var givenToSigners = 0
        var busySigners = 0
        /// By when they are due: what is tried again, and what waited for an earlier one of its life.
        var retries: [Delivery] = []
        /// Where each life's order is kept: the lives of which a notification is sent or tried again, with what waits behind it.
        var behind: [UInt64: [Delivery]] = [:]
        /// How many wait behind others.
        var parked = 0
        var inFlight = 0
        /// How many left the queue for good.
        var dropped = 0
        var isComplete = false
        var opened: ContinuousClock.Instant?
        var sleepers: [Bed] = []
        /// The sleeper that wakes by itself when something is due; the others wait to be woken.
        var watcher: Bed?

        var isDone: Bool { isComplete && taken == queue.count && retries.isEmpty && inFlight == 0 }

        /// Returns whether a thread has to look again: what it waits for may be later than this.
        mutating func putBack(_ delivery: Delivery) -> Bool {
            let place = retries.firstIndex { $0.due > delivery.due } ?? retries.count
            retries.insert(delivery, at: place)
            return place == 0
        }

        mutating func wakeOne() {
            sleepers.popLast()?.change { $0 = true }
        }

        mutating func wakeAll() {
            while !sleepers.isEmpty { wakeOne() }
        }

        mutating func openIfSigned(_ ahead: Int) {
            guard opened == nil, busySigners == 0, givenToSigners == queue.count,
                isComplete || queue.count - taken >= ahead
            else { return }
            opened = .now
            wakeAll()
        }
    }

    private let state = Monitor(State())
    private let ahead: Int
    private let pace: Pace
    private let keepsOrder: Bool

    /// When letters leave.
    enum Pace {
        case asFastAsPossible
        case every(Duration)
        /// Each at its signed date, by this clock.
        case asSigned(any WallClock)
    }

    /// - Parameters:
    ///   - ahead: how many letters wait at most.
    ///   - keepsOrder: a letter leaves when the one before it of the same life is done.
    init(ahead: Int, pace: Pace, keepsOrder: Bool = false) {
        self.ahead = ahead
        self.pace = pace
        self.keepsOrder = keepsOrder
    }

    /// When the next letter of the queue is due, of those that were opened then; nil when it need not wait.
    private func departure(_ state: State, opened: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        switch pace {
        case .asFastAsPossible: nil
        case .every(let interval): opened + interval * (state.dropped + state.taken)
        case .asSigned(let clock):
            .now + .milliseconds(state.queue[state.taken].notification.signedDate &- clock.now())
        }
    }

    // MARK: - Filling

    /// Waits until there is room.
    func add(_ letter: PlannedNotification) {
        _ = state.wait { [ahead] state in state.queue.count - state.taken + state.parked < ahead ? true : nil }
        state.change { state in
            if state.taken * 2 > state.queue.count {
                state.queue.removeFirst(state.taken)
                state.givenToSigners = max(0, state.givenToSigners - state.taken)
                state.dropped += state.taken
                state.taken = 0
            }
            state.queue.append(letter)
            if state.opened != nil { state.wakeOne() }
        }
    }

    /// Nothing will be added any more.
    func complete() {
        state.change { state in
            state.isComplete = true
            state.openIfSigned(ahead)
            state.wakeAll()
        }
    }

    /// The next letter to sign ahead; nil at the end. `afterFirst`: the previous one of this caller is signed now.
    func nextToSign(afterFirst: Bool) -> PlannedNotification? {
        state.change { state in
            state.busySigners -= afterFirst ? 1 : 0
            if state.givenToSigners >= state.queue.count { state.openIfSigned(ahead) }
        }
        let next = state.wait { state -> PlannedNotification?? in
            state.givenToSigners = max(state.givenToSigners, state.taken)
            if state.givenToSigners < state.queue.count {
                state.givenToSigners += 1
                state.busySigners += 1
                return state.queue[state.givenToSigners - 1]
            }
            return state.isComplete ? .some(nil) : nil
        }
        return next ?? nil
    }

    // MARK: - Sending

    private enum Step {
        case take(Delivery)
        case sleep(Bed, until: ContinuousClock.Instant?)
        case end
    }

    /// What is due next, waiting for it; nil when everything was sent for good.
    func take() -> Delivery? {
        while true {
            switch state.change({ nextStep(&$0) }) {
            case .take(let delivery): return delivery
            case .end: return nil
            case .sleep(let bed, let due):
                let timeout = due.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
                _ = bed.wait(timeout: timeout) { $0 ? true : nil }
                state.change { state in
                    state.sleepers.removeAll { $0 === bed }
                    if state.watcher === bed { state.watcher = nil }
                }
            }
        }
    }

    private func nextStep(_ state: inout State) -> Step {
        var due: ContinuousClock.Instant?
        if let opened = state.opened {
            let now = ContinuousClock.now
            var (planned, regular) = next(state, opened: opened)
            while keepsOrder, let due = regular, due <= now, state.behind[state.queue[state.taken].life] != nil {
                let letter = state.queue[state.taken]
                state.taken += 1
                state.behind[letter.life]?.append(Delivery(letter: letter, attempt: 1, due: planned ?? now))
                state.parked += 1
                (planned, regular) = next(state, opened: opened)
            }
            if let retry = state.retries.first, retry.due <= now {
                state.retries.removeFirst()
                return give(retry, &state)
            }
            if let regular, regular <= now {
                state.taken += 1
                let letter = state.queue[state.taken - 1]
                if keepsOrder { state.behind[letter.life] = [] }
                return give(Delivery(letter: letter, attempt: 1, due: planned ?? now), &state)
            }
            if state.isDone {
                state.wakeAll()
                return .end
            }
            due = [regular, state.retries.first?.due].compactMap(\.self).min()
        }
        let bed = Bed(false)
        state.sleepers.append(bed)
        guard let due, state.watcher == nil else { return .sleep(bed, until: nil) }
        state.watcher = bed
        return .sleep(bed, until: due)
    }

    /// When the next letter of the queue departs by its pace, and when it may be sent; nil where there is none.
    private func next(
        _ state: State, opened: ContinuousClock.Instant
    ) -> (planned: ContinuousClock.Instant?, due: ContinuousClock.Instant?) {
        guard state.taken < state.queue.count else { return (nil, nil) }
        let planned = departure(state, opened: opened)
        return (planned, planned ?? opened)
    }

    private func give(_ delivery: Delivery, _ state: inout State) -> Step {
        state.inFlight += 1
        // One thread has to wait for what comes next.
        if state.watcher == nil, state.taken < state.queue.count || !state.retries.isEmpty { state.wakeOne() }
        return .take(delivery)
    }

    /// A delivery has its answer; with `retryAfter` it comes again so much later.
    func done(_ delivery: Delivery, retryAfter: Duration? = nil) {
        state.change { state in
            state.inFlight -= 1
            var again: Delivery?
            if let retryAfter {
                again = Delivery(letter: delivery.letter, attempt: delivery.attempt + 1, due: .now + retryAfter)
            } else if keepsOrder, let waiting = state.behind[delivery.letter.life] {
                again = waiting.first
                again?.due = .now
                state.parked -= waiting.isEmpty ? 0 : 1
                state.behind[delivery.letter.life] = waiting.isEmpty ? nil : Array(waiting.dropFirst())
            }
            if let again, state.putBack(again) {
                state.watcher = nil
                state.wakeOne()
            }
            if state.isDone { state.wakeAll() }
        }
    }

    // MARK: - Looking on

    /// How many were planned and taken so far, whether that is all, and whether sending has begun.
    var progress: (planned: Int, taken: Int, isComplete: Bool, isOpen: Bool) {
        state.read { state in
            (
                state.dropped + state.queue.count, state.dropped + state.taken, state.isComplete, state.opened != nil
            )
        }
    }
}
