import Base
import Postgres

/// A role of a process, as it said of itself or was seen last. Instants are in ms since 1970.
package struct RunningProcess: Sendable, Equatable {
    package let id: [UInt8]
    /// `ingest`, `worker`, `api` or `console`.
    package let role: String
    package let host: String
    /// Nil: a worker of a version that does not say.
    package let version: String?
    /// Since when it works by its configuration; nil as `version`.
    package let started: Int64?
    package let seen: Int64
    /// Hash of the settings that all hosts should share; nil as `version`.
    package let configuration: ConfigurationDigest?

    package init(
        id: [UInt8], role: String, host: String, version: String?, started: Int64?, seen: Int64,
        configuration: ConfigurationDigest?
    ) {
        self.id = id
        self.role = role
        self.host = host
        self.version = version
        self.started = started
        self.seen = seen
        self.configuration = configuration
    }
}

/// A hash of the settings that all hosts should share, 48 bits.
package struct ConfigurationDigest: Sendable, Hashable {
    package let number: Int64

    package init(_ number: Int64) { self.number = number }

    /// Twelve hexadecimal digits.
    package var text: String {
        let digits = String(UInt64(bitPattern: number), radix: 16)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}

/// What processes say of themselves, row after row: the newest of an id counts.
package enum ProcessTable {
    /// How often a process says that it is there.
    package static let interval = Duration.seconds(60)
    /// How long ago the last row of a living process may be.
    package static let patience = Duration.seconds(150)

    /// How far the clock of a former primary may have been ahead; rows of a later instant say nothing.
    private static let ahead = "interval '1 minute'"

    private static let isThere = "SELECT to_regclass('entitled.process') IS NOT NULL AS is_there"

    /// Whether the schema has it, from version 39 on.
    package static func isThere(on connection: PostgresConnection) throws -> Bool {
        try connection.query(isThere).one().bool("is_there")
    }

    private static let add = """
        INSERT INTO entitled.process (id, role, host, version, started_ms, configuration, has_ended)
        VALUES ($1, $2, left($3, 255), left($4, 64), $5, $6, $7)
        """

    package static func add(
        _ process: [UInt8], role: String, host: String, version: String, started: Int64,
        configuration: ConfigurationDigest, hasEnded: Bool, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            add,
            [
                .uuid(process), .text(role), .text(host.isEmpty ? "-" : host), .text(version), .int8(started),
                .int8(configuration.number), .bool(hasEnded),
            ])
    }

    private static let deleteOld = """
        DELETE FROM entitled.process
        WHERE seen_at < clock_timestamp() - interval '1 hour' OR seen_at > clock_timestamp() + \(ahead)
        """

    /// For workers.
    package static func deleteOld(on connection: PostgresConnection) throws {
        _ = try connection.query(deleteOld)
    }

    private static let living = """
        SELECT p.id, p.role, p.host, p.version, p.started_ms, p.configuration,
            floor(extract(epoch FROM p.seen_at) * 1000)::int8 AS seen_ms
        FROM (
            SELECT DISTINCT ON (id) * FROM entitled.process
            WHERE seen_at > clock_timestamp() - $1 * interval '1 millisecond' AND seen_at < clock_timestamp() + \(ahead)
            ORDER BY id, seen_at DESC
        ) p WHERE NOT p.has_ended
        UNION ALL
        SELECT w.id, 'worker', w.host, NULL, NULL, NULL, floor(extract(epoch FROM w.seen_at) * 1000)::int8
        FROM entitled.worker w WHERE w.seen_at > clock_timestamp() - $2 * interval '1 millisecond'
            AND NOT EXISTS (
                SELECT FROM entitled.process p WHERE p.id = w.id AND p.seen_at < clock_timestamp() + \(ahead))
        ORDER BY host, role, id
        """

    /// The roles of all processes that are alive. Of a version before 39 workers alone are known, without a digest.
    ///
    /// - Parameter workersSeenWithin: how long ago a worker may have renewed its leases; ms.
    package static func living(
        workersSeenWithin patience: Int64, on connection: PostgresConnection
    ) throws -> [RunningProcess] {
        try connection.query(living, [.int8(ProcessTable.patience.milliseconds), .int8(patience)]).map { row in
            RunningProcess(
                id: try row.uuid("id"), role: try row.text("role"), host: try row.text("host"),
                version: try row.optionalText("version"), started: try row.optionalInt("started_ms"),
                seen: try row.int("seen_ms"),
                configuration: try row.optionalInt("configuration").map(ConfigurationDigest.init))
        }
    }
}
