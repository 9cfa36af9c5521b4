import Base
import Database
import Postgres

/// What the database knows of our looks into the history of one app and environment.
struct HistoryScanState: Sendable, Equatable {
    var past = HistoryScanPlan.Past()
    /// When the last look ended, however it did, in ms.
    var tried: Int64?
    /// Why it did not come to its end.
    var error: String?
    /// A look that is under way.
    var current: Current?

    struct Current: Sendable, Equatable {
        let reason: HistoryScanPlan.Reason
        var walk: HistoryScan
        var found: Int64 = 0
        /// What we did not have.
        var missed: Int64 = 0
        var refused: Int64 = 0
        /// When the first and the last of those were signed, in ms.
        var firstMissed: Int64?
        var lastMissed: Int64?

        init(_ plan: HistoryScanPlan, at place: AppScope) {
            reason = plan.reason
            walk = HistoryScan(
                HistoryFilter(place, onlyFailures: plan.onlyFailures), from: plan.from, until: plan.until)
        }
    }

    /// The look came to its end.
    mutating func finish(at now: Int64) {
        guard let current else { return }
        // What Apple sent just then may not be in its history yet.
        let settling = current.reason == .returned ? HistoryScanPlan.settling : 0
        past.covered = current.walk.until - settling
        if !current.walk.question.onlyFailures { past.whole = past.covered }
        (tried, error, self.current) = (now, nil, nil)
    }

    /// The look cannot go on now.
    ///
    /// - Parameter keeps: whether it may from where it is, or must begin anew.
    mutating func fail(_ reason: String, at now: Int64, keeps: Bool) {
        (tried, error) = (now, reason)
        if !keeps { current = nil }
    }

    // MARK: - In the database

    private static let select = """
        SELECT covered_ms, whole_ms, tried_ms, error, cursor, found, missed, refused, first_missed_ms, last_missed_ms
        FROM entitled.history_look WHERE app = $1 AND environment = $2
        """
    private static let upsert = """
        INSERT INTO entitled.history_look (app, environment, covered_ms, whole_ms, tried_ms, error, cursor, found,
            missed, refused, first_missed_ms, last_missed_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (app, environment) DO UPDATE SET covered_ms = excluded.covered_ms, whole_ms = excluded.whole_ms,
            tried_ms = excluded.tried_ms, error = excluded.error, cursor = excluded.cursor, found = excluded.found,
            missed = excluded.missed, refused = excluded.refused, first_missed_ms = excluded.first_missed_ms,
            last_missed_ms = excluded.last_missed_ms
        """

    static func read(_ place: AppScope, on connection: PostgresConnection) throws -> HistoryScanState {
        let parameters: [PostgresValue] = [.text(place.app), .int2(place.environment.code)]
        guard let row = try connection.query(select, parameters).first else { return HistoryScanState() }
        var look = HistoryScanState()
        look.past = HistoryScanPlan.Past(
            covered: try row.optionalInt("covered_ms"), whole: try row.optionalInt("whole_ms"))
        look.tried = try row.optionalInt("tried_ms")
        look.error = try row.optionalText("error")
        look.current = Current(words: try row.texts("cursor").compactMap { $0 }, place)
        look.current?.found = try row.int("found")
        look.current?.missed = try row.int("missed")
        look.current?.refused = try row.int("refused")
        look.current?.firstMissed = try row.optionalInt("first_missed_ms")
        look.current?.lastMissed = try row.optionalInt("last_missed_ms")
        return look
    }

    /// Behind the fence.
    func write(_ place: AppScope, on connection: PostgresConnection) throws {
        _ = try connection.query(
            HistoryScanState.upsert,
            [
                .text(place.app), .int2(place.environment.code), .int8(past.covered), .int8(past.whole), .int8(tried),
                .text(error), .texts(current?.words ?? []), .int8(current?.found ?? 0), .int8(current?.missed ?? 0),
                .int8(current?.refused ?? 0), .int8(current?.firstMissed), .int8(current?.lastMissed),
            ])
    }
}

extension HistoryScanState.Current {
    fileprivate var words: [String] {
        [reason.rawValue, walk.question.onlyFailures ? "failures" : "everything"] + walk.words
    }

    /// Nil for words that are none.
    fileprivate init?(words: [String], _ place: AppScope) {
        guard let reason = words.first.flatMap(HistoryScanPlan.Reason.init(rawValue:)), words.count > 2,
            let walk = HistoryScan(
                HistoryFilter(place, onlyFailures: words[1] == "failures"), words: words.dropFirst(2))
        else { return nil }
        self.reason = reason
        self.walk = walk
    }
}
