import Base
import Postgres

/// Long work as the database keeps it: what was asked for, how far it is, and who is at it.
package struct Job: Sendable, RowDecodable {
    package enum State: String, Sendable, CaseIterable, ColumnDecodable {
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
    package private(set) var request: String
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
    /// Why it failed; of a running one, why its last step did.
    package var error: String?
    package let updated: Int64
    package let finished: Int64?

    /// Deliveries of each second, or pages of Apple's history.
    package static func mostRate(of kind: String) -> Int64 {
        kind == historyKind || ChangeKind(rawValue: kind)?.readsHistory == true ? 50 : 10_000
    }

    /// The kinds of replays that commands ask for.
    package static let (webhooksKind, historyKind) = ("webhooks", "history")

    /// The same of a change without texts that may name a customer.
    package func withoutWords() -> Job {
        var job = self
        (job.request, job.error) = ("", nil)
        return job
    }

    package static let columns = """
        id, kind, request, parameters, rate, made_by, created_ms, made_xid, cursor, matched, queued, skipped, fraction,
        state, error, updated_ms, finished_ms
        """

    package init(_ row: PostgresRow) throws {
        id = try row.int("id")
        kind = try row.text("kind")
        request = try row.text("request")
        // Of changes another role writes them; what is no JSON is refused when the change is done.
        parameters = (try? JSON(parsing: Array(try row.text("parameters").utf8))) ?? .null
        // The console's role writes no other column for it.
        let asked = ChangeKind(rawValue: kind)?.isReplay == true ? parameters["rate"]?.intValue : nil
        let most = Job.mostRate(of: kind)
        rate = (try row.optionalInt("rate") ?? asked).map { Int(min(max(1, $0), most)) }
        madeBy = try row.text("made_by")
        created = try row.int("created_ms")
        madeIn = try row.int("made_xid")
        cursor = try row.texts("cursor").compactMap { $0 }
        counts = JobCounts(
            matched: try row.int("matched"), queued: try row.int("queued"), skipped: try row.int("skipped"))
        fraction = try row.double("fraction")
        state = try row.value("state")
        error = try row.optionalText("error")
        updated = try row.int("updated_ms")
        finished = try row.optionalInt("finished_ms")
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
