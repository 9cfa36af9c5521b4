import Glibc

/// Nanoseconds of the system's monotonic clock, to a few milliseconds: cheap enough for every phase of a request.
struct MonotonicTime: Comparable, Sendable {
    let nanoseconds: Int64

    static let never = MonotonicTime(nanoseconds: .max)

    static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    static func after(_ duration: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = duration.components
        let bounded = min(max(seconds, 0), 1_000_000_000)
        return MonotonicTime(
            nanoseconds: now().nanoseconds &+ bounded &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }

    static func - (a: MonotonicTime, b: MonotonicTime) -> Duration {
        .nanoseconds(a.nanoseconds.subtractingReportingOverflow(b.nanoseconds).partialValue)
    }

    static func < (a: MonotonicTime, b: MonotonicTime) -> Bool { a.nanoseconds < b.nanoseconds }
}
