import Base
import Database
import Postgres

/// Counts what a replay would be about, and changes nothing. For the api's and the console's role.
package struct WebhookReplayCount {
    /// One of those that would be put in line.
    package struct Sample: Sendable {
        /// Of the delivery, or of the event that has none.
        package let id: String
        package let type: String
        /// Of the delivery where it is about failed ones, of the event otherwise; ms since 1970.
        package let created: Int64
    }

    /// `queued` is how many would be put in line.
    package private(set) var counts = JobCounts()
    /// Of those that are on their way already.
    package private(set) var waiting: Int64 = 0
    package private(set) var samples: [Sample] = []
    package private(set) var isDone = false

    private let replay: WebhookReplay
    private let endpoint: Endpoint
    private let until: Int64
    private var walk: CandidateScan
    private var position: ScanCursor

    private static let mostSamples = 5

    /// Nil if there is no such endpoint.
    package init?(_ replay: WebhookReplay, on connection: PostgresConnection) throws {
        guard let endpoint = try EndpointTable.list(id: replay.endpoint, on: connection).first else { return nil }
        let now = try connection.serverTime()
        (self.replay, self.endpoint, until) = (replay, endpoint, min(replay.until ?? now, now))
        walk = CandidateScan(replay)
        position = .start(of: replay.since)
    }

    /// 0 to 1.
    package var fraction: Double {
        isDone ? 1 : Double(position.time - replay.since) / Double(max(1, until - replay.since))
    }

    /// Counts some hundreds more.
    package mutating func step(on connection: PostgresConnection) throws {
        var walk = self.walk
        let page = try connection.joinedTransaction {
            try walk.page(of: endpoint, from: position, until: until, on: connection)
        }
        self.walk = walk
        for (candidate, position) in page.rows { add(candidate, position.time) }
        (position, isDone) = (page.end, page.isLast)
    }

    private mutating func add(_ candidate: CandidateScan.Candidate, _ created: Int64) {
        switch candidate {
        case .other: break
        case .gone: counts.skipped += 1
        case .waits:
            counts.matched += 1
            waiting += 1
        case .again(let delivery, let type): queue(delivery.id.text, type, created)
        case .first(let event, let type): queue(UUIDText.upper(event.id), type, created)
        }
    }

    private mutating func queue(_ id: String, _ type: String, _ created: Int64) {
        counts.matched += 1
        counts.queued += 1
        guard samples.count < WebhookReplayCount.mostSamples else { return }
        samples.append(Sample(id: id, type: type, created: created))
    }

    /// - Parameter progress: gets the counts so far after each step, and 0 to 1.
    /// - Returns: nil if there is no such endpoint.
    package static func count(
        _ replay: WebhookReplay, on connection: PostgresConnection,
        progress: (JobCounts, _ fraction: Double) -> Void = { _, _ in }
    ) throws -> JobCounts? {
        guard var count = try WebhookReplayCount(replay, on: connection) else { return nil }
        while !count.isDone {
            try count.step(on: connection)
            if !count.isDone { progress(count.counts, count.fraction) }
        }
        return count.counts
    }
}
