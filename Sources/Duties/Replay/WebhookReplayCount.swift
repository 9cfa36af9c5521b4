import Base
import Database
import Postgres

/// Counts what a replay would be about, and changes nothing. For the api's role.
package enum WebhookReplayCount {
    /// - Parameter progress: gets the counts so far after each step, and 0 to 1.
    /// - Returns: `queued` is how many would be put in line; nil if there is no such endpoint.
    package static func count(
        _ replay: WebhookReplay, on connection: PostgresConnection,
        progress: (JobCounts, _ fraction: Double) -> Void = { _, _ in }
    ) throws -> JobCounts? {
        guard let endpoint = try EndpointTable.list(id: replay.endpoint, on: connection).first else { return nil }
        let now = try connection.serverTime()
        let until = min(replay.until ?? now, now)
        var walk = CandidateScan(replay)
        var position = ScanCursor.start(of: replay.since)
        var counts = JobCounts()
        while true {
            let page = try connection.transaction {
                try walk.page(of: endpoint, from: position, until: until, on: connection)
            }
            for (candidate, _) in page.rows {
                switch candidate {
                case .other: break
                case .gone: counts.skipped += 1
                case .waits: counts.matched += 1
                case .again, .first:
                    counts.matched += 1
                    counts.queued += 1
                }
            }
            guard !page.isLast else { return counts }
            position = page.end
            progress(counts, Double(position.time - replay.since) / Double(max(1, until - replay.since)))
        }
    }
}
