import Base
import Crypto
import Postgres
import Queue
import Subscriptions

/// Reads what happened to purchases: what came in, what it changed, what was sent.
package enum TimelineReader {
    /// - Parameters:
    ///   - patience: as the worker's, in ms.
    ///   - now: ms.
    package static func timeline(
        of keys: [PurchaseKey], patience: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> Timeline {
        let arrivals = try ArrivalReader.arrivals(of: keys, on: connection)
        let replays = zip(keys, arrivals).map { key, arrivals in
            (key: key, steps: PurchaseReplay(of: key, patience: patience).steps(arrivals, until: now))
        }
        let drafts = replays.flatMap(\.steps).flatMap { $0.drafts + $0.ends }
        let names = drafts.map {
            EventTraceReader.EventName(lane: $0.purchase.lane, id: $0.id(digest: digest))
        }
        let traces = try EventTraceReader.traces(of: names, on: connection)
        return Timeline(
            replays.flatMap { Timeline.entries(of: $0.key, $0.steps, traces: traces, digest: digest) })
    }

    private static func digest(_ text: String) -> [UInt8] { Crypto.Digest.sha256(Array(text.utf8)) }
}
