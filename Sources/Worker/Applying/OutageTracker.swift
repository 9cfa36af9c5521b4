import Base
import Database
import Postgres

/// Knows recent outages of ingest and how far Apple's history is scanned, for judging what silence means.
struct OutageTracker {
    /// ms since 1970, the oldest first.
    private(set) var known: [Range<Int64>] = []
    private var coverage: [AppScope: HistoryCoverage] = [:]
    private var unheard: [AppScope: Range<Int64>] = [:]
    /// Whether it was ever read. Without that no end may be told; what was read once is good for a while.
    private(set) var isKnown = false
    private let timeout: String
    private let patience: Int64
    private let reconciliation: LaneWorkerConfiguration.Reconciliation?
    private let begun = ContinuousClock.now
    private var cleaning = Pace(every: cleaningInterval, firstAfter: cleaningInterval)

    private static let cleaningInterval = Duration.seconds(3600)
    /// How long after the start the first look into Apple's history is waited for.
    private static let historyPatience = Duration.seconds(3600)

    init(_ configuration: LaneWorkerConfiguration) {
        timeout = "\(max(250, configuration.lease.milliseconds / 10))ms"
        patience = configuration.expiryPatience.milliseconds
        reconciliation = configuration.reconciliation
    }

    var confirmationRule: ExpiryConfirmationRule {
        ExpiryConfirmationRule(patience: patience, outages: known, coverage: coverage, unheard: unheard)
    }

    /// - Parameter cleans: whether this worker drops what is too old; one of them does.
    mutating func look(now: Int64, cleans: Bool, on connection: PostgresConnection) throws {
        // A lock on the table must not hold up the lanes.
        let limits = PostgresStatement("SELECT set_config('statement_timeout', $1, true)", [.text(timeout)])
        (known, coverage) = try connection.transaction(opening: [limits]) { _ in
            (try IngestUptime.outages(now: now, on: connection), try HistoryCoverage.read(on: connection))
        }
        unheard = unheard(now)
        isKnown = true
        guard cleans, cleaning.isDue() else { return }
        try IngestUptime.forget(now: now, on: connection)
        cleaning.ran(since: .now)
    }

    /// A worker that starts after a long time scans Apple's history before it takes silence for an end; with a limit,
    /// because no worker may have a key.
    private func unheard(_ now: Int64) -> [AppScope: Range<Int64>] {
        guard let reconciliation, ContinuousClock.now - begun < OutageTracker.historyPatience else { return [:] }
        let oldest = now - 3 * reconciliation.interval.milliseconds
        return reconciliation.places.reduce(into: [:]) { unheard, place in
            let tried = coverage[place]?.tried ?? 0
            if tried < oldest { unheard[place] = tried..<now }
        }
    }
}
