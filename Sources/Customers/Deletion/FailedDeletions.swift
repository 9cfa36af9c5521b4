import Synchronization

/// Deletions whose last step failed in this process, and when each is tried again.
final class FailedDeletions: Sendable {
    private struct Failure {
        var attempts = 0
        var next: ContinuousClock.Instant
    }

    /// Before the second attempt; doubled for each further one, up to `longestPause`.
    private static let pause = Duration.seconds(10)
    private static let longestPause = Duration.seconds(3600)

    private let failures = Mutex<[Int64: Failure]>([:])

    /// Those that are not to be tried yet.
    func waiting(at now: ContinuousClock.Instant) -> [Int64] {
        failures.withLock { $0.filter { $0.value.next > now }.keys.sorted() }
    }

    func add(_ deletion: Int64, at now: ContinuousClock.Instant) {
        failures.withLock { failures in
            let attempts = (failures[deletion]?.attempts ?? 0) + 1
            let pause = FailedDeletions.pause * (1 << min(attempts - 1, 9))
            failures[deletion] = Failure(attempts: attempts, next: now + min(pause, FailedDeletions.longestPause))
        }
    }

    func remove(_ deletion: Int64) {
        failures.withLock { $0[deletion] = nil }
    }
}
