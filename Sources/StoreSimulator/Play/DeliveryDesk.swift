import Base
import Glibc
import SwiftOverlayShims  // optimised builds find `timespec` there

/// What is to be sent, by when: filled by the plan, signed ahead by signers, taken by senders, and put back by them when
/// it has to be tried again.
///
/// Nothing is given out before as much is signed as fits, so that the receiver is measured and not the signing.
///
/// `@unchecked Sendable`: the state is touched only with the mutex held.
final class DeliveryDesk: @unchecked Sendable {
    struct Delivery: Sendable {
        let letter: Letter
        /// Counted from 1.
        var attempt: Int
        /// When it should be sent; latencies of a paced play are counted from here.
        var due: ContinuousClock.Instant
    }

    private var queue: [Letter] = []
    /// How many of the queue were taken by senders, and by signers.
    private var taken = 0
    private var givenToSigners = 0
    private var busySigners = 0
    private var retries: [Delivery] = []
    private var inFlight = 0
    private var sent = 0
    private var isComplete = false
    private var opened: ContinuousClock.Instant?
    /// Who waits for the next due time; the others wait without one.
    private var leader = 0
    private var hasLeader = false

    private let ahead: Int
    private let interval: Duration?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let ready: UnsafeMutablePointer<pthread_cond_t>
    private let room: UnsafeMutablePointer<pthread_cond_t>

    /// `ahead`: how many letters wait at most. `interval`: from one to the next; nil for as fast as possible.
    init(ahead: Int, interval: Duration?) {
        self.ahead = ahead
        self.interval = interval
        mutex = .allocate(capacity: 1)
        ready = .allocate(capacity: 1)
        room = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(ready, &attributes)
        pthread_cond_init(room, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(ready)
        pthread_cond_destroy(room)
        pthread_mutex_destroy(mutex)
        ready.deallocate()
        room.deallocate()
        mutex.deallocate()
    }

    private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    // MARK: - Filling

    /// Waits until there is room.
    func add(_ letter: Letter) {
        locked {
            while queue.count - taken >= ahead {
                pthread_cond_wait(room, mutex)
            }
            if taken > 0 && taken * 2 > queue.count {
                queue.removeFirst(taken)
                givenToSigners = max(0, givenToSigners - taken)
                sent += taken
                taken = 0
            }
            queue.append(letter)
            pthread_cond_signal(room)
            pthread_cond_signal(ready)
        }
    }

    /// Nothing will be added any more.
    func complete() {
        locked {
            isComplete = true
            openIfSigned()
            pthread_cond_broadcast(room)
            pthread_cond_broadcast(ready)
        }
    }

    /// The next letter to sign ahead; nil at the end. The previous one of this caller is signed now.
    func nextToSign(afterFirst: Bool) -> Letter? {
        locked {
            busySigners -= afterFirst ? 1 : 0
            while true {
                givenToSigners = max(givenToSigners, taken)
                if givenToSigners < queue.count {
                    defer { givenToSigners += 1 }
                    busySigners += 1
                    return queue[givenToSigners]
                }
                openIfSigned()
                if isComplete { return nil }
                pthread_cond_wait(room, mutex)
            }
        }
    }

    private func openIfSigned() {
        guard opened == nil, busySigners == 0, givenToSigners == queue.count,
            isComplete || queue.count - taken >= ahead
        else { return }
        opened = .now
        pthread_cond_broadcast(ready)
    }

    // MARK: - Sending

    /// What is due next, waiting for it; nil when everything was sent for good.
    func take() -> Delivery? {
        locked {
            while true {
                guard let opened else {
                    pthread_cond_wait(ready, mutex)
                    continue
                }
                let now = ContinuousClock.now
                let regular = taken < queue.count ? due(taken, from: opened) : nil
                if let retry = retries.first, retry.due <= now {
                    retries.removeFirst()
                    return give(retry)
                }
                if let regular, regular <= now {
                    taken += 1
                    pthread_cond_broadcast(room)
                    return give(Delivery(letter: queue[taken - 1], attempt: 1, due: interval == nil ? now : regular))
                }
                if isComplete && regular == nil && retries.isEmpty && inFlight == 0 {
                    pthread_cond_broadcast(ready)
                    return nil
                }
                waitForDue([regular, retries.first?.due].compactMap(\.self).min())
            }
        }
    }

    private func due(_ index: Int, from opened: ContinuousClock.Instant) -> ContinuousClock.Instant {
        interval.map { opened + $0 * (sent + index) } ?? opened
    }

    private func give(_ delivery: Delivery) -> Delivery {
        inFlight += 1
        if taken < queue.count || !retries.isEmpty { pthread_cond_signal(ready) }
        return delivery
    }

    private func waitForDue(_ due: ContinuousClock.Instant?) {
        guard let due, !hasLeader else {
            pthread_cond_wait(ready, mutex)
            return
        }
        leader &+= 1
        let me = leader
        hasLeader = true
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let (seconds, attoseconds) = max(.zero, ContinuousClock.now.duration(to: due)).components
        let nanoseconds = deadline.tv_nsec + Int(attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_cond_timedwait(ready, mutex, &deadline)
        if leader == me { hasLeader = false }
    }

    /// A delivery has its answer; with `retryAfter` it comes again so much later.
    func done(_ delivery: Delivery, retryAfter: Duration? = nil) {
        locked {
            inFlight -= 1
            if let retryAfter {
                let again = Delivery(
                    letter: delivery.letter, attempt: delivery.attempt + 1, due: .now + retryAfter)
                retries.insert(again, at: retries.firstIndex { $0.due > again.due } ?? retries.count)
                // Whoever waits may wait for something later than this.
                hasLeader = false
                leader &+= 1
                pthread_cond_signal(ready)
            }
            if inFlight == 0 { pthread_cond_broadcast(ready) }
        }
    }

    // MARK: - Looking on

    /// How many were planned and taken so far, whether that is all, and whether sending has begun.
    var progress: (planned: Int, taken: Int, isComplete: Bool, isOpen: Bool) {
        locked { (sent + queue.count, sent + taken, isComplete, opened != nil) }
    }
}
