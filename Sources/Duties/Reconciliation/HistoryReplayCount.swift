import AppStoreAPI
import Base
import Database
import Postgres

/// Counts what a replay would fetch, and changes nothing. For the api's role.
package enum HistoryReplayCount {
    /// Of one page, with what the client tries again by itself.
    private static let pageTime = Duration.seconds(120)

    /// - Parameter progress: gets the counts so far after each page, and 0 to 1.
    /// - Returns: `queued` is how many are not known.
    package static func count(
        _ replay: HistoryReplay, by reader: HistoryReader, clock: any WallClock, on connection: PostgresConnection,
        progress: (JobCounts, _ fraction: Double) -> Void = { _, _ in }
    ) throws -> JobCounts {
        var walk = replay.walk
        var counts = JobCounts()
        while !walk.isDone {
            let read = try walk.page(
                of: reader, from: replay.source, now: clock.now(), CallOptions(within: pageTime))
            let identities = read.page.notifications.map(\.identity)
            let known = try KnownNotifications.among(identities, on: connection)
            counts.matched += Int64(identities.count)
            counts.queued += Int64(identities.count - known.count)
            counts.skipped += Int64(read.page.refused.values.reduce(0, +))
            walk = read.next
            progress(counts, walk.fraction)
        }
        return counts
    }
}
