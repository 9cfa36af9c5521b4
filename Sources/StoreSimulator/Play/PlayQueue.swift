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
        var retries: [Delivery] = []
        var inFlight = 0
        /// How many left the queue for good.
        var dropped = 0
        var isComplete = false
        var opened: ContinuousClock.Instant?
        var sleepers: [Bed] = []
        /// The sleeper that wakes by itself when something is due; the others wait to be woken.
        var watcher: Bed?

        var isDone: Bool { isComplete && taken == queue.count && retries.isEmpty && inFlight == 0 }

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

    /// When letters leave.
    enum Pace {
        case asFastAsPossible
        case every(Duration)
        /// Each at its signed date, by this clock.
        case asSigned(any WallClock)
    }

    /// `ahead`: how many letters wait at most.
    init(ahead: Int, pace: Pace) {
        self.ahead = ahead
        self.pace = pace
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
        _ = state.wait { [ahead] state in state.queue.count - state.taken < ahead ? true : nil }
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
            let planned = state.taken < state.queue.count ? departure(state, opened: opened) : nil
            let regular = state.taken < state.queue.count ? planned ?? opened : nil
            if let retry = state.retries.first, retry.due <= now {
                state.retries.removeFirst()
                return give(retry, &state)
            }
            if let regular, regular <= now {
                state.taken += 1
                let letter = state.queue[state.taken - 1]
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
            if let retryAfter {
                let again = Delivery(letter: delivery.letter, attempt: delivery.attempt + 1, due: .now + retryAfter)
                let place = state.retries.firstIndex { $0.due > again.due } ?? state.retries.count
                state.retries.insert(again, at: place)
                if place == 0 {
                    // The thread that waits may do so for something later than this.
                    state.watcher = nil
                    state.wakeOne()
                }
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
