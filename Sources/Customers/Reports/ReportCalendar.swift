import Base

/// The time that a report is about, in parts: of calendar days, weeks from Monday on or months of a time zone, the first
/// and the last cut where the time begins and ends.
package struct ReportCalendar: Sendable, Hashable {
    package enum Step: String, Sendable, CaseIterable {
        case day, week, month, total
    }

    /// ms since 1970; each part goes from its place to the next one.
    package let bounds: [Int64]

    /// More parts than this make no readable report.
    package static let limit = 4000

    /// 0001-01-01, in ms: years before have no months here.
    package static let earliest: Int64 = -62_135_596_800_000

    /// Nil for no time at all, for a time before `earliest`, or for more parts than `limit`.
    ///
    /// - Parameters:
    ///   - from: ms since 1970, in it.
    ///   - to: ms since 1970, no more in it.
    ///   - zone: in which days begin.
    package init?(from: Int64, to: Int64, by step: Step, in zone: LocalZone = .utc) {
        guard from < to, from >= ReportCalendar.earliest else { return nil }
        var bounds = [from]
        while let last = bounds.last, last < to {
            guard bounds.count <= ReportCalendar.limit else { return nil }
            bounds.append(min(to, ReportCalendar.next(after: last, step, zone) ?? to))
        }
        self.bounds = bounds
    }

    package var from: Int64 { bounds.first ?? 0 }
    package var to: Int64 { bounds.last ?? 0 }
    package var count: Int { bounds.count - 1 }

    package func part(_ place: Int) -> (from: Int64, to: Int64) { (bounds[place], bounds[place + 1]) }

    /// The part that an instant is in.
    package func place(of instant: Int64) -> Int? {
        guard instant >= from, instant < to else { return nil }
        return firstBound(after: instant) - 1
    }

    /// The parts at whose ends it is that time: from the beginning on, and not yet at the end.
    ///
    /// - Parameter ends: nil: never.
    package func ends(from begins: Int64, until ends: Int64?) -> Range<Int> {
        // A part ends at its bound; what begins with the bound is after it.
        let first = max(firstBound(after: begins), 1) - 1
        let last = ends.map { max(firstBound(after: $0), 1) - 1 } ?? count
        let range = (min(first, count), min(last, count))
        return range.0 < range.1 ? range.0..<range.1 : range.0..<range.0
    }

    /// The place of the first bound that is later.
    private func firstBound(after instant: Int64) -> Int {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] > instant { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func next(after instant: Int64, _ step: Step, _ zone: LocalZone) -> Int64? {
        let day = zone.day(of: instant)
        switch step {
        case .total: return nil
        case .day: return zone.start(of: day.adding(1))
        case .week:
            // 1970-01-01 was a Thursday.
            let sinceMonday = ((day.number + 3) % 7 + 7) % 7
            return zone.start(of: day.adding(7 - sinceMonday))
        case .month:
            // No month has more than 31 days.
            return zone.start(of: day.monthStart.adding(31).monthStart)
        }
    }
}
