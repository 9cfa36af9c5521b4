import Base
import Postgres

/// The lanes that one worker owns, each with the epoch of its ownership.
///
/// A lease is a row with an owner and an end by the server's clock. Losing one costs nothing but work: a worker
/// shows its epoch before it writes (see `Fence`), so that a worker that comes back late cannot write.
package struct LaneLeases: Sendable {
    package let worker: [UInt8]
    package let host: String
    package let duration: Duration
    /// Fingerprints of the keys with which this worker opens secrets.
    package var sealingKeys: [String]
    package private(set) var epochs: [Lane: Int64] = [:]
    /// How many workers shared the lanes at the last `maintain`, this one included.
    package private(set) var workers = 1
    /// Which lanes lie together: leases of different groups are changed by statements of their own.
    package var groups = LaneGroups.one
    private var rests = GroupRests(asksLittle: true)

    package init(worker: [UInt8], host: String, duration: Duration, sealingKeys: [String] = []) {
        self.worker = worker
        self.host = host
        self.duration = duration
        self.sealingKeys = sealingKeys
    }

    package var owned: [Lane] { epochs.keys.sorted() }

    /// Whether leases of this group could not be had when they were tried last. Then nothing else of the group is worth trying, which
    /// would take longer.
    package func areFailing(_ group: Int) -> Bool { rests.isFailing(group) }

    package var isAnyFailing: Bool { rests.isAny }

    /// How often leases are renewed: three times before they end.
    package var interval: Duration { duration * 0.3 }

    private static let heartbeat = """
        INSERT INTO entitled.worker (id, host, seen_at, sealing_keys) VALUES ($1, $2, clock_timestamp(), $3)
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), sealing_keys = excluded.sealing_keys
        """

    private static let liveWorkers = """
        WITH used AS (
            SELECT fingerprint FROM entitled.sealing_key ORDER BY created_ms DESC, fingerprint LIMIT 1
        ),
        alive AS (
            SELECT id, sealing_keys @> ARRAY[(SELECT fingerprint FROM used)] AS is_able FROM entitled.worker
            WHERE seen_at > clock_timestamp() - $1 * interval '1 millisecond'
        )
        SELECT count(*)::int8 AS living, count(*) FILTER (WHERE is_able)::int8 AS able,
            coalesce(bool_or(is_able) FILTER (WHERE id = $2), false) AS is_able
        FROM alive
        """

    /// Sets `workers`, and answers with the number of lanes that this worker should own. While workers live that have
    /// the sealing key in use, they share all lanes, so that webhooks go out: a worker without it cannot sign them.
    /// Where none has it, all workers share them: everything is applied.
    private mutating func fairShare(on connection: PostgresConnection) throws -> Int {
        let row = try connection.query(
            LaneLeases.liveWorkers, [.int8(duration.milliseconds), .uuid(worker)]
        ).one()
        let able = try row.int("able")
        let sharing = max(1, able > 0 ? able : try row.int("living"))
        workers = Int(clamping: sharing)
        if able > 0, try !row.bool("is_able") { return 0 }
        return Int((Int64(Lane.count) + sharing - 1) / sharing)
    }

    private static let forgetWorkers = """
        DELETE FROM entitled.worker WHERE seen_at < clock_timestamp() - interval '1 hour'
        """

    private static let renew = """
        UPDATE entitled.lane l SET lease_until = \(ServerTime.instant) + $4 * interval '1 millisecond'
        FROM unnest($1::int2[], $2::int8[]) AS t(lane, epoch)
        WHERE l.lane = t.lane AND l.lane = ANY($1::int2[]) AND l.epoch = t.epoch AND l.owner = $3 RETURNING l.lane
        """

    private static let acquire = """
        WITH free AS MATERIALIZED (
            SELECT lane, owner FROM entitled.lane WHERE lane = ANY($4::int2[]) AND lease_until < \(ServerTime.instant)
            ORDER BY lane LIMIT $1 FOR UPDATE SKIP LOCKED
        )
        UPDATE entitled.lane l
        SET owner = $2, epoch = l.epoch + 1, lease_until = \(ServerTime.instant) + $3 * interval '1 millisecond'
        FROM free WHERE l.lane = free.lane AND l.lane = ANY($4::int2[])
        RETURNING l.lane, l.epoch, free.owner IS NOT NULL AS is_taken_over
        """

    private static let anyFree = """
        SELECT EXISTS (SELECT 1 FROM entitled.lane WHERE lane = ANY($1::int2[]) AND lease_until < clock_timestamp())
        """

    private static let release = """
        UPDATE entitled.lane l SET owner = NULL, lease_until = '-infinity'
        FROM unnest($1::int2[], $2::int8[]) AS t(lane, epoch)
        WHERE l.lane = t.lane AND l.lane = ANY($1::int2[]) AND l.epoch = t.epoch AND l.owner = $3
        """

    package struct Change: Sendable {
        package var gained: [Lane] = []
        /// Those of them that their former owner did not give back.
        package var takenOver: [Lane] = []
        package var lost: [Lane] = []
        /// What failed of groups of lanes while others went on: their leases are as they were, and end by themselves.
        package var failures: [any Error] = []
    }

    /// What is done for each group that some of these lanes are of.
    ///
    /// - Parameter body: says whether it asked anything.
    private mutating func forEachGroup(
        of lanes: [Lane], _ change: inout Change, on connection: PostgresConnection,
        _ body: (inout LaneLeases, [Lane], inout Change) throws -> Bool
    ) throws {
        var rests = rests
        defer { self.rests = rests }
        change.failures += try rests.run(groups.split(lanes), of: groups) { part in
            do {
                return try body(&self, part.elements, &change)
            } catch let error as PostgresError where error.isTimeout && !error.isConnectionLost && !groups.isOne {
                throw LaneLeases.answers(part.elements, on: connection) ? LaneLeases.locked : error
            }
        }
    }

    /// A server that answers has a lock that was waited for in vain: its other groups are as well as before.
    private static let locked = PostgresError(
        .query, "a lock on the leases of a group of lanes was not to be had in time", sqlstate: "55P03")

    /// Any failure is a no: the error that is told is the first one, and a connection that was lost fails with the next statement.
    private static func answers(_ lanes: [Lane], on connection: PostgresConnection) -> Bool {
        (try? Fence.look(at: Array(lanes.prefix(1)), on: connection)) != nil
    }

    /// Renews what is owned, gives back what is more than a fair share, and takes what is free up to it.
    package mutating func maintain(on connection: PostgresConnection) throws -> Change {
        var change = Change()
        try renewOwned(on: connection, &change)
        _ = try connection.query(LaneLeases.heartbeat, [.uuid(worker), .text(host), .texts(sealingKeys)])
        let share = try fairShare(on: connection)
        if epochs.count > share {
            // Of as few groups as possible: fewer transactions at each cycle. The leader goes on leading while it has a share.
            let others = share == 0 ? owned : owned.filter { $0 != .first }
            let surplus = Array(groups.together(others).suffix(epochs.count - share))
            let given = try release(surplus, on: connection)
            change.lost += given.lost
            change.failures += given.failures
        } else if epochs.count < share {
            try forEachGroup(of: Lane.all, &change, on: connection) { leases, lanes, change in
                try leases.acquire(from: lanes, atMost: share - leases.epochs.count, on: connection, &change)
            }
        }
        if !change.gained.isEmpty {
            _ = try connection.query(LaneLeases.forgetWorkers)
        }
        return change
    }

    private mutating func acquire(
        from lanes: [Lane], atMost limit: Int, on connection: PostgresConnection, _ change: inout Change
    ) throws -> Bool {
        guard limit > 0 else { return false }
        let rows = try connection.query(
            LaneLeases.acquire,
            [.int8(Int64(limit)), .uuid(worker), .int8(duration.milliseconds), .int2s(lanes.map(\.number))])
        for row in rows {
            let lane: Lane = try row.value("lane")
            epochs[lane] = try row.int("epoch")
            change.gained.append(lane)
            if try row.bool("is_taken_over") { change.takenOver.append(lane) }
        }
        return true
    }

    /// Whether a lane has no holder; much cheaper than `maintain`, so that it can be asked more often. Of a group that failed that is
    /// found out by `maintain`.
    package mutating func areAnyFree(on connection: PostgresConnection) throws -> Bool {
        var (change, areAnyFree) = (Change(), false)
        try forEachGroup(of: Lane.all, &change, on: connection) { _, lanes, _ in
            guard !areAnyFree else { return false }
            areAnyFree = try connection.query(LaneLeases.anyFree, [.int2s(lanes.map(\.number))]).one().bool("exists")
            return true
        }
        return areAnyFree
    }

    /// Renews what is owned and takes nothing more.
    package mutating func renew(on connection: PostgresConnection) throws -> Change {
        var change = Change()
        try renewOwned(on: connection, &change)
        return change
    }

    private mutating func renewOwned(on connection: PostgresConnection, _ change: inout Change) throws {
        try forEachGroup(of: owned, &change, on: connection) { leases, lanes, change in
            try leases.renew(lanes, on: connection, &change)
            return true
        }
    }

    private mutating func renew(_ lanes: [Lane], on connection: PostgresConnection, _ change: inout Change) throws {
        let rows = try connection.query(
            LaneLeases.renew,
            [
                .int2s(lanes.map(\.number)), .int8s(lanes.map { epochs[$0] ?? 0 }), .uuid(worker),
                .int8(duration.milliseconds),
            ])
        var kept: Set<Lane> = []
        for row in rows {
            kept.insert(try row.value("lane"))
        }
        for lane in lanes where !kept.contains(lane) {
            epochs[lane] = nil
            change.lost.append(lane)
        }
    }

    /// Gives these lanes back at once, for the next worker.
    ///
    /// - Returns: what failed of groups of lanes while others were given back: their leases end by themselves.
    @discardableResult
    package mutating func release(_ lanes: [Lane], on connection: PostgresConnection) throws -> Change {
        var change = Change()
        try forEachGroup(of: lanes, &change, on: connection) { leases, lanes, change in
            try leases.giveBack(lanes, on: connection)
            change.lost += lanes
            return true
        }
        return change
    }

    /// - Parameter lanes: of one group.
    private mutating func giveBack(_ lanes: [Lane], on connection: PostgresConnection) throws {
        _ = try connection.query(
            LaneLeases.release,
            [.int2s(lanes.map(\.number)), .int8s(lanes.map { epochs[$0] ?? 0 }), .uuid(worker)])
        forget(lanes)
    }

    /// No longer counts for the others' share; what is owned stays owned.
    package func leave(on connection: PostgresConnection) throws {
        _ = try connection.query("DELETE FROM entitled.worker WHERE id = $1", [.uuid(worker)])
    }

    /// The end of this worker: everything is given back, and it no longer counts for the others' share.
    @discardableResult
    package mutating func releaseAll(on connection: PostgresConnection) throws -> Change {
        try leave(on: connection)
        return try release(owned, on: connection)
    }

    /// Forgets lanes that turned out to be held by another worker.
    package mutating func forget(_ lanes: some Sequence<Lane>) {
        for lane in lanes {
            epochs[lane] = nil
        }
    }
}
