import Base
import Synchronization

/// What one process remembers of answers that cost much and change little.
package final class DeskMemory: Sendable {
    /// When Apple's newest notifications came, as far as it was looked: ms since 1970.
    private struct Newest {
        var found: [AppScope: Int64] = [:]
        var lookedAt: Int64 = .min
    }

    private struct Outages {
        var rows: [Range<Int64>] = []
        var lookedAt: Int64 = .min
    }

    private let newest = Mutex(Newest())
    private let outages = Mutex(Outages())

    /// A notification is visible so long after its number was made at most, and clocks differ; ms.
    private static let margin: Int64 = 600_000
    /// How long outages are not looked for again; ms. One begins after five minutes.
    private static let minute: Int64 = 60_000

    package init() {}

    /// When Apple's newest notification of each app and environment came. Only what is new is looked for.
    ///
    /// - Parameters:
    ///   - least: what is older counts as none; ms since 1970.
    ///   - look: reads what came since an instant.
    func newest(since least: Int64, now: Int64, _ look: (Int64) throws -> [AppScope: Int64]) rethrows -> [AppScope: Int64]
    {
        let known = newest.withLock { $0 }
        let since = known.lookedAt > now ? least : max(least, known.lookedAt &- DeskMemory.margin)
        let seen = try look(known.lookedAt == .min ? least : since)
        return newest.withLock { newest in
            newest.found.merge(seen) { max($0, $1) }
            newest.lookedAt = now
            return newest.found.filter { $0.value >= least }
        }
    }

    /// Outages of ingest, at most a minute old.
    func outages(now: Int64, _ look: () throws -> [Range<Int64>]) rethrows -> [Range<Int64>] {
        let known = outages.withLock { $0 }
        if known.lookedAt <= now, known.lookedAt > now &- DeskMemory.minute, known.lookedAt != .min { return known.rows }
        let rows = try look()
        outages.withLock { $0 = Outages(rows: rows, lookedAt: now) }
        return rows
    }
}
