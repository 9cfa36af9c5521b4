import Base
import Synchronization

/// A clock that a test sets.
package final class ManualClock: WallClock {
    private let value: Mutex<Int64>

    package init(_ milliseconds: Int64) {
        value = Mutex(milliseconds)
    }

    package func now() -> Int64 {
        value.withLock { $0 }
    }

    package func advance(by duration: Duration) {
        value.withLock { $0 += duration.milliseconds }
    }
}
