import Base
import Postgres

/// All jobs: making, finding, cancelling them.
package enum JobTable {
    /// A job as it was requested.
    package struct Request: Sendable {
        package let kind: String
        /// The same for the same command line.
        package let words: String
        package let parameters: JSON
        package let rate: Int?
        package let madeBy: String

        package init(kind: String, words: String, parameters: JSON, rate: Int?, madeBy: String) {
            self.kind = kind
            self.words = words
            self.parameters = parameters
            self.rate = rate
            self.madeBy = madeBy
        }
    }

    /// The server's clock decides; `durable` is empty but runs first.
    private static let durable = """
        WITH durable AS MATERIALIZED (
            SELECT \(Durability.setting),
                (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now
        )
        """

    private static let insert = """
        \(durable)
        INSERT INTO entitled.job (kind, request, parameters, rate, made_by, created_ms, updated_ms)
        SELECT $1, $2, $3, $4, $5, now, now FROM durable
        ON CONFLICT (md5(request)) WHERE state = 'running' DO NOTHING
        RETURNING \(Job.columns)
        """

    /// The newest with these words, unless it came to its end: what failed is running again.
    private static let resume = """
        \(durable)
        UPDATE entitled.job SET state = 'running', error = NULL, finished_ms = NULL, updated_ms = durable.now FROM durable
        WHERE id = (SELECT max(id) FROM entitled.job WHERE request = $1) AND state IN ('running', 'failed')
        RETURNING \(Job.columns)
        """

    /// The job that does this: one that was begun with the same words and is not over, else a new one.
    package static func open(
        _ request: Request, on connection: PostgresConnection
    ) throws -> (job: Job, isNew: Bool) {
        if let row = try connection.query(resume, [.text(request.words)]).first { return (try Job(row), false) }
        if let job = try make(request, on: connection) { return (job, true) }
        // Another process made it at this moment.
        guard let row = try connection.query(resume, [.text(request.words)]).first else {
            throw PostgresError(.decoding, "the job was deleted while it ran")
        }
        return (try Job(row), false)
    }

    /// The newest job with these words, whatever came of it.
    package static func newest(_ words: String, on connection: PostgresConnection) throws -> Job? {
        try connection.query(
            "SELECT \(Job.columns) FROM entitled.job WHERE id = (SELECT max(id) FROM entitled.job WHERE request = $1)",
            [.text(words)]
        ).first.map(Job.init)
    }

    /// Nil if the same is being done already.
    package static func make(_ request: Request, on connection: PostgresConnection) throws -> Job? {
        try connection.query(
            insert,
            [
                .text(request.kind), .text(request.words), .text(request.parameters.text),
                .int4(request.rate.map { Int32(clamping: $0) }), .text(request.madeBy),
            ]
        ).first.map(Job.init)
    }

    package static func find(_ id: Int64, on connection: PostgresConnection) throws -> Job? {
        try connection.query("SELECT \(Job.columns) FROM entitled.job WHERE id = $1", [.int8(id)]).first.map(Job.init)
    }

    /// The kinds that are changes of operators.
    private static let changes = ChangeKind.allCases.map(\.rawValue)

    /// The newest first, without changes of operators that are no replays.
    package static func list(atMost limit: Int, on connection: PostgresConnection) throws -> [Job] {
        let others = ChangeKind.allCases.filter { !$0.isReplay }.map(\.rawValue)
        return try connection.query(
            "SELECT \(Job.columns) FROM entitled.job WHERE kind <> ALL($2::text[]) ORDER BY id DESC LIMIT $1",
            [.int8(Int64(limit)), .texts(others)]
        ).map(Job.init)
    }

    /// Jobs that one page looks at: no index has their states.
    private static let longestLook: Int64 = 200_000

    /// A page, the newest first.
    ///
    /// - Parameter state: nil: any.
    package static func list(
        in state: Job.State?, _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<Job> {
        let last = try connection.query("SELECT max(id) AS id FROM entitled.job").one().optionalInt("id") ?? 0
        let least = max(0, min(last, max(0, range.after?.order ?? .max)) - longestLook)
        let found = try connection.query(
            """
            SELECT \(Job.columns) FROM entitled.job WHERE ($1::text IS NULL OR state = $1) AND id < $2 AND id >= $4
            ORDER BY id DESC LIMIT $3
            """,
            [
                .text(state?.rawValue), .int8(range.after?.order ?? .max), .int8(Int64(range.limit + 1)), .int8(least),
            ]
        ).map(Job.init)
        let lookedAt = "SELECT created_ms FROM entitled.job WHERE id >= $1 ORDER BY id LIMIT 1"
        let stop =
            try least == 0
            ? nil
            : connection.query(lookedAt, [.int8(least)]).first.map { row in
                (instant: try row.int("created_ms"), cursor: ListCursor(order: least, lane: 0))
            }
        return ListPage(found, limit: range.limit, stop: stop) { ListCursor(order: $0.id, lane: 0) }
    }

    /// By the audit: no index has jobs that are over by their target.
    private static let times = """
        SELECT j.created_ms, j.finished_ms FROM entitled.audit a JOIN entitled.job j ON j.id = a.job
        WHERE a.target = $2 AND a.kind = $1 AND j.kind = $1 AND j.finished_ms >= j.created_ms
        ORDER BY j.id DESC LIMIT $3
        """
    private static let mostTimes: Int64 = 20

    /// When changes of a kind and target were asked for and ended, whatever came of them, the newest first; ms since 1970.
    package static func times(
        of kind: ChangeKind, _ target: String, on connection: PostgresConnection
    ) throws -> [Range<Int64>] {
        try connection.query(times, [.text(kind.rawValue), .text(target), .int8(mostTimes)]).map { row in
            try row.int("created_ms")..<row.int("finished_ms") + 1
        }
    }

    private static let driven = """
        SELECT \(Job.columns) FROM entitled.job
        WHERE state = 'running' AND kind = $1 AND lease_until > clock_timestamp() - $2 * interval '1 ms' ORDER BY id
        """

    /// Jobs of a kind that a process is at, or was at so long ago: a step may take longer than its lease.
    package static func driven(kind: String, within time: Duration, on connection: PostgresConnection) throws -> [Job] {
        try connection.query(driven, [.text(kind), .int8(time.milliseconds)]).map(Job.init)
    }

    private static let stop = """
        \(durable)
        UPDATE entitled.job SET state = 'cancelled', finished_ms = durable.now, updated_ms = durable.now FROM durable
        WHERE id = $1 AND state IN ('running', 'failed') AND kind <> ALL($2::text[]) RETURNING \(Job.columns)
        """

    /// Ends it where it is; what it put in line stays there. Waits for the step that is being taken.
    ///
    /// - Returns: nil if there is no such job, or it is over, or it is a change of an operator, which ends with an entry in the
    ///   audit.
    package static func cancel(_ id: Int64, on connection: PostgresConnection) throws -> Job? {
        try connection.query(stop, [.int8(id), .texts(changes)]).first.map(Job.init)
    }

    private static let free = """
        SELECT id, kind FROM entitled.job
        WHERE state = 'running' AND kind = ANY($1::text[])
            AND (driver IS NULL OR driver = $2 OR lease_until < clock_timestamp()) AND id <> ALL($3::int8[])
        ORDER BY id LIMIT 64
        """

    /// Running jobs of these kinds that no other process drives.
    ///
    /// - Parameter attended: those that the driver is at; they are left out.
    package static func unattended(
        kinds: [String], driver: [UInt8], besides attended: [Int64], on connection: PostgresConnection
    ) throws -> [(id: Int64, kind: String)] {
        try connection.query(free, [.texts(kinds), .uuid(driver), .int8s(attended)]).map {
            (try $0.int("id"), try $0.text("kind"))
        }
    }

    /// Whether a worker was seen lately: only workers send, and go on with jobs that no process drives.
    package static func isWorkerRunning(on connection: PostgresConnection) throws -> Bool {
        try connection.query(
            "SELECT EXISTS (SELECT 1 FROM entitled.worker WHERE seen_at > clock_timestamp() - interval '15 s')"
        ).one().bool("exists")
    }
}
