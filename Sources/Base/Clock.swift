import FoundationEssentials
import Synchronization

/// The wall clock, as a seam: what decides by the time of day takes one of these, never the system's directly.
package protocol WallClock: Sendable {
    /// Milliseconds since 1970-01-01 UTC.
    func now() -> Int64
}

package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Int64 {
        Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
    }
}

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
