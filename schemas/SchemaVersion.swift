import Base
import Postgres

/// The version of a database's schema, and which of them this program works with.
///
/// Schemas grow before they shrink: a migration adds, programs stop using what it replaces, and a later one removes that.
/// So programs of neighbouring versions work side by side, and an upgrade replaces them one by one.
package enum SchemaVersion {
    /// The newest schema that this program knows, which `entitled migrate` makes.
    package static let current = Schemas.migrations.last?.version ?? 0

    /// The oldest schema that this program works with.
    package static let oldest = Schemas.migrations.last { $0.isNeeded }?.version ?? 0

    /// The oldest schema with which programs work on a cluster: those of before do not note where the purchases of an owner lie.
    package static let oldestOnCluster = 48

    /// What a database says of its schema.
    package struct Found: Sendable, Equatable {
        package let version: Int
        /// The schema of the oldest program that works with it; nil: none but a program of this schema.
        package let oldestProgram: Int?

        package init(version: Int, oldestProgram: Int?) {
            self.version = version
            self.oldestProgram = oldestProgram
        }
    }

    package enum Fit: Sendable, Equatable {
        case fits
        case tooOld
        case tooNew
    }

    /// Whether a program that works with these schemas works with that one.
    ///
    /// - Parameters:
    ///   - oldest: the oldest schema that the program works with.
    ///   - current: the newest one that it knows.
    package static func fit(_ found: Found, oldest: Int = oldest, current: Int = current) -> Fit {
        if found.version < oldest { return .tooOld }
        if found.version <= current { return .fits }
        return found.oldestProgram.map { $0 <= current } ?? false ? .fits : .tooNew
    }

    /// Reads the newest migration that was applied; nil if the database has no schema. The connection knows then whether the tables
    /// are distributed over a cluster.
    package static func read(on connection: PostgresConnection) throws -> Int? {
        let there = try connection.query("SELECT to_regclass('entitled.schema_version') IS NOT NULL AS is_there")
            .first?.bool("is_there")
        guard there == true else { return nil }
        try connection.findShards(of: "entitled.lane", count: 256)
        let rows = try connection.query("SELECT max(version)::int8 FROM entitled.schema_version")
        return try rows.first?.optionalInt("max").map { Int($0) } ?? 0
    }

    /// The same with the oldest program, which schemas that this program knows need not say.
    package static func find(on connection: PostgresConnection) throws -> Found? {
        guard let version = try read(on: connection) else { return nil }
        guard version > current else {
            let oldest = Schemas.migrations.last { $0.version == version }?.oldestProgram
            return Found(
                version: version,
                oldestProgram: connection.isCluster ? oldest.map { max($0, oldestOnCluster) } : oldest)
        }
        let rows = try connection.query(
            "SELECT oldest_program::int8 FROM entitled.schema_version WHERE version = $1", [.int8(Int64(version))])
        return Found(version: version, oldestProgram: try rows.first?.optionalInt("oldest_program").map { Int($0) })
    }
}
