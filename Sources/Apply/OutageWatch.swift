import Postgres
import Queue

/// Knows our outages of late, for judging what silence means.
struct OutageWatch {
    /// ms since 1970, the oldest first.
    private(set) var known: [Range<Int64>] = []
    private var nextLook = ContinuousClock.now
    private var nextCleaning = ContinuousClock.now + cleaningInterval

    /// Well below the shortest silence that counts as an outage.
    private static let lookInterval = Duration.seconds(30)
    private static let cleaningInterval = Duration.seconds(3600)

    /// - Parameter cleans: whether this worker drops what is too old; one of them does.
    mutating func look(now: Int64, cleans: Bool, on connection: PostgresConnection) throws {
        guard ContinuousClock.now >= nextLook else { return }
        known = try Listening.outages(now: now, on: connection)
        nextLook = ContinuousClock.now + OutageWatch.lookInterval
        guard cleans, ContinuousClock.now >= nextCleaning else { return }
        try Listening.forget(now: now, on: connection)
        nextCleaning = ContinuousClock.now + OutageWatch.cleaningInterval
    }
}
