import Base
import Glibc
import Synchronization

/// Keeps requests of several threads at a rate.
package final class ImportPace: Sendable {
    private let interval: Duration?
    private let next = Mutex(ContinuousClock.now)

    /// - Parameter rate: requests each second, of all kinds together; nil: any number. Whatever it says, the client keeps the
    ///   imports' share of Apple's limits.
    package init(rate: Int?) {
        interval = rate.map { .seconds(1) / max(1, $0) }
    }

    /// Waits until one more request may be sent.
    func pass() {
        guard let interval else { return }
        let turn = next.withLock { next in
            let turn = max(next, .now)
            next = turn + interval
            return turn
        }
        let wait = turn - .now
        if wait > .zero { usleep(UInt32(clamping: wait.milliseconds * 1000)) }
    }
}
