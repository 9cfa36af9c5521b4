import Base
import Postgres
import Queue

/// Knows our outages of late, for judging what silence means.
struct OutageWatch {
    /// ms since 1970, the oldest first.
    private(set) var known: [Range<Int64>] = []
    /// Whether it was ever read. Without that no end may be told; what was read once is good for a while.
    private(set) var isKnown = false
    private var nextLook = ContinuousClock.now
    private let timeout: String
    private var nextCleaning = ContinuousClock.now + cleaningInterval

    /// Well below the shortest silence that counts as an outage.
    private static let lookInterval = Duration.seconds(30)
    private static let cleaningInterval = Duration.seconds(3600)

    init(lease: Duration) {
        timeout = "\(max(250, lease.milliseconds / 10))ms"
    }

    /// - Parameter cleans: whether this worker drops what is too old; one of them does.
    mutating func look(now: Int64, cleans: Bool, on connection: PostgresConnection) throws {
        guard ContinuousClock.now >= nextLook else { return }
        // However it ends: a turn that fails here must not fail here each time.
        defer { if isKnown { nextLook = ContinuousClock.now + OutageWatch.lookInterval } }
        // Somebody's lock on the table must not cost the lanes.
        let limits = PostgresStatement("SELECT set_config('statement_timeout', $1, true)", [.text(timeout)])
        known = try connection.transaction(opening: [limits]) { _ in
            try Listening.outages(now: now, on: connection)
        }
        isKnown = true
        guard cleans, ContinuousClock.now >= nextCleaning else { return }
        try Listening.forget(now: now, on: connection)
        nextCleaning = ContinuousClock.now + OutageWatch.cleaningInterval
    }
}
