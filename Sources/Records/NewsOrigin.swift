import Base
import Queue
import Subscriptions

/// How a notification came to us.
package struct NewsOrigin: Sendable, Equatable {
    /// Of the notification in the log; it holds when it came.
    package let seq: Int64
    package let source: NotificationSource

    package init(seq: Int64, source: NotificationSource) {
        self.seq = seq
        self.source = source
    }

    /// When it came, in ms.
    package var arrived: Int64 { SequenceGenerator.instant(of: seq) }

    /// Whether Apple sent it once; not where we asked.
    package var isNews: Bool { source != .status }

    /// What happened longer ago than this when it was found in Apple's history is not sent to anybody, in ms.
    package static let oldest: Int64 = 7 * 86_400_000

    /// Whether the events of what happened at this instant, in ms, are kept for the record only: it was found in Apple's
    /// history too late for consumers to act on it, and nobody asked for it to be sent.
    package func isForTheRecord(_ instant: Int64) -> Bool {
        source == .history && instant < arrived - NewsOrigin.oldest
    }

    /// The time in which it was under way, if Apple sent it in vain before. What we fetched ourselves tells nothing about
    /// what Apple sends.
    package func lateness(signed: Int64, in environment: StoreEnvironment) -> Range<Int64>? {
        source == .store ? EndBelief.lateness(signed: signed, arrived: arrived, in: environment) : nil
    }
}
