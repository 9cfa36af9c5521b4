import Base

/// A clock that stands still.
package struct FixedClock: WallClock {
    private let milliseconds: Int64

    package init(_ milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package func now() -> Int64 { milliseconds }
}
