import Base
import Postgres

/// A notification that waits to be applied, as it was stored.
package struct PendingNotification: Sendable {
    package let lane: Lane
    package let seq: Int64
    package let identity: NotificationIdentity
    /// Apple's `notificationType`.
    package let type: String
    package let source: NotificationSource
    /// When Apple signed it, in ms.
    package let signed: Int64?
    package let header: [UInt8]
    package let stored: StoredJWS

    /// What the database lacks of it, after a restore for example; then the rest is empty.
    package let gap: String?
    /// Whether some endpoint gets notifications as they came. An endpoint that was there before the notification is seen
    /// here, because a reader of the notification in its line sees what was committed before it.
    package let isForwarded: Bool
    /// Of one that is in no line, because it was set aside before.
    package internal(set) var held: HeldState?

    /// `LATERAL` makes one short index scan of each lane, so that a lane's backlog does not hide another's. Each scan
    /// begins where the caller says, so that it need not pass what is dead (see `PendingLowWaterMarks`). The lanes take turns in the order in
    /// which they are given, the first eight of each, then the second eight: none waits for the backlogs of others, and what arrived
    /// together of one purchase is mostly applied together.
    private static let take = """
        SELECT p.lane, p.seq FROM unnest($1::int2[], $5::int8[]) WITH ORDINALITY AS owned(lane, start, place)
        CROSS JOIN LATERAL (
            SELECT lane, seq, row_number() OVER (ORDER BY seq) AS turn FROM (
                SELECT lane, seq FROM entitled.pending
                WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
                    AND seq >= owned.start AND seq <> ALL ($4::int8[]) ORDER BY seq LIMIT $2
            ) first
        ) p
        ORDER BY (p.turn - 1) / 8, owned.place, p.seq LIMIT $3
        """

    private static let forwarding = "SELECT 1 FROM entitled.endpoint WHERE format = 1 AND removed_ms IS NULL"

    /// One day at a time, with its bounds: planning for all days that are kept would take longer than reading.
    private static let select = """
        SELECT p.lane, p.seq, n.app, n.environment, n.uuid, n.header, n.payload, n.signature, n.type, n.source,
            /* cluster: false for: */EXISTS (\(forwarding))/* end */ AS is_forwarded, n.signed_ms
        FROM unnest($1::int2[], $2::int8[]) AS p(lane, seq)
        LEFT JOIN LATERAL (
            SELECT * FROM entitled.notification n
            WHERE n.lane = p.lane /* cluster: AND n.lane = ANY($1::int2[]) */ AND n.seq = p.seq AND n.seq BETWEEN $3 AND $4 LIMIT 1
        ) n ON true
        ORDER BY p.seq
        """

    /// Reads what waits in these lanes, oldest first in each. Claims nothing: the lanes are the caller's.
    ///
    /// - Parameters:
    ///   - starts: the least number of interest in each lane; the whole lines if nil.
    ///   - passedOver: numbers to leave out.
    package static func read(
        from lanes: [Lane], starts: [Int64]? = nil, eachAtMost perLane: Int, atMost limit: Int,
        except passedOver: [Int64] = [], headers: JWSHeaderCache = JWSHeaderCache(), on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        var notifications: [PendingNotification] = []
        for part in connection.laneGroups.split(Array(lanes.indices), by: { lanes[$0] })
        where notifications.count < limit {
            let statement = taking(
                from: part.elements.map { lanes[$0] }, starts: starts.map { all in part.elements.map { all[$0] } },
                eachAtMost: perLane, atMost: limit - notifications.count, except: passedOver)
            notifications += try read(taken: statement, headers: headers, on: connection)
        }
        return notifications
    }

    /// What a statement finds, as far as their bytes go.
    private static func read(
        taken statement: PostgresStatement, headers: JWSHeaderCache, on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        let taken = try connection.query(statement.sql, statement.parameters).map {
            (lane: Int16(clamping: try $0.int("lane")), seq: try $0.int("seq"))
        }
        var notifications: [PendingNotification] = []
        var bytes = 0
        for start in stride(from: 0, to: taken.count, by: pageSize) where bytes < mostBytes {
            let page = try read(
                taken[start..<min(taken.count, start + pageSize)].sorted { $0.seq < $1.seq }, headers: headers,
                on: connection)
            notifications += page
            bytes += page.reduce(0) { $0 + $1.stored.payload.count }
        }
        return notifications
    }

    /// So many are read at once, until there are so many bytes of them, as they are stored: notifications may be large.
    private static let pageSize = 128
    private static let mostBytes = 8 << 20

    /// Those at these places, which are given, and come, in the order of their numbers.
    static func read(
        _ places: [(lane: Int16, seq: Int64)], headers: JWSHeaderCache = JWSHeaderCache(),
        on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        let parts = connection.laneGroups.split(places) { Lane(number: $0.lane) }
        guard parts.count > 1 else { return try read(together: places, headers: headers, on: connection) }
        return try parts.flatMap { try read(together: $0.elements, headers: headers, on: connection) }
            .sorted { $0.seq < $1.seq }
    }

    private static func read(
        together places: [(lane: Int16, seq: Int64)], headers: JWSHeaderCache, on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        var days: [(day: Day, lanes: [Int16], seqs: [Int64])] = []
        for (lane, seq) in places {
            let day = Day(of: SequenceGenerator.instant(of: seq))
            if days.last?.day != day { days.append((day, [], [])) }
            days[days.count - 1].lanes.append(lane)
            days[days.count - 1].seqs.append(seq)
        }
        var notifications: [PendingNotification] = []
        notifications.reserveCapacity(places.count)
        for day in days {
            let found = try read(day.lanes, day.seqs, headers, on: connection)
            // Who looks just when a day is made may see neither the old partition with it nor the new one.
            let isWhole = !found.contains { $0.gap != nil }
            notifications += isWhole ? found : try read(day.lanes, day.seqs, headers, on: connection)
        }
        return notifications
    }

    private static func read(
        _ lanes: [Int16], _ seqs: [Int64], _ cache: JWSHeaderCache, on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        let rows = try connection.query(select, [.int2s(lanes), .int8s(seqs), .int8(seqs.first), .int8(seqs.last)])
        let headers = try cache.headers(Set(rows.compactMap { try $0.optionalUUID("header") }), on: connection)
        // A server of a cluster does not know the endpoints, which are the coordinator's.
        let isForwarded = try connection.isCluster && !connection.query("\(forwarding) LIMIT 1").isEmpty
        return try rows.map { try notification($0, headers, isForwarded: isForwarded) }
    }

    /// The statement that finds what waits.
    package static func taking(
        from lanes: [Lane], starts: [Int64]?, eachAtMost perLane: Int, atMost limit: Int, except passedOver: [Int64]
    ) -> PostgresStatement {
        PostgresStatement(
            take,
            [
                .int2s(lanes.map(\.number)), .int8(Int64(perLane)), .int8(Int64(limit)), .int8s(passedOver),
                .int8s(starts ?? lanes.map { _ in 0 }),
            ])
    }

    /// - Parameter isForwarded: whether that is known already, whatever the row says.
    private static func notification(
        _ row: PostgresRow, _ headers: [[UInt8]: [UInt8]], isForwarded: Bool
    ) throws -> PendingNotification {
        let isForwarded = try isForwarded || row.bool("is_forwarded")
        let (lane, seq) = (try row.value("lane", as: Lane.self), try row.int("seq"))
        guard let app = try row.optionalText("app"), let uuid = try row.optionalText("uuid"),
            let environment = StoreEnvironment(code: Int16(clamping: try row.int("environment"))),
            let type = try row.optionalText("type")
        else { return PendingNotification(lane: lane, seq: seq, lacking: "the notification itself is missing") }
        let identity = NotificationIdentity(app: app, environment: environment, uuid: uuid)
        let headerID = try row.uuid("header")
        guard let header = headers[headerID] else {
            return PendingNotification(
                lane: lane, seq: seq, identity: identity, type: type, lacking: "its JWS header is missing",
                isForwarded: isForwarded)
        }
        return PendingNotification(
            lane: lane, seq: seq, identity: identity, type: type,
            source: NotificationSource(code: try row.int("source")),
            signed: try row.optionalInt("signed_ms"), header: header,
            stored: StoredJWS(
                headerID: headerID, payload: try row.bytes("payload"), signature: try row.bytes("signature")),
            gap: nil, isForwarded: isForwarded)
    }

    /// One short index scan of each lane. What is known cannot have gone, because its lane is ours.
    private static let others = """
        SELECT owned.lane FROM unnest($1::int2[], $2::int8[]) AS owned(lane, known)
        CROSS JOIN LATERAL (
            SELECT 1 FROM entitled.pending p WHERE p.lane = owned.lane /* cluster: AND p.lane = ANY($1::int2[]) */
                ORDER BY p.seq OFFSET owned.known LIMIT 1
        ) other
        """

    /// Those of these lanes in which something waits beside the given notifications; after the fence.
    package static func waiting(
        in lanes: [Lane], beside known: [PendingNotification], on connection: PostgresConnection
    ) throws -> Set<Lane> {
        guard !lanes.isEmpty else { return [] }
        let counts = Dictionary(known.map { ($0.lane, Int64(1)) }, uniquingKeysWith: +)
        return try connection.laneGroups.split(lanes).reduce(into: []) { waiting, part in
            let rows = try connection.query(
                others, [.int2s(part.elements.map(\.number)), .int8s(part.elements.map { counts[$0] ?? 0 })])
            for row in rows { waiting.insert(try row.value("lane")) }
        }
    }

    private static let first = """
        SELECT min(p.seq) FROM unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (SELECT seq FROM entitled.pending WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
            ORDER BY seq LIMIT 1) p
        """

    /// The number of the one that has waited longest in these lanes; nil where nothing waits.
    package static func oldest(in lanes: [Lane], on connection: PostgresConnection) throws -> Int64? {
        try connection.laneGroups.split(lanes).compactMap { part in
            try connection.query(first, [.int2s(part.elements.map(\.number))]).one().optionalInt("min")
        }.min()
    }

    /// What waits in one lane.
    package struct LaneBacklog: Sendable, Equatable {
        package let lane: Lane
        /// Counted up to the limit.
        package let count: Int64
        /// The number of the one that has waited longest.
        package let oldest: Int64
    }

    private static let counted = """
        SELECT l.lane, w.number, w.oldest
        FROM /* cluster: (SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[])) for: */unnest($1::int2[])/* end */
            AS l(lane) CROSS JOIN LATERAL (
            SELECT count(*) AS number, min(seq) AS oldest FROM (
                SELECT seq FROM entitled.pending WHERE lane = l.lane ORDER BY seq LIMIT $2
            ) first
        ) w
        WHERE w.number > 0 ORDER BY w.number DESC, w.oldest
        """

    /// What waits, by lane, the most first; lanes in which nothing waits are left out.
    ///
    /// - Parameter limit: so many are counted in each lane at most.
    package static func backlog(eachUpTo limit: Int64, on connection: PostgresConnection) throws -> [LaneBacklog] {
        try connection.query(counted, [.int2s(Lane.all.map(\.number)), .int8(limit)]).map { row in
            LaneBacklog(lane: try row.value("lane"), count: try row.int("number"), oldest: try row.int("oldest"))
        }
    }

    private static let remove = """
        DELETE FROM entitled.pending p USING unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        WHERE p.lane = t.lane AND p.seq = t.seq /* cluster: AND p.lane = ANY($1::int2[]) */
        """

    /// Takes these out of the line; in the transaction that applied them.
    package static func remove(
        _ notifications: [PendingNotification], on connection: PostgresConnection
    ) throws {
        guard !notifications.isEmpty else { return }
        _ = try connection.query(
            remove, [.int2s(notifications.map(\.lane.number)), .int8s(notifications.map(\.seq))])
    }
}

extension PendingNotification {
    /// One that cannot be read as a whole.
    private init(
        lane: Lane, seq: Int64,
        identity: NotificationIdentity = NotificationIdentity(app: "", environment: .production, uuid: ""),
        type: String = "", lacking gap: String, isForwarded: Bool = false
    ) {
        self.init(
            lane: lane, seq: seq, identity: identity, type: type, source: .store, signed: nil, header: [],
            stored: StoredJWS(headerID: [], payload: [], signature: []), gap: gap, isForwarded: isForwarded)
    }
}
