import Base
import Database
import Postgres

/// Something that a worker repeats for its lanes, beside what waits in them.
struct LaneTask: Sendable {
    let pace: any WritableKeyPath<LaneCycle, Pace> & Sendable
    /// Whether there is anything to do at all; asked at each cycle.
    var isWanted: @Sendable (LaneCycle) -> Bool = { _ in true }
    let run: @Sendable (inout LaneCycle, PostgresConnection) throws -> Void
    /// Whether nothing may be applied before it succeeded.
    var isVital: @Sendable (LaneCycle) -> Bool = { _ in false }

    /// In this order.
    static let beforeWork = [outages, gauges, operations, deliveries, endpoints]
    static let afterWork = [accounts]

    /// The keys of this host, with or without lanes. A worker that has another key than before says so at once: lanes
    /// follow it.
    static let keys = LaneTask(pace: \.paces.keys) { cycle, connection in
        guard try cycle.sealing.look(now: cycle.now, on: connection) else { return }
        cycle.fetcher.sealer = cycle.sealing.sealer
        cycle.operations.sealer = cycle.sealing.sealer
        cycle.leases.sealingKeys = cycle.sealing.sealer.fingerprints
        cycle.fetcher.hurry()
        cycle.paces.renewal.hurry()
    }

    /// Outages of ingest. Once they are known, not learning more must not stop notifications from being applied.
    private static let outages = LaneTask(
        pace: \.paces.outages,
        run: { cycle, connection in
            try cycle.outages.look(now: cycle.now, cleans: cycle.isLeader, on: connection)
        },
        isVital: { !$0.outages.isKnown })

    private static let gauges = LaneTask(pace: \.paces.gauges) { cycle, connection in
        let resting = Set((0..<cycle.groups.count).filter { cycle.isResting($0) })
        try cycle.gauges.measure(
            cycle.groups.split(cycle.leases.owned), of: cycle.groups, isResting: resting.contains,
            outages: cycle.outages.known.count, now: cycle.now, on: connection)
    }

    private static let operations = LaneTask(pace: \.paces.operations, isWanted: { !$0.operations.isDone }) {
        cycle, connection in
        try cycle.operations.keep(now: cycle.now, on: connection)
    }

    /// What may be sent. Its paces are its own: it looks, or only refills queues that run low.
    private static let deliveries = LaneTask(pace: \.paces.deliveries) { cycle, connection in
        try cycle.fetcher.take(cycle.leases, now: cycle.now, on: connection)
    }

    /// A notice that is made before its endpoint exists would have no delivery, and count as sent.
    private static let endpoints = LaneTask(pace: \.paces.endpoints, isWanted: \.operations.isDone) {
        cycle, connection in
        try cycle.watch.take(cycle.leases, now: cycle.now, on: connection)
    }

    private static let accounts = LaneTask(pace: \.paces.accounts, isWanted: \.isLeader) { cycle, connection in
        if try cycle.accounts.keep(on: connection) { cycle.fetcher.hurry() }
    }

    /// When each is due again; with the shares of the time that they may take, however much there is.
    struct Paces {
        var renewal: Pace
        var freeLanes = Pace(every: .milliseconds(500))
        var keys = Pace(every: .seconds(1), share: 1 / 20)
        /// Well below the shortest silence that counts as an outage.
        var outages = Pace(every: .seconds(30))
        var gauges = Pace(every: .seconds(5), share: 1 / 50)
        /// A lock on the endpoint must not cost each cycle the time of waiting for it.
        var operations = Pace(every: .seconds(1), share: 1 / 10)
        var deliveries = Pace(every: .zero)
        var endpoints = Pace(every: .seconds(1), share: 1 / 20)
        /// Most of the time is for what comes in.
        var accounts = Pace(every: .milliseconds(500), share: 1 / 3)
        var timers = Pace(every: .milliseconds(500))
        var held = Pace(every: .seconds(1), share: 1 / 10)

        init(lease interval: Duration) {
            renewal = Pace(every: interval)
        }
    }
}
