import Base
import Postgres

/// Long work as the database keeps it: what was asked for, how far it is, and who is at it.
package struct Job: Sendable {
    package enum State: String, Sendable, CaseIterable {
        case running
        case done
        case cancelled
        /// It could not go on, and says why; asked for again, it goes on where it stopped.
        case failed
    }

    package let id: Int64
    /// Which `JobRunner` does it.
    package let kind: String
    /// What was asked for, in words that are the same for the same command line.
    package let request: String
    package let parameters: JSON
    /// Things done each second at most; nil: as fast as it goes.
    package let rate: Int?
    package let madeBy: String
    package let created: Int64
    /// The transaction that made it.
    package let madeIn: Int64

    /// Where it is, as its kind writes it; empty at the beginning.
    package var cursor: [String]
    package var counts: JobCounts
    /// 0 to 1.
    package var fraction: Double
    package var state: State
    /// Why it failed.
    package var error: String?
    package let updated: Int64
    package let finished: Int64?

    static let columns = """
        id, kind, request, parameters, rate, made_by, created_ms, made_xid, cursor, matched, queued, skipped, fraction,
        state, error, updated_ms, finished_ms
        """

    init(_ row: PostgresRow) throws {
        id = try row.int(0)
        kind = try row.text(1)
        request = try row.text(2)
        parameters = try JSON(parsing: Array(try row.text(3).utf8))
        rate = try row.optionalInt(4).map { Int(clamping: $0) }
        madeBy = try row.text(5)
        created = try row.int(6)
        madeIn = try row.int(7)
        cursor = try row.texts(8).compactMap { $0 }
        counts = JobCounts(matched: try row.int(9), queued: try row.int(10), skipped: try row.int(11))
        fraction = try row.double(12)
        guard let state = State(rawValue: try row.text(13)) else {
            throw PostgresError(.decoding, "unknown job state")
        }
        self.state = state
        error = try row.optionalText(14)
        updated = try row.int(15)
        finished = try row.optionalInt(16)
    }
}

/// What a job found.
package struct JobCounts: Sendable, Equatable {
    package var matched: Int64
    /// What was put in line.
    package var queued: Int64
    /// What cannot be done any more.
    package var skipped: Int64

    package init(matched: Int64 = 0, queued: Int64 = 0, skipped: Int64 = 0) {
        self.matched = matched
        self.queued = queued
        self.skipped = skipped
    }

    package static func += (a: inout JobCounts, b: JobCounts) {
        a.matched += b.matched
        a.queued += b.queued
        a.skipped += b.skipped
    }
}
