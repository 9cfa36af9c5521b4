import Base
import Postgres

/// Where a scan stopped because its budget was used up.
package struct ScanStop: Equatable, Sendable {
    /// What is later was read; ms since 1970.
    package let instant: Int64
    /// The part that would have been next, in ms: without it each page would begin with short ones.
    package let part: Int64

    package init(instant: Int64, part: Int64) {
        self.instant = instant
        self.part = part
    }

    /// The end of a page.
    ///
    /// - Parameter order: of the instant, where the list is ordered by something else.
    func ending(order: Int64? = nil) -> (instant: Int64, cursor: ListCursor) {
        (instant, ListCursor(stoppedAt: order ?? instant, part: part))
    }
}

/// The past, read in parts from its end on, for lists that no index orders with their filters.
///
/// Parts grow while they are quick. With a budget they shrink where they are slow, a part that takes too long is cut and read in
/// smaller ones, and the scan stops when the budget is used up.
struct BackwardScan {
    /// Exclusive, ms since 1970: what is later was read.
    private var end: Int64
    private let least: Int64
    private let now: Int64
    private var part: Int64
    private let deadline: ContinuousClock.Instant?
    private var isBegun = false
    /// How long the next part takes, as far as the one before tells.
    private var expected = Duration.zero
    /// What a part costs however short it is, such as the way to a database in another region: the least time of all so far. Nil
    /// before the first one, which tells nothing of it yet.
    private var fixed: Duration?

    /// Nil: the budget did not end.
    private(set) var stop: ScanStop?

    /// The first part, in ms.
    private static let firstPart: Int64 = 900_000
    /// The same where few rows are read of each part, whatever is in it.
    static let longFirstPart: Int64 = 16 * day
    static let longerFirstPart: Int64 = 64 * day
    private static let day: Int64 = 86_400_000
    /// Longer than there are rows for; some centuries.
    private static let longestPart: Int64 = 1 << 44
    private static let shortestPart: Int64 = 1000
    /// The time of a part that the next may be longer than, where the fixed cost is not more than half of it.
    private static let quick = Duration.milliseconds(20)
    /// The time of a first part that the next may be as long as.
    private static let bearable = Duration.milliseconds(100)
    /// The time after which a part is cut.
    private static let patience = "250ms"

    /// - Parameters:
    ///   - least: inclusive, ms since 1970.
    ///   - end: exclusive; may lie in the future, since another host's clock may be ahead.
    ///   - first: the first part, in ms; nil: a short one.
    ///   - part: with which the scan of the page before stopped, which this one goes on with.
    init(
        from least: Int64, to end: Int64, now: Int64, first: Int64? = nil, part resumed: Int64? = nil,
        budget: Duration?
    ) {
        (self.least, self.end, self.now) = (least, end, now)
        part = max(BackwardScan.shortestPart, min(BackwardScan.longestPart, resumed ?? first ?? BackwardScan.firstPart))
        deadline = budget.map { .now + $0 }
    }

    /// The rows of one part after the other, until there are so many, the beginning is reached or the budget used up.
    ///
    /// - Parameter read: gets a part, and how many rows of it are wanted at most.
    mutating func collect<Row>(
        _ limit: Int, on connection: PostgresConnection, _ read: (Range<Int64>, Int) throws -> [Row]
    ) throws -> [Row] {
        var found: [Row] = []
        while found.count < limit, let more = try next(on: connection, { try read($0, limit - found.count) }) {
            found += more
        }
        return found
    }

    /// The rows of the next part; nil: the beginning was reached, or the budget is used up.
    private mutating func next<Row>(
        on connection: PostgresConnection, _ read: (Range<Int64>) throws -> [Row]
    ) throws -> [Row]? {
        while end > least {
            if let deadline, isBegun, .now + expected >= deadline {
                stop = ScanStop(instant: end, part: part)
                return nil
            }
            let start = max(least, min(end, now) - part)
            let began = ContinuousClock.now
            guard let rows = try rows(of: start..<end, on: connection, read) else {
                guard part > BackwardScan.shortestPart else { throw BackwardScan.slow }
                if isBegun {
                    stop = ScanStop(instant: end, part: max(BackwardScan.shortestPart, part / 4))
                    return nil
                }
                part = max(BackwardScan.shortestPart, part / 4)
                continue
            }
            let took = ContinuousClock.now - began
            adapt(took, foundNone: rows.isEmpty)
            (end, isBegun) = (start, true)
            return rows
        }
        return nil
    }

    /// Lengthens the next part, or shortens it, by how long this one took.
    private mutating func adapt(_ took: Duration, foundNone: Bool) {
        let least = min(fixed ?? took, took)
        if deadline == nil || took < BackwardScan.quick || fixed.map({ took < $0 * 2 }) ?? false {
            let factor: Int64 = foundNone ? 4 : 2
            part = min(BackwardScan.longestPart, part * factor)
            expected = least + (took - least) * Int(factor)
        } else if fixed == nil, took < BackwardScan.bearable {
            // It may be the way there and back: the next tells.
            expected = took
        } else {
            part = max(BackwardScan.shortestPart, part / 2)
            expected = max(least, took / 2)
        }
        fixed = least
    }

    private static let slow = PostgresError(.query, "a page of a list takes too long", sqlstate: "57014")

    /// Nil where it takes too long, which does not end the transaction.
    private func rows<Row>(
        of part: Range<Int64>, on connection: PostgresConnection, _ read: (Range<Int64>) throws -> [Row]
    ) throws -> [Row]? {
        guard deadline != nil, connection.isInTransaction else { return try read(part) }
        _ = try connection.query("SAVEPOINT part")
        let found: [Row]?
        do {
            _ = try connection.query("SET LOCAL statement_timeout = '\(BackwardScan.patience)'")
            found = try read(part)
        } catch let error as PostgresError where error.isCancelled {
            found = nil
        }
        // With it the time limit is again the one before.
        _ = try connection.query("ROLLBACK TO SAVEPOINT part")
        return found
    }
}
