import Base
import Postgres

/// Where a notification stands.
package enum NotificationState: String, Sendable, CaseIterable {
    /// Stored, not applied yet.
    case pending
    case applied
    /// Could not be applied; tried again on a schedule.
    case held
}

/// A stored notification as operators see it.
package struct NotificationSummary: Sendable {
    package let identity: NotificationIdentity
    /// Its position in the log.
    package let position: LogPosition
    package let type: String
    package let subtype: String?
    package let state: NotificationState
    package let originalTransactionID: String?
    package let signed: Int64?
    package let received: Int64
    package let hold: Hold?

    /// Why it is held, how often applying it failed, and when it is tried next: nil when only a person has it tried.
    package struct Hold: Sendable, Equatable {
        package let reason: String
        package let attempts: Int
        /// ms since 1970.
        package let nextAttempt: Int64?
    }
}

/// Reads stored notifications, for operators.
package enum NotificationQuery {
    private static let columns = """
        n.app, n.environment, n.uuid, n.type, n.subtype, n.original_transaction_id, n.signed_ms, n.received_ms,
        EXISTS (SELECT 1 FROM entitled.pending p WHERE p.lane = n.lane AND p.seq = n.seq) AS is_pending, h.reason,
        h.attempts, h.next_ms, n.lane, n.seq
        """
    private static let held = "LEFT JOIN entitled.held_notification h ON h.lane = n.lane AND h.seq = n.seq"

    /// Conditions that all must hold.
    package struct Filter: Sendable {
        package var state: NotificationState?
        package var type: String?
        package var subtype: String?
        package var sources: [NotificationSource]?
        package var app: String?
        package var environment: StoreEnvironment?
        package var originalTransactionID: String?
        /// The lanes that can have such a notification; nil for all.
        package var lanes: [Lane]?

        package init(state: NotificationState? = nil, app: String? = nil, environment: StoreEnvironment? = nil) {
            self.state = state
            self.app = app
            self.environment = environment
        }
    }

    /// Lists notifications, the newest first.
    ///
    /// Lanes are read one by one, each from its end, so that the whole history is not sorted; and a few days at a time, ever
    /// more of them, so that what is asked for often does not look into every day there is.
    package static func list(
        _ filter: Filter, _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<NotificationSummary> {
        let least = range.since.map(SequenceGenerator.least) ?? 0
        var end = range.until.map { SequenceGenerator.least(at: $0) - 1 } ?? .max
        if let after = range.after { end = min(end, after.order) }
        guard range.budget == nil else { return try scanned(filter, range, least, end, on: connection) }
        var found: [NotificationSummary] = []
        var days = Int64(2)
        var start = Day(of: min(SystemClock().now(), SequenceGenerator.instant(of: end))).adding(-1)
        while found.count <= range.limit, end >= least {
            let first = max(least, SequenceGenerator.least(at: start.start))
            found += try rows(filter, range, from: first, to: end, range.limit + 1 - found.count, on: connection)
            if first == least { break }
            (end, days) = (first - 1, days * 2)
            start = start.adding(-days)
        }
        return page(found, range, stop: nil)
    }

    /// The same within a budget, in parts that it allows.
    private static func scanned(
        _ filter: Filter, _ range: ListRange, _ least: Int64, _ end: Int64, on connection: PostgresConnection
    ) throws -> ListPage<NotificationSummary> {
        let last = end == .max ? Int64.max : SequenceGenerator.instant(of: end) + 1
        // What waits and what is held is found in lines of its own, and a lane has a small part of all.
        let isInLine = filter.state == .pending || filter.state == .held
        let first =
            filter.lanes != nil ? BackwardScan.longerFirstPart : isInLine ? BackwardScan.longFirstPart : nil
        var scan = BackwardScan(
            from: SequenceGenerator.instant(of: least), to: last, now: SystemClock().now(),
            first: first, part: range.after?.part, budget: range.budget)
        let found = try scan.collect(range.limit + 1, on: connection) { part, limit in
            let until = part.upperBound == .max ? end : min(end, SequenceGenerator.least(at: part.upperBound) - 1)
            return try rows(
                filter, range, from: max(least, SequenceGenerator.least(at: part.lowerBound)), to: until, limit,
                on: connection)
        }
        return page(found, range, stop: scan.stop)
    }

    private static func page(
        _ found: [NotificationSummary], _ range: ListRange, stop: ScanStop?
    ) -> ListPage<NotificationSummary> {
        // Before all rows of that instant, which were read.
        let stop = stop.map { $0.ending(order: SequenceGenerator.least(at: $0.instant)) }
        return ListPage(found, limit: range.limit, stop: stop) {
            ListCursor(order: $0.position.seq, lane: $0.position.lane.number)
        }
    }

    private static func rows(
        _ filter: Filter, _ range: ListRange, from first: Int64, to end: Int64, _ limit: Int,
        on connection: PostgresConnection
    ) throws -> [NotificationSummary] {
        try connection.query(
            list(filter.state),
            [
                .int8(Int64(limit)), .text(filter.app), .int2(filter.environment?.code),
                .int8(first == 0 ? Int64.min : first), .int8(end), .text(filter.type), .text(filter.subtype),
                .int2s(filter.sources?.map(\.rawValue) ?? []), .text(filter.originalTransactionID),
                .int2s((filter.lanes ?? Lane.all).map(\.number)), .int8(range.after?.order), .int2(range.after?.lane),
            ]
        ).map(summary)
    }

    private static func list(_ state: NotificationState?) -> String {
        """
        SELECT \(columns) FROM /* cluster: (SELECT lane FROM entitled.lane WHERE lane = ANY($10::int2[])) for: */unnest($10::int2[])/* end */
            AS l(lane) CROSS JOIN LATERAL (
            SELECT n.* FROM \(source(of: state))
            WHERE n.lane = l.lane\(state == .applied ? " AND p.seq IS NULL AND x.seq IS NULL" : "")
                AND ($2::text IS NULL OR n.app = $2) AND ($3::int2 IS NULL OR n.environment = $3)
                AND ($6::text IS NULL OR n.type = $6) AND ($7::text IS NULL OR n.subtype = $7)
                AND ($8::int2[] = '{}' OR n.source = ANY($8))
                AND ($9::text IS NULL OR n.original_transaction_id = $9)
                AND n.seq BETWEEN $4 AND $5 AND ($11::int8 IS NULL OR (n.seq, n.lane) < ($11, $12::int2))
            ORDER BY n.seq DESC LIMIT $1
        ) n
        \(held) ORDER BY n.seq DESC, n.lane DESC LIMIT $1
        """
    }

    private static func source(of state: NotificationState?) -> String {
        switch state {
        case nil: "entitled.notification n"
        case .pending: "entitled.pending w JOIN entitled.notification n USING (lane, seq)"
        case .held: "entitled.held_notification w JOIN entitled.notification n USING (lane, seq)"
        case .applied:
            """
            entitled.notification n
                LEFT JOIN entitled.pending p ON p.lane = n.lane AND p.seq = n.seq
                LEFT JOIN entitled.held_notification x ON x.lane = n.lane AND x.seq = n.seq
            """
        }
    }

    /// A notification with what Apple signed.
    package struct Whole: Sendable {
        package let summary: NotificationSummary
        /// Why the rest is not there; nil where it is.
        package let gap: String?
        /// JSON, every member kept.
        package let payload: [UInt8]
        /// The compact JWS, byte for byte as it came; empty for an answer of Apple's, of which only the parts are signed.
        package let signedPayload: [UInt8]
    }

    /// What is known of a UUID: there may be a notification in each app and environment.
    package struct Found: Sendable {
        package var whole: [Whole] = []
        /// When those came, in ms, that were kept long enough.
        package var dropped: [Int64] = []
    }

    private static let find = """
        SELECT \(columns), n.header, n.payload, n.signature, j.header AS header_text
        FROM entitled.notification n LEFT JOIN entitled.jws_header j ON j.id = n.header \(held)
        WHERE n.lane = $1 AND n.seq = $2
        """

    package static func find(
        uuid: String, app: String?, environment: StoreEnvironment?, on connection: PostgresConnection
    ) throws -> Found {
        let keys = try connection.query(
            """
            SELECT k.lane, k.seq FROM entitled.notification_key k
            WHERE k.key = $1 AND ($2::text IS NULL OR k.app = $2) AND ($3::int2 IS NULL OR k.environment = $3)
            ORDER BY k.app, k.environment
            """,
            [.uuid(NotificationIdentity.key(uuid)), .text(app), .int2(environment?.code)])
        let dictionaries = HeaderDictionaries()
        var found = Found()
        for key in keys {
            // By its place alone: of all days that are kept it concerns one.
            let (lane, seq) = (Int16(clamping: try key.int("lane")), try key.int("seq"))
            guard let row = try connection.query(find, [.int2(lane), .int8(seq)]).first else {
                found.dropped.append(SequenceGenerator.instant(of: seq))
                continue
            }
            found.whole.append(try whole(row, dictionaries))
        }
        return found
    }

    /// The app, environment and UUID of each notification that is known by a UUID, also of those that are not kept any more.
    package static func names(uuid: String, on connection: PostgresConnection) throws -> [NotificationIdentity] {
        try connection.query(
            "SELECT app, environment FROM entitled.notification_key WHERE key = $1 ORDER BY app, environment",
            [.uuid(NotificationIdentity.key(uuid))]
        ).map { NotificationIdentity(app: try $0.text("app"), environment: try $0.value("environment"), uuid: uuid) }
    }

    private static func whole(_ row: PostgresRow, _ dictionaries: HeaderDictionaries) throws -> Whole {
        let summary = try summary(row)
        let stored = StoredJWS(
            headerID: try row.uuid("header"), payload: try row.bytes("payload"), signature: try row.bytes("signature"))
        guard let header = try row.optionalBytes("header_text") else {
            return Whole(summary: summary, gap: "its JWS header is missing", payload: [], signedPayload: [])
        }
        do {
            let payload = try dictionaries.restore(stored, header: header)
            return Whole(
                summary: summary, gap: nil, payload: payload,
                signedPayload: stored.signature.isEmpty ? [] : stored.compact(header: header, payload: payload))
        } catch {
            return Whole(
                summary: summary, gap: "the stored payload cannot be restored: \(error)", payload: [],
                signedPayload: [])
        }
    }

    private static func summary(_ row: PostgresRow) throws -> NotificationSummary {
        let environment: StoreEnvironment = try row.value("environment")
        let hold = try row.optionalText("reason").map { reason in
            NotificationSummary.Hold(
                reason: reason, attempts: Int(clamping: try row.int("attempts")),
                nextAttempt: try row.optionalInt("next_ms"))
        }
        let isPending = try row.bool("is_pending")
        return NotificationSummary(
            identity: NotificationIdentity(
                app: try row.text("app"), environment: environment, uuid: try row.text("uuid")),
            position: LogPosition(
                lane: try row.value("lane"), seq: try row.int("seq")),
            type: try row.text("type"), subtype: try row.optionalText("subtype"),
            state: isPending ? .pending : hold == nil ? .applied : .held,
            originalTransactionID: try row.optionalText("original_transaction_id"),
            signed: try row.optionalInt("signed_ms"), received: try row.int("received_ms"),
            hold: hold)
    }
}
