import Glibc
import Synchronization

/// A number that threads add to.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}

/// Sleeps.
func pause(until moment: ContinuousClock.Instant) {
    let left = moment - .now
    if left > .zero {
        usleep(UInt32(clamping: left.components.seconds * 1_000_000 + left.components.attoseconds / 1_000_000_000_000))
    }
}
