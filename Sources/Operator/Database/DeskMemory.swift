import Base
import Synchronization

/// What one process remembers of answers that cost much and change little.
package final class DeskMemory: Sendable {
    /// When Apple's newest notifications came, as far as it was looked: ms since 1970.
    private struct Newest {
        var found: [AppScope: Int64] = [:]
        var lookedAt: Int64 = .min
    }

    private let newest = Mutex(Newest())

    /// A notification is visible so long after its number was made at most, and clocks differ; ms.
    private static let margin: Int64 = 600_000

    package init() {}

    /// When Apple's newest notification of each app and environment came. Only what is new is looked for.
    ///
    /// - Parameters:
    ///   - least: what is older counts as none; ms since 1970.
    ///   - look: reads what came since an instant.
    func newest(
        since least: Int64, now: Int64, _ look: (Int64) throws -> [AppScope: Int64]
    ) rethrows -> [AppScope: Int64] {
        let lookedAt = newest.withLock { $0.lookedAt }
        // A clock that was set back makes all of it new.
        let isKnown = lookedAt > least && lookedAt <= now
        let seen = try look(isKnown ? max(least, lookedAt - DeskMemory.margin) : least)
        return newest.withLock { newest in
            newest.found.merge(seen) { max($0, $1) }
            newest.lookedAt = now
            return newest.found.filter { $0.value >= least }
        }
    }
}
