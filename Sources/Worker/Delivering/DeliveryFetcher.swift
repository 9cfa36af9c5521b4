import Base
import Daemon
import Database
import Postgres

/// Keeps the sender supplied: tells it how the endpoints are now, and what is due for them.
///
/// Trouble here must not stop notifications from being applied, so every statement is bounded well below the lease, and
/// its caller goes on after an error.
struct DeliveryFetcher {
    private let engine: DeliveryEngine
    var sealer: SecretSealer
    private let customers: CustomerLookup
    private let logger: Logger
    /// What endpoints get of customers, by endpoint, as of the last look.
    private var contents: [String: CustomerLookup.Content] = [:]
    /// Of each statement.
    private let timeout: String

    /// Of the time, whatever number of endpoints there is.
    private var looking = Pace(every: .milliseconds(200), share: 1 / 10)
    private var filling = Pace(every: .zero, share: 1 / 2)
    private var sweeping = Pace(every: .seconds(1), share: 1 / 20)
    private var health = Pace(every: .seconds(1))
    /// Of the log line about pauses.
    private var telling = Pace(every: .seconds(30))
    /// Of the secrets that the sender has: `EndpointSecrets.version`, and when they were read or found unchanged.
    private var secrets: (version: Int64, at: ContinuousClock.Instant)?
    /// The groups of lanes in which endpoints that were removed long ago are looked at too; nil: all.
    private var unswept: Set<Int>?
    /// What consumers asked for with their answers, and is not done yet.
    private var owed = ConsumerDirectives()
    /// What was seen of endpoints, and is not written down yet.
    private var tally = HealthSamples()
    /// Failures in a row, as all workers together saw them.
    private var failures: [String: Int] = [:]
    private var rests = GroupRests()
    /// The group of lanes that is asked first.
    private var nextGroup = 0

    /// Looks may be rare, where there are many endpoints; whether there are other secrets is cheap to see. Well below
    /// `EndpointSecrets.trust`.
    private static let secretsInterval = Duration.milliseconds(500)
    /// For an endpoint's row.
    private static let lockPatience = "100ms"

    init(
        engine: DeliveryEngine, sealer: SecretSealer, customers: CustomerLookup, lease: Duration, logger: Logger
    ) {
        self.engine = engine
        self.customers = customers
        self.sealer = sealer
        self.logger = logger
        timeout = "\(max(500, lease.milliseconds / 4))ms"
    }

    /// Looks at the next opportunity.
    mutating func hurry() {
        looking.hurry()
    }

    /// Lanes were gained that no worker may have held for long.
    mutating func gainedLanes() {
        unswept = nil
        // Without lanes nothing was to be sent, and secrets were not looked for.
        secrets = nil
        hurry()
    }

    /// Results that are committed; the next look does what they ask of their endpoints.
    mutating func note(_ decided: [AttemptRecorder.Decided], now: Int64) {
        for item in decided {
            if let sight = item.sight {
                tally.note(item.endpoint, sight, dead: item.dead, at: now)
            }
            owed.note(item.changes, of: item.endpoint, now: now)
        }
        if owed.isUrgent { hurry() }
    }

    /// A look if its time has come, else only what is due for lines that run low.
    ///
    /// - Parameters:
    ///   - leases: of the lanes whose deliveries are sent.
    ///   - now: ms since 1970.
    mutating func take(_ leases: LaneLeases, now: Int64, on connection: PostgresConnection) throws {
        let begun = ContinuousClock.now
        tellPause(begun)
        if try haveOtherSecrets(begun, on: connection) || looking.isDue(at: begun) {
            defer { looking.ran(since: begun) }
            try look(leases, now, begun, on: connection)
            return
        }
        engine.resume()
        if filling.isDue(at: begun), engine.wantsMore {
            defer { filling.ran(since: begun) }
            if let failure = try fill(engine.room(onlyLow: true), leases, now, on: connection).first { throw failure }
        }
    }

    /// The end: writes down all that was seen.
    mutating func finish(on connection: PostgresConnection) throws {
        try record(tally.due(now: .now, all: true), on: connection)
    }

    /// Tells that the sender has begun nothing for a while, since it was not known whether there are other secrets.
    private mutating func tellPause(_ begun: ContinuousClock.Instant) {
        guard let secrets, begun - secrets.at >= EndpointSecrets.trust, telling.isDue(at: begun) else { return }
        telling.ran(since: begun)
        logger.warning("webhook sending paused", ["since_ms": .int((begun - secrets.at).milliseconds)])
    }

    /// Whether the sender needs others; tells it if not.
    private mutating func haveOtherSecrets(
        _ begun: ContinuousClock.Instant, on connection: PostgresConnection
    ) throws -> Bool {
        guard let secrets, begun - secrets.at >= DeliveryFetcher.secretsInterval else { return false }
        guard try EndpointSecrets.version(on: connection) == secrets.version else { return true }
        self.secrets?.at = begun
        engine.confirmSecrets(at: begun)
        return false
    }

    private mutating func look(
        _ leases: LaneLeases, _ now: Int64, _ begun: ContinuousClock.Instant, on connection: PostgresConnection
    ) throws {
        try makeChanges(on: connection)
        // Before the secrets: what is made between the two is seen the next time.
        let read = ContinuousClock.now
        let version = try EndpointSecrets.version(on: connection)
        let endpoints = try EndpointTable.load(sealer: sealer, now: now, on: connection)
        contents = endpoints.reduce(into: [:]) { $0[$1.id] = $1.customerContent }
        // Who asked for no more, or for a pause, gets nothing while that is not written down yet.
        let owing = owed.endpoints
        engine.update(
            endpoints.filter { !owing.contains($0.id) }, failures: failures, workers: leases.workers, now: now,
            readAt: read)
        secrets = (version, read)
        var unfetched: [any Error] = []
        if sweeping.isDue(at: begun) {
            defer { sweeping.ran(since: begun) }
            unfetched = try sweep(leases, now, on: connection)
        }
        unfetched += try fill(engine.room(), leases, now, on: connection)
        tally.keep(Set(endpoints.map(\.id)))
        try keepHealth(begun, on: connection)
        if let failure = unfetched.first { throw failure }
    }

    /// Ends what waits for endpoints that take nothing any more.
    ///
    /// - Returns: what failed of groups of lanes while others went on.
    private mutating func sweep(
        _ leases: LaneLeases, _ now: Int64, on connection: PostgresConnection
    ) throws -> [any Error] {
        let whole = unswept ?? Set(0..<leases.groups.count)
        // Once, should it take too long: it must not keep what is due waiting without limit.
        unswept = []
        var left = leases.groups.isOne ? [] : whole
        let failures = try forEachGroup(of: leases) { fetcher, part in
            let isWhole = whole.contains(part.group)
            let changed = try fetcher.bounded(connection) {
                try DeliveryTable.followEndpoints(
                    in: part.elements, removedSince: isWhole ? Int64.min : nil, now: now, on: connection)
            }
            if isWhole, changed > 0 { left.insert(part.group) } else { left.remove(part.group) }
        }
        unswept = left
        return failures
    }

    /// Each alone, and without waiting for long: makers of events share these rows, so that many of them may keep one
    /// locked for seconds, one after the other. Then it is tried again at the next look; nothing else waits for it.
    private mutating func makeChanges(on connection: PostgresConnection) throws {
        for endpoint in owed.endpoints.shuffled() {
            let changes = owed.of(endpoint)
            do {
                let disabled = try bounded(connection, lock: DeliveryFetcher.lockPatience) {
                    try changes.make(on: connection)
                }
                owed.remove(endpoint)
                for (endpoint, cause) in disabled {
                    logger.info(
                        "endpoint disabled by response",
                        ["endpoint": .string(endpoint), "reason": .string(cause.rawValue)])
                }
            } catch let error as PostgresError where error.isContention {
                return
            }
        }
    }

    /// Writes down what was seen, and reads what others saw.
    private mutating func keepHealth(_ begun: ContinuousClock.Instant, on connection: PostgresConnection) throws {
        try record(tally.due(now: begun), on: connection)
        guard health.isDue(at: begun) else { return }
        defer { health.ran(since: begun) }
        failures = try EndpointHealthTable.failures(on: connection)
        tally.learn(failing: failures.filter { $0.value > 0 }.keys)
    }

    private mutating func record(
        _ seen: [EndpointHealth.Observation], on connection: PostgresConnection
    ) throws {
        guard !seen.isEmpty else { return }
        try bounded(connection) { try EndpointHealthTable.record(seen, on: connection) }
        tally.written(seen, now: .now)
    }

    /// What is due, for the lines of the sender that have room. What does not fit any more is fetched later.
    ///
    /// - Returns: what failed of groups of lanes while others went on.
    private mutating func fill(
        _ room: [String: Int], _ leases: LaneLeases, _ now: Int64, on connection: PostgresConnection
    ) throws -> [any Error] {
        guard !room.isEmpty else { return [] }
        var hasMore: Set<String> = []
        // Each group has its share of the room, and what those before it left.
        var (left, groups) = (room, leases.groups.split(leases.owned).count)
        let failures = try forEachGroup(of: leases) { fetcher, part in
            defer { groups -= 1 }
            let share = left.compactMapValues { $0 > 0 ? ($0 + groups - 1) / max(groups, 1) : nil }
            let due = try fetcher.bounded(connection) {
                try DeliveryTable.due(room: share, lanes: part.elements, now: now, on: connection)
            }
            for delivery in due.deliveries { left[delivery.endpoint, default: 0] -= 1 }
            let deliveries = try fetcher.customers.add(
                to: due.deliveries, fetcher.contents, now: now, on: connection
            ) { read in
                try fetcher.bounded(connection) { try read() }
            }
            fetcher.engine.add(deliveries)
            hasMore.formUnion(due.hasMore)
            hasMore.formUnion(room.keys.filter { share[$0] == nil })
        }
        // The last one has more of the room than the first one.
        nextGroup = leases.groups.isOne ? 0 : (nextGroup + 1) % leases.groups.count
        engine.note(hasMore: hasMore, of: room.keys)
        return failures
    }

    /// Each group of lanes for itself: a part of the database that is away stops its own deliveries only.
    ///
    /// - Returns: what failed.
    private mutating func forEachGroup(
        of leases: LaneLeases, _ body: (DeliveryFetcher, LaneGroups.Part<Lane>) throws -> Void
    ) throws -> [any Error] {
        let fetcher = self
        let parts = leases.groups.split(leases.owned).filter { !leases.areFailing($0.group) }
        let turns = parts.filter { $0.group >= nextGroup } + parts.filter { $0.group < nextGroup }
        return try rests.run(turns, of: leases.groups) {
            try body(fetcher, $0)
            return true
        }
    }

    /// A lock on an endpoint or a delivery must not hold up the lanes.
    private func bounded<Result>(
        _ connection: PostgresConnection, lock patience: String? = nil, _ body: () throws -> Result
    ) throws -> Result {
        let limits = PostgresStatement(
            """
            SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
                \(Durability.setting)
            """, [.text(timeout), .text(patience ?? timeout)])
        return try connection.transaction(opening: [limits]) { _ in try body() }
    }
}
